/* netfs: a read-only view of a folder that answers as slowly as a network filesystem.
 *
 * Each LOOKUP, OPEN, GETATTR and READ is answered one round trip after it came; those of
 * concurrent requests overlap. What READs return goes over one link, first come, first served:
 * a reply that finds the link busy waits for those before it. READDIR and the rest cost
 * nothing. Names and attributes are believed for a second, cached pages are kept at open, as
 * NFS does it where a file has not changed; a file opened with O_DIRECT is not cached at all.
 * The source must not change meanwhile, and should be in the page cache: what its device takes
 * comes on top.
 *
 * "ready" on standard output says that it is mounted; SIGTERM or SIGINT unmounts it, or
 * fusermount3 -u. At the end it prints as one line of JSON what it was asked; with --stats FILE
 * SIGUSR1 puts the same line into FILE, at once as a whole. */
#include "base/err.h"
#include "base/exit.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/scope.h"
#include "fs/fuse.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#define BELIEVED    1.0 /* seconds that names and attributes are cached */
#define READ_MAX    (1 << 20)
#define BACKGROUND  64 /* READs that the kernel sends ahead of its readers, at most */
#define THREADS	    96 /* each sleeps for its request's round trip; some left for the readers */
#define LISTING_MAX 65536

struct settings {
	uint64_t delay_us, cap_mb;
	const char *stats;
};

static const struct opt table[] = {
	OPT_NUMBER('d', "delay-us", "N", struct settings, delay_us, "a round trip (500)"),
	OPT_NUMBER('c', "cap-mb", "N", struct settings, cap_mb,
		   "MB/s of all READs together (1000; 0: as fast as it goes)"),
	OPT_STRING('s', "stats", "FILE", struct settings, stats,
		   "where SIGUSR1 puts the counts (nowhere)"),
	OPT_END};

static const struct opt_command command = {
	.name = "netfs",
	.synopsis = "[options] SOURCE_DIR MOUNTPOINT",
	.summary = "shows a folder as slowly as a network filesystem would",
	.table = table,
};

/* A file or folder that the kernel knows; its address is the kernel's number for it. */
struct node {
	dev_t dev;
	ino_t ino;
	uint64_t lookups; /* that the kernel has not forgotten; protected by netfs.lock */
	char path[];	  /* from the source */
};

struct buffer {
	struct buffer *next;
	char data[READ_MAX];
};

enum count { LOOKUPS, OPENS, GETATTRS, READS, READ_BYTES, COUNTS };

static const char *const count_names[COUNTS] = {
	[LOOKUPS] = "lookups", [OPENS] = "opens",	    [GETATTRS] = "getattrs",
	[READS] = "reads",     [READ_BYTES] = "read_bytes",
};

struct netfs {
	struct settings settings;
	int source;
	struct fuse_session *session;
	atomic_uint_least64_t counts[COUNTS];

	pthread_mutex_t lock;
	void *nodes;	       /* tsearch(3) by dev and ino; protected by lock */
	struct buffer *unused; /* the one used last comes first: it is still in the processor's
				  cache; protected by lock */
	uint64_t link_free;    /* when the link has sent all it was given; protected by lock */

	pthread_t teller; /* waits for SIGUSR1 */
	atomic_bool ended;
};

static struct netfs *netfs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static void count(struct netfs *netfs, enum count which, uint64_t n)
{
	atomic_fetch_add_explicit(&netfs->counts[which], n, memory_order_relaxed);
}

/* --- time ------------------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t when)
{
	const struct timespec until = {.tv_sec = (time_t)(when / 1000000000u),
				       .tv_nsec = (long)(when % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* When a request that just came may be answered. */
static uint64_t round_trip(const struct netfs *netfs)
{
	return now_ns() + netfs->settings.delay_us * 1000;
}

/* When the last of `bytes` has left the link, if the first is there to send at `earliest`. */
static uint64_t link_reserve(struct netfs *netfs, uint64_t earliest, uint64_t bytes)
{
	SCOPE_LOCK(&netfs->lock);
	if (netfs->settings.cap_mb == 0)
		return earliest;
	if (netfs->link_free < earliest)
		netfs->link_free = earliest;
	netfs->link_free += bytes * 1000 / netfs->settings.cap_mb;
	return netfs->link_free;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static const char *path_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? "." : ((const struct node *)ino)->path;
}

static int by_file(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return (x->dev > y->dev) - (x->dev < y->dev);
}

static int node_new(const struct stat *st, const char *path, struct node **ret)
{
	size_t len = strlen(path) + 1;
	struct node *node = malloc(sizeof(*node) + len);

	if (!node)
		return -ENOMEM;
	*node = (struct node){.dev = st->st_dev, .ino = st->st_ino};
	memcpy(node->path, path, len);
	*ret = node;
	return 0;
}

