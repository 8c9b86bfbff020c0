#include "fs/session.h"
#include "base/capabilities.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "fs/busy_poll.h"
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define USUAL_THREADS 8

struct session {
	struct mount *mount;
	struct fuse_session *fuse;
	pthread_t thread;
	bool serving; /* there is a thread, to be joined */
	struct busy_poll poll;

	pthread_mutex_t lock;
	pthread_cond_t turn;	   /* state changed */
	bool ready, closed, ended; /* protected by lock */
};

static void keep_log(enum fuse_log_level level, const char *format, va_list args)
{
	struct err said;

	vsnprintf(said.text, sizeof(said.text), format, args);
	said.text[strcspn(said.text, "\n")] = '\0';
	level <= FUSE_LOG_ERR ? log_error("%s", said.text) : log_detail("%s", said.text);
}

/* The source that /proc/mounts shows is the pack; a comma in it must not end the option. */
static int fuse_arguments(const struct mount *mount, struct fuse_args *args)
{
	static const char *const contexts[] = {"context", "fscontext", "defcontext", "rootcontext"};
	const struct settings *settings = mount_settings(mount);
	SCOPE_FREE char *name = NULL, *options = NULL;
	int r = asprintf(&name, "fsname=%s", mount_label(mount)->path);

	if (r >= 0)
		r = fuse_opt_add_opt_escaped(&options, name);
	if (r >= 0)
		r = fuse_opt_add_opt(&options,
				     "ro,nosuid,nodev,default_permissions,subtype=foldfs");
	if (r >= 0 && settings->allow_other)
		r = fuse_opt_add_opt(&options, "allow_other");
	/* The kernel hands them to SELinux. */
	for (size_t i = 0; r >= 0 && i < sizeof(contexts) / sizeof(contexts[0]); i++) {
		SCOPE_FREE char *word = NULL;

		if (!settings->contexts[i])
			continue;
		r = asprintf(&word, "%s=%s", contexts[i], settings->contexts[i]);
		if (r >= 0)
			r = fuse_opt_add_opt_escaped(&options, word);
	}
	if (r >= 0 && settings->noexec)
		r = fuse_opt_add_opt(&options, "noexec");
	if (r >= 0 && settings->debug)
		r = fuse_opt_add_opt(&options, "debug");
	if (r >= 0)
		r = fuse_opt_add_arg(args, "foldfs");
	if (r >= 0)
		r = fuse_opt_add_arg(args, "-o");
	return r < 0 || fuse_opt_add_arg(args, options) < 0 ? -ENOMEM : 0;
}

int session_new(struct mount *mount, const struct fuse_lowlevel_ops *ops, struct session **ret,
		struct err *err)
{
	SCOPE(fuse_opt_free_args) struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct session *session = calloc(1, sizeof(*session));
	int r;

	if (!session)
		return -ENOMEM;
	session->mount = mount;
	pthread_mutex_init(&session->lock, NULL);
	clock_cond_init(&session->turn);
	busy_poll_init(&session->poll);
	r = fuse_arguments(mount, &args);
	if (r == 0) {
		session->fuse = fuse_session_new(&args, ops, sizeof(*ops), session);
		if (!session->fuse)
			r = err_set(err, -ENOMEM, "libfuse cannot begin a session");
	}
	if (r < 0) {
		session_free(session);
		return r;
	}
	*ret = session;
	return 0;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	if (session->fuse) {
		/* The connection has ended; this frees what libfuse remembers of the mount. */
		fuse_session_unmount(session->fuse);
		fuse_session_destroy(session->fuse);
	}
	pthread_cond_destroy(&session->turn);
	pthread_mutex_destroy(&session->lock);
	free(session);
}

/* --- mounting -------------------------------------------------------------------------------- */

/* The st_mode of a program that is found in PATH; 0: there is none. Without the set-user-ID bit if
 * the filesystem or the process may not gain privileges. */
static mode_t program_mode(const char *program)
{
	const char *path = getenv("PATH");
	SCOPE_FREE char *copy = strdup(path ? path : "/usr/bin:/bin");
	char *rest = copy, *directory;

	while (copy && (directory = strsep(&rest, ":"))) {
		char candidate[PATH_MAX];
		struct statvfs fs;
		struct stat st;

		snprintf(candidate, sizeof(candidate), "%s/%s", directory, program);
		if (access(candidate, X_OK) < 0 || stat(candidate, &st) < 0)
			continue;
		if (st.st_uid != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
		    (statvfs(candidate, &fs) == 0 && fs.f_flag & ST_NOSUID))
			st.st_mode &= ~(mode_t)S_ISUID;
		return st.st_mode;
	}
	return 0;
}

