#include "fs/session.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/scope.h"
#include "fs/life/said.h"
#include "fs/ops.h"
#include "fs/serve.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#define FUSE_THREADS_MAX 8

struct session {
	struct mount *mount;
	struct fuse_session *fuse;
	pthread_t thread;
	bool serving; /* there is a thread, to be joined */

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

/* The kernel hands them to SELinux. */
static int add_contexts(const struct settings *settings, char **options)
{
	const struct {
		const char *name, *value;
	} words[] = {{"context", settings->context},
		     {"fscontext", settings->fscontext},
		     {"defcontext", settings->defcontext},
		     {"rootcontext", settings->rootcontext}};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < sizeof(words) / sizeof(words[0]); i++) {
		SCOPE_FREE char *word = NULL;

		if (!words[i].value)
			continue;
		r = asprintf(&word, "%s=%s", words[i].name, words[i].value);
		if (r >= 0)
			r = fuse_opt_add_opt_escaped(options, word);
	}
	return r;
}

/* The source that /proc/mounts shows is the pack; a comma in it must not end the option. */
static int fuse_arguments(const struct mount *mount, struct fuse_args *args)
{
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
	if (r >= 0)
		r = add_contexts(settings, &options);
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

static int make_fuse(struct session *session, struct err *err)
{
	SCOPE(fuse_opt_free_args) struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int r = fuse_arguments(session->mount, &args);

	if (r < 0)
		return r;
	session->fuse = fuse_session_new(&args, &fs_ops, sizeof(fs_ops), session);
	return session->fuse ? 0 : err_set(err, -ENOMEM, "libfuse cannot begin a session");
}

int session_new(struct mount *mount, struct session **ret, struct err *err)
{
	struct session *session = calloc(1, sizeof(*session));
	int r;

	if (!session)
		return -ENOMEM;
	session->mount = mount;
	pthread_mutex_init(&session->lock, NULL);
	clock_cond_init(&session->turn);
	r = make_fuse(session, err);
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

/* Whether this process has CAP_SYS_ADMIN. */
static bool may_mount(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &header, data) == 0 && data[0].effective >> CAP_SYS_ADMIN & 1;
}

static bool others_allowed(void)
{
	SCOPE_FILE FILE *file = fopen("/etc/fuse.conf", "re");
	bool allowed = false;
	char line[256];

	while (file && !allowed && fgets(line, sizeof(line), file))
		allowed = strncmp(line, "user_allow_other", 16) == 0;
	return allowed;
}

#define WITHOUT_FUSE "or do without: 'foldfs --no-fuse PACK DIR -- COMMAND'"
#define WITHOUT_PRIVILEGES                                                               \
	"or use the form 'foldfs PACK MOUNTPOINT -- COMMAND', which can do without, by " \
	"--no-fuse even where nothing can be mounted"

/* Says why an ordinary user was refused. Returns -errno, or 0: unknown. */
static int explain_to_user(const struct session *session, const char *path, const char *said,
			   struct err *err)
{
	mode_t fusermount = program_mode("fusermount3");

	if (!fusermount)
		return err_set(err, -ENOENT,
			       "fusermount3 is missing: install fuse3, " WITHOUT_PRIVILEGES);
	if (access(path, W_OK) < 0)
		return err_set(err, -EACCES,
			       "users may mount only on folders that they can write to: use one "
			       "of yours");
	if (strstr(said, "determine username"))
		return err_set(err, -ENOENT,
			       "fusermount3 serves users with a name only, and %u has none: add a "
			       "line to /etc/passwd, " WITHOUT_PRIVILEGES,
			       geteuid());
	if (mount_settings(session->mount)->allow_other && !others_allowed())
		return err_set(err, -EPERM,
			       "allow_other is not allowed to users: add the line "
			       "'user_allow_other' to /etc/fuse.conf");
	if (!(fusermount & S_ISUID))
		return err_set(err, -EPERM,
			       "fusermount3 cannot become root here: it is not set-user-ID root, "
			       "or this container forbids that; have it reinstalled, or mounted "
			       "by root, " WITHOUT_PRIVILEGES);
	return 0;
}

static bool has_context(const struct settings *settings)
{
	return settings->context || settings->fscontext || settings->defcontext ||
	       settings->rootcontext;
}

/* Says why the mount was refused, and the way out. Returns -errno, or 0: unknown. */
static int explain_refusal(const struct session *session, const char *path, const char *said,
			   struct err *err)
{
	if (access("/dev/fuse", F_OK) < 0)
		return err_set(
			err, -ENODEV,
			"/dev/fuse is missing: load the kernel module with 'modprobe fuse', "
			"or give the container the device (--device /dev/fuse), " WITHOUT_FUSE);
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		return err_set(err, -EACCES,
			       "/dev/fuse cannot be opened (%s): ask for mode 0666, as is usual, "
			       "run as root, " WITHOUT_FUSE,
			       strerror(errno));
	if (has_context(mount_settings(session->mount)) && access("/sys/fs/selinux", F_OK) < 0)
		return err_set(err, -EINVAL,
			       "'context=' and its kin are for SELinux, which this kernel has not "
			       "started: leave them out");
	if (geteuid() != 0)
		return explain_to_user(session, path, said, err);
	if (!may_mount())
		return err_set(err, -EPERM,
			       "root may not mount here: start the container with "
			       "'--cap-add SYS_ADMIN', " WITHOUT_PRIVILEGES);
	return 0;
}

static int refuse_mount(const struct session *session, const char *path, const char *said,
			struct err *err)
{
	int r = explain_refusal(session, path, said, err);

	if (r == 0)
		return err_set(err, -EPERM, "cannot mount: %s", said[0] ? said : "refused");
	return said[0] ? err_set(err, r, "%s (%s)", err->text, said) : r;
}

/* Another process cannot follow the descriptor: fusermount3 gets the path, and looks after itself.
 */
static const char *choose_target(const char *path, int folder, char opened[static 64])
{
	if (folder < 0 || !may_mount())
		return path;
	snprintf(opened, 64, "/proc/self/fd/%d", folder);
	return access(opened, F_OK) == 0 ? opened : path;
}

int session_mount(struct session *session, const char *path, int folder, struct err *err)
{
	struct said kept = said_begin();
	char opened[64];
	int r = fuse_session_mount(session->fuse, choose_target(path, folder, opened));
	struct err said;

	said_end(&kept, &said);
	if (r < 0)
		return refuse_mount(session, path, said.text, err);
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

static unsigned thread_count(const struct settings *settings)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (settings->threads)
		return (unsigned)settings->threads;
	if (processors < 2)
		return 2;
	return processors > FUSE_THREADS_MAX ? FUSE_THREADS_MAX : (unsigned)processors;
}

static void *session_thread(void *arg)
{
	struct session *session = arg;

	serve(session->fuse, thread_count(mount_settings(session->mount)),
	      mount_serving(session->mount));
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