/* The node of a file, the same one as long as the kernel remembers it; one lookup more. */
static int netfs_node(struct netfs *netfs, const struct stat *st, const char *path,
		      struct node **ret)
{
	SCOPE_FREE struct node *fresh = NULL;
	struct node **found;
	int error = node_new(st, path, &fresh);

	if (error)
		return error;
	SCOPE_LOCK(&netfs->lock);
	found = tsearch(fresh, &netfs->nodes, by_file);
	if (!found)
		return -ENOMEM;
	if (*found == fresh)
		steal_ptr(&fresh);
	(*found)->lookups++;
	*ret = *found;
	return 0;
}

static void forget(struct netfs *netfs, fuse_ino_t ino, uint64_t lookups)
{
	struct node *node = (struct node *)ino;

	if (ino == FUSE_ROOT_ID)
		return;
	SCOPE_LOCK(&netfs->lock);
	node->lookups -= lookups;
	if (node->lookups > 0)
		return;
	tdelete(node, &netfs->nodes, by_file);
	free(node);
}

/* --- buffers --------------------------------------------------------------------------------- */

static struct buffer *buffer_take(struct netfs *netfs)
{
	SCOPE_LOCK(&netfs->lock);
	struct buffer *buffer = netfs->unused;

	if (!buffer)
		return malloc(sizeof(*buffer));
	netfs->unused = buffer->next;
	return buffer;
}

static void buffer_put(struct netfs *netfs, struct buffer *buffer)
{
	SCOPE_LOCK(&netfs->lock);
	buffer->next = netfs->unused;
	netfs->unused = buffer;
}

/* --- requests -------------------------------------------------------------------------------- */

static void op_init(void *context, struct fuse_conn_info *conn)
{
	(void)context;
	/* Otherwise the kernel sends the LOOKUPs of one folder one after the other. libfuse 3.14
	 * does not pass this on: many threads in one folder wait for each other there. */
	conn->want |= conn->capable & FUSE_CAP_PARALLEL_DIROPS;
	conn->max_read = READ_MAX;
	conn->max_background = BACKGROUND;
	conn->congestion_threshold = BACKGROUND;
	puts("ready");
	fflush(stdout);
}