/* Whether users may let others in. */
static bool others_allowed(void)
{
	SCOPE_FILE FILE *file = fopen("/etc/fuse.conf", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "user_allow_other", 16) == 0)
			return true;
	return false;
}

#define WITHOUT_FUSE "or do without: 'foldfs --no-fuse PACK DIR -- COMMAND'"
#define WITHOUT_PRIVILEGES                                                               \
	"or use the form 'foldfs PACK MOUNTPOINT -- COMMAND', which can do without, by " \
	"--no-fuse even where nothing can be mounted"

/* Says why the mount was refused, and the way out. Returns -errno, or 0: unknown. */
static int explain_refusal(const struct session *session, const char *path, const char *said,
			   struct err *err)
{
	const struct settings *settings = mount_settings(session->mount);
	bool user = geteuid() != 0, missing = access("/dev/fuse", F_OK) < 0;
	int closed = access("/dev/fuse", R_OK | W_OK) < 0 ? errno : 0;
	mode_t fusermount = user ? program_mode("fusermount3") : 0;
	char closed_text[256], nameless_text[256];
	const struct {
		bool so;
		int error;
		const char *why;
	} reasons[] = {
		{missing, -ENODEV,
		 "/dev/fuse is missing: load the kernel module with 'modprobe fuse', or give the "
		 "container the device (--device /dev/fuse), " WITHOUT_FUSE},
		{closed, -EACCES, closed_text},
		{settings_have_context(settings) && access("/sys/fs/selinux", F_OK) < 0, -EINVAL,
		 "'context=' and its kin are for SELinux, which this kernel has not started: leave "
		 "them out"},
		{!user && !capabilities_have(CAP_SYS_ADMIN), -EPERM,
		 "root may not mount here: start the container with '--cap-add "
		 "SYS_ADMIN', " WITHOUT_PRIVILEGES},
		{user && !fusermount, -ENOENT,
		 "fusermount3 is missing: install fuse3, " WITHOUT_PRIVILEGES},
		{user && access(path, W_OK) < 0, -EACCES,
		 "users may mount only on folders that they can write to: use one of yours"},
		{user && strstr(said, "determine username"), -ENOENT, nameless_text},
		{user && settings->allow_other && !others_allowed(), -EPERM,
		 "allow_other is not allowed to users: add the line 'user_allow_other' to "
		 "/etc/fuse.conf"},
		{user && !(fusermount & S_ISUID), -EPERM,
		 "fusermount3 cannot become root here: it is not set-user-ID root, or this "
		 "container forbids that; have it reinstalled, or mounted by "
		 "root, " WITHOUT_PRIVILEGES},
	};

	snprintf(closed_text, sizeof(closed_text),
		 "/dev/fuse cannot be opened (%s): ask for mode 0666, as is usual, run as "
		 "root, " WITHOUT_FUSE,
		 strerror(closed));
	snprintf(nameless_text, sizeof(nameless_text),
		 "fusermount3 serves users with a name only, and %u has none: add a line to "
		 "/etc/passwd, " WITHOUT_PRIVILEGES,
		 geteuid());
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].so)
			return err_set(err, reasons[i].error, "%s", reasons[i].why);
	return 0;
}

/* What libfuse, and fusermount3 that it runs, write to stderr is kept, to become part of our
 * message; it is shown as ever if that cannot be. `ret` becomes its lines, joined. */
static int mount_quietly(struct session *session, const char *target, struct err *ret)
{
	SCOPE_CLOSE int usual = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	SCOPE_CLOSE int kept = memfd_create("foldfs-said", MFD_CLOEXEC);
	char text[sizeof(ret->text)] = "", *rest = text, *line;
	bool keeps = usual >= 0 && kept >= 0;
	int r;

	if (keeps)
		dup2(kept, STDERR_FILENO);
	r = fuse_session_mount(session->fuse, target);
	if (!keeps)
		return r;
	dup2(usual, STDERR_FILENO);
	if (io_pread(kept, text, sizeof(text) - 1, 0) <= 0)
		return r;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			err_set(ret, 0, "%s%s%s", ret->text, ret->text[0] ? "; " : "", line);
	return r;
}

int session_mount(struct session *session, const char *path, int folder, struct err *err)
{
	struct err said = {0};
	char opened[64];
	int r;

	/* Another process cannot follow the descriptor: fusermount3 gets the path, and looks after
	 * itself. */
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", folder);
	r = mount_quietly(session,
			  folder >= 0 && capabilities_have(CAP_SYS_ADMIN) &&
					  access(opened, F_OK) == 0
				  ? opened
				  : path,
			  &said);
	if (r < 0) {
		r = explain_refusal(session, path, said.text, err);
		if (r == 0)
			return err_set(err, -EPERM, "cannot mount: %s",
				       said.text[0] ? said.text : "refused");
		return said.text[0] ? err_set(err, r, "%s (%s)", err->text, said.text) : r;
	}
	if (said.text[0])
		log_notice("%s", said.text);
	fuse_set_log_func(keep_log);
	/* A descriptor that was handed over would be inherited by every program. */
	fcntl(fuse_session_fd(session->fuse), F_SETFD, FD_CLOEXEC);
	return 0;
}