static int lookup(struct netfs *netfs, fuse_ino_t parent, const char *name,
		  struct fuse_entry_param *entry)
{
	const char *folder = path_of(parent);
	struct node *node = NULL;
	char path[PATH_MAX];
	int error;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
		return -ENAMETOOLONG;
	if (fstatat(netfs->source, path, &entry->attr, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	error = netfs_node(netfs, &entry->attr, path, &node);
	entry->ino = (fuse_ino_t)node;
	return error;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct netfs *netfs = netfs_of(req);
	struct fuse_entry_param entry = {.attr_timeout = BELIEVED, .entry_timeout = BELIEVED};
	uint64_t due = round_trip(netfs);
	int error = lookup(netfs, parent, name, &entry);

	count(netfs, LOOKUPS, 1);
	sleep_until(due);
	if (error)
		fuse_reply_err(req, -error);
	else if (fuse_reply_entry(req, &entry) == -ENOENT)
		forget(netfs, entry.ino, 1); /* the caller was interrupted */
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
	forget(netfs_of(req), ino, lookups);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < n; i++)
		forget(netfs_of(req), forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	struct netfs *netfs = netfs_of(req);
	uint64_t due = round_trip(netfs);
	struct stat st;
	int error = 0;

	(void)file;
	if (fstatat(netfs->source, path_of(ino), &st, AT_SYMLINK_NOFOLLOW) < 0)
		error = errno;
	count(netfs, GETATTRS, 1);
	sleep_until(due);
	if (error)
		fuse_reply_err(req, error);
	else
		fuse_reply_attr(req, &st, BELIEVED);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(netfs_of(req)->source, path_of(ino), target, sizeof(target) - 1);

	if (len < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	target[len] = '\0';
	fuse_reply_readlink(req, target);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	struct netfs *netfs = netfs_of(req);
	uint64_t due = round_trip(netfs);
	int fd = openat(netfs->source, path_of(ino), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int error = fd < 0 ? errno : 0;

	count(netfs, OPENS, 1);
	sleep_until(due);
	if (error) {
		fuse_reply_err(req, error);
		return;
	}
	file->fh = (uint64_t)fd;
	file->keep_cache = 1;
	file->direct_io = (file->flags & O_DIRECT) != 0;
	if (fuse_reply_open(req, file) == -ENOENT)
		close(fd); /* the caller was interrupted */
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	(void)ino;
	close((int)file->fh);
	fuse_reply_err(req, 0);
}

/* Read and answered in one go behind the wait: what pread() has copied is still in the
 * processor's cache when the kernel copies it again. */
static void answer_read(fuse_req_t req, int fd, size_t size, off_t from)
{
	struct netfs *netfs = netfs_of(req);
	struct buffer *buffer = buffer_take(netfs);
	ssize_t got = buffer ? io_pread(fd, buffer->data, size, (uint64_t)from) : -ENOMEM;

	if (got < 0)
		fuse_reply_err(req, (int)-got);
	else
		fuse_reply_buf(req, buffer->data, (size_t)got);
	if (buffer)
		buffer_put(netfs, buffer);
	if (got > 0)
		count(netfs, READ_BYTES, (uint64_t)got);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t from,
		    struct fuse_file_info *file)
{
	struct netfs *netfs = netfs_of(req);
	uint64_t due = round_trip(netfs);
	struct stat st;

	(void)ino;
	count(netfs, READS, 1);
	if (size > READ_MAX || fstat((int)file->fh, &st) < 0) {
		fuse_reply_err(req, EIO);
		return;
	}
	if (from >= st.st_size)
		size = 0;
	else if (size > (uint64_t)(st.st_size - from))
		size = (size_t)(st.st_size - from);
	sleep_until(link_reserve(netfs, due, size));
	answer_read(req, (int)file->fh, size, from);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	SCOPE_CLOSE int fd = openat(netfs_of(req)->source, path_of(ino),
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		fuse_reply_err(req, errno);
		return;
	}
	steal_fd(&fd);
	file->fh = (uint64_t)dir;
	if (fuse_reply_open(req, file) == -ENOENT)
		closedir(dir); /* the caller was interrupted */
}

/* The kernel asks for one piece of an open folder at a time. */
static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t from,
		       struct fuse_file_info *file)
{
	DIR *dir = (DIR *)file->fh;
	char listing[LISTING_MAX];
	const struct dirent *entry;
	size_t used = 0;

	(void)ino;
	if (size > sizeof(listing))
		size = sizeof(listing);
	seekdir(dir, from);
	while ((errno = 0, entry = readdir(dir))) {
		const struct stat st = {.st_ino = entry->d_ino,
					.st_mode = (mode_t)DTTOIF(entry->d_type)};
		size_t len = fuse_add_direntry(req, listing + used, size - used, entry->d_name, &st,
					       entry->d_off);

		if (len > size - used)
			break;
		used += len;
	}
	if (errno && used == 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_buf(req, listing, used);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *file)
{
	(void)ino;
	closedir((DIR *)file->fh);
	fuse_reply_err(req, 0);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;

	(void)ino;
	if (fstatvfs(netfs_of(req)->source, &st) < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_statfs(req, &st);
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.release = op_release,
	.read = op_read,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_releasedir,
	.statfs = op_statfs,
};

/* --- what it was asked ----------------------------------------------------------------------- */

static double cpu_seconds(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* One line with its newline. */
static int format_counts(struct netfs *netfs, struct buf *buf)
{
	struct json json = json_begin(buf);

	json_object(&json, NULL);
	for (enum count i = 0; i < COUNTS; i++)
		json_u64(&json, count_names[i], atomic_load(&netfs->counts[i]));
	json_double(&json, "cpu_s", cpu_seconds());
	json_end(&json);
	return buf_adds(buf, "\n");
}

static int write_file(const char *path, const struct buf *buf)
{
	SCOPE_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	return fd < 0 ? -errno : io_write_full(fd, buf->data, buf->len);
}

/* By way of another name, so that whoever waits for the file finds a whole one. */
static int write_stats(struct netfs *netfs, const char *path)
{
	struct buf buf SCOPE(buf_release) = BUF_INIT;
	char partial[PATH_MAX];
	int error = format_counts(netfs, &buf);

	if ((size_t)snprintf(partial, sizeof(partial), "%s.partial", path) >= sizeof(partial))
		return -ENAMETOOLONG;
	if (!error)
		error = write_file(partial, &buf);
	if (!error && rename(partial, path) < 0)
		error = -errno;
	return error;
}

static void *tell(void *context)
{
	struct netfs *netfs = context;
	sigset_t usr1;
	int signo;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	while (sigwait(&usr1, &signo) == 0 && !atomic_load(&netfs->ended)) {
		int error = write_stats(netfs, netfs->settings.stats);

		if (error)
			log_error("%s: %s", netfs->settings.stats, strerror(-error));
	}
	return NULL;
}

static void teller_stop(struct netfs *netfs)
{
	atomic_store(&netfs->ended, true);
	pthread_kill(netfs->teller, SIGUSR1);
	pthread_join(netfs->teller, NULL);
}

static int print_counts(struct netfs *netfs)
{
	struct buf buf SCOPE(buf_release) = BUF_INIT;
	int error = format_counts(netfs, &buf);

	if (!error)
		error = io_write_full(STDOUT_FILENO, buf.data, buf.len);
	if (error)
		log_error("cannot print the counts: %s", strerror(-error));
	return error;
}

/* --- life ------------------------------------------------------------------------------------ */

/* Each open file is a descriptor, and the default timer slack of 50 us is a tenth of a round
 * trip; both are inherited by the threads to come. SIGUSR1 is for the teller only. */
static void prepare_process(void)
{
	struct rlimit files;
	sigset_t usr1;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
}

/* Read-only also because the kernel then does not ask for the access time after each READ:
 * an NFS server sends that along. */
static int session_open(struct netfs *netfs, const char *mountpoint)
{
	char name[] = "netfs", o[] = "-o", options[128];
	char *argv[] = {name, o, options, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);

	snprintf(options, sizeof(options),
		 "ro,nosuid,nodev,default_permissions,subtype=netfs,fsname=netfs,max_read=%d%s",
		 READ_MAX, geteuid() == 0 ? ",allow_other" : "");
	netfs->session = fuse_session_new(&args, &ops, sizeof(ops), netfs);
	fuse_opt_free_args(&args);
	if (!netfs->session)
		return -ENOMEM;
	if (fuse_set_signal_handlers(netfs->session) == 0) {
		if (fuse_session_mount(netfs->session, mountpoint) == 0)
			return 0;
		fuse_remove_signal_handlers(netfs->session);
	}
	fuse_session_destroy(netfs->session);
	return -EIO;
}

/* Until it is unmounted or told to end by a signal. */
static int session_run(struct netfs *netfs)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int result = -ENOMEM;

	if (config) {
		fuse_loop_cfg_set_max_threads(config, THREADS);
		fuse_loop_cfg_set_idle_threads(config, THREADS);
		fuse_loop_cfg_set_clone_fd(config, 0);
		result = fuse_session_loop_mt(netfs->session, config);
		fuse_loop_cfg_destroy(config);
	}
	/* A signal's number is a good end. */
	return result < 0 ? result : 0;
}

static void session_close(struct netfs *netfs)
{
	fuse_session_unmount(netfs->session);
	fuse_remove_signal_handlers(netfs->session);
	fuse_session_destroy(netfs->session);
}

static int serve(struct netfs *netfs, const char *mountpoint)
{
	int error = session_open(netfs, mountpoint);

	if (error) {
		log_error("%s: cannot be mounted, see above", mountpoint);
		return error;
	}
	if (netfs->settings.stats)
		error = -pthread_create(&netfs->teller, NULL, tell, netfs);
	if (!error) {
		error = session_run(netfs);
		if (netfs->settings.stats)
			teller_stop(netfs);
	}
	session_close(netfs);
	if (error)
		log_error("%s: %s", mountpoint, strerror(-error));
	return error;
}

static void netfs_release(struct netfs *netfs)
{
	struct buffer *next;

	for (struct buffer *buffer = netfs->unused; buffer; buffer = next) {
		next = buffer->next;
		free(buffer);
	}
	tdestroy(netfs->nodes, free);
	pthread_mutex_destroy(&netfs->lock);
	close(netfs->source);
}

static int main_mount(const struct settings *settings, char **args)
{
	struct netfs netfs = {.settings = *settings, .lock = PTHREAD_MUTEX_INITIALIZER};
	int error;

	netfs.source = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (netfs.source < 0) {
		log_error("%s: %m", args[0]);
		return EXIT_FAILED;
	}
	prepare_process();
	error = serve(&netfs, args[1]);
	if (!error)
		error = print_counts(&netfs);
	netfs_release(&netfs);
	return error ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct settings settings = {.delay_us = 500, .cap_mb = 1000};
	struct opt_result parsed;
	struct err err = {0};
	int error;

	log_init("netfs", LOG_LEVEL_NORMAL);
	error = opt_parse(&command, &settings, argc, argv, &parsed, &err);
	if (error) {
		log_error("%s", err_text(&err, error));
		return EXIT_USAGE;
	}
	if (parsed.want == OPT_VERSION)
		return puts("netfs " FOLDFS_VERSION) < 0;
	if (parsed.want == OPT_HELP) {
		opt_help(&command, stdout);
		return EXIT_DONE;
	}
	if (parsed.nargs != 2) {
		opt_help(&command, stderr);
		return EXIT_USAGE;
	}
	return main_mount(&settings, parsed.args);
}