/* --- serving --------------------------------------------------------------------------------- */

static void set_state(struct session *session, bool *state)
{
	SCOPE_LOCK(&session->lock);
	*state = true;
	pthread_cond_broadcast(&session->turn);
}

struct mount *session_shows(const struct session *session)
{
	return session->mount;
}

void session_ready(struct session *session)
{
	set_state(session, &session->ready);
}

/* Polls for the next request for a while, if that may be worth it. */
static void poll_busily(struct session *session)
{
	struct pollfd ready = {.fd = fuse_session_fd(session->fuse), .events = POLLIN};
	uint64_t until;
	bool found;

	if (!busy_poll_begin(&session->poll))
		return;
	until = clock_ns() + BUSY_POLL_NS;
	do
		found = poll(&ready, 1, 0) != 0;
	while (!found && clock_ns() < until);
	busy_poll_end(&session->poll, found);
}

/* Receives the kernel's requests and calls the operations for them. Like libfuse's loop, except
 * that it may poll. */
static void *serve_thread(void *arg)
{
	struct session *session = arg;
	struct fuse_buf buf = {0};

	atomic_fetch_add(mount_serving(session->mount), 1);
	while (!fuse_session_exited(session->fuse)) {
		const struct fuse_in_header *header;
		int r;

		poll_busily(session);
		r = fuse_session_receive_buf(session->fuse, &buf);
		if (r == -EINTR || r == -EAGAIN)
			continue;
		if (r < 0)
			log_error("cannot receive requests: %s", strerror(-r));
		if (r <= 0)
			break;
		header = buf.mem;
		if (buf.size >= sizeof(*header))
			busy_poll_request(&session->poll, header->pid);
		fuse_session_process_buf(session->fuse, &buf);
	}
	atomic_fetch_sub(mount_serving(session->mount), 1);
	free(buf.mem);
	return NULL;
}

/* Serves until the connection ends; with fewer threads if no more can be made. */
static void serve(struct session *session)
{
	uint64_t processors = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t count = mount_settings(session->mount)->threads, started = 0;
	pthread_t threads[SETTING_THREADS_MAX];

	if (!count)
		count = clamp(processors, 2, USUAL_THREADS);
	while (started + 1 < count &&
	       pthread_create(&threads[started], NULL, serve_thread, session) == 0)
		started++;
	serve_thread(session);
	while (started)
		pthread_join(threads[--started], NULL);
}

static void *session_thread(void *arg)
{
	struct session *session = arg;

	serve(session);
	set_state(session, &session->closed);
	kill(getpid(), SESSION_ENDED);
	mount_stop(session->mount);
	set_state(session, &session->ended);
	kill(getpid(), SESSION_ENDED);
	return NULL;
}

int session_serve(struct session *session, struct err *err)
{
	int r = mount_start(session->mount, session->fuse);

	if (r == 0)
		r = -pthread_create(&session->thread, NULL, session_thread, session);
	if (r < 0) {
		mount_stop(session->mount);
		return err_set(err, r, "%s", err_text(NULL, r));
	}
	session->serving = true;
	SCOPE_LOCK(&session->lock);
	while (!session->ready && !session->ended)
		pthread_cond_wait(&session->turn, &session->lock);
	return session->ready ? 0
			      : err_set(err, -EPROTO,
					"the connection ended before the mount was usable: it was "
					"unmounted, or the kernel is older than Linux 4.18");
}

void session_watch(struct session *session)
{
	mount_leave(session->mount);
	fuse_lowlevel_notify_inval_inode(session->fuse, FUSE_ROOT_ID, -1, 0);
}

bool session_is_closed(struct session *session)
{
	SCOPE_LOCK(&session->lock);
	return session->closed;
}

bool session_join(struct session *session, unsigned seconds)
{
	const struct timespec until = clock_after(seconds * CLOCK_SECOND);
	bool ended;

	if (!session->serving)
		return true;
	pthread_mutex_lock(&session->lock);
	while (!session->ended &&
	       pthread_cond_timedwait(&session->turn, &session->lock, &until) == 0)
		;
	ended = session->ended;
	pthread_mutex_unlock(&session->lock);
	if (!ended)
		return false;
	pthread_join(session->thread, NULL);
	session->serving = false;
	return true;
}
