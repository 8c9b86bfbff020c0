/* netfs: a read-only view of a folder that answers as slowly as a network filesystem.
 *
 *	netfs MICROSECONDS MB SOURCE_DIR MOUNTPOINT
 *
 * Each LOOKUP, OPEN, GETATTR and READ is answered one round trip of so many microseconds after it
 * came; those of concurrent requests overlap. What READs return goes over one link of so many MB a
 * second (0: as fast as it goes), first come, first served: a reply that finds the link busy waits
 * for those before it. READDIR and the rest cost nothing. Names and attributes are believed for a
 * second, cached pages are kept at open, as NFS does it where a file has not changed; a file opened
 * with O_DIRECT is not cached at all. The source must not change meanwhile, and should be in the
 * page cache: what its device takes comes on top.
 *
 * "ready" on standard output says that it is mounted; SIGTERM or SIGINT unmounts it, or
 * fusermount3 -u. */
#include "base/io.h"
#include "base/scope.h"

#include <dirent.h>
#include <fcntl.h>
#define FUSE_USE_VERSION 312
#include <fuse.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#define READ_MAX   (1 << 20)
#define BACKGROUND 64 /* READs that the kernel sends ahead of its readers, at most */
/* Each thread sleeps for its request's round trip; some are left for the readers. Read-only also
 * because the kernel then does not ask for the access time after each READ: an NFS server sends
 * that along. */
#define OPTIONS                                                                            \
	"ro,nosuid,nodev,default_permissions,subtype=netfs,fsname=netfs,max_read=1048576," \
	"max_threads=96,max_idle_threads=96"

static struct {
	uint64_t delay_ns, cap_mb;
	int source;
	pthread_mutex_t lock;
	uint64_t link_free; /* when the link has sent all it was given; protected by lock */
} netfs = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* When a request that just came may be answered. */
static uint64_t round_trip(void)
{
	return now_ns() + netfs.delay_ns;
}

static void sleep_until(uint64_t when)
{
	const struct timespec until = {.tv_sec = (time_t)(when / 1000000000u),
				       .tv_nsec = (long)(when % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* When the last of `bytes` has left the link, if the first is there to send at `earliest`. */
static uint64_t link_reserve(uint64_t earliest, uint64_t bytes)
{
	SCOPE_LOCK(&netfs.lock);
	if (netfs.cap_mb == 0)
		return earliest;
	if (netfs.link_free < earliest)
		netfs.link_free = earliest;
	netfs.link_free += bytes * 1000 / netfs.cap_mb;
	return netfs.link_free;
}

/* From the source. */
static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static void *op_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	/* Otherwise the kernel sends the LOOKUPs of one folder one after the other. libfuse 3.14
	 * does not pass this on: many threads in one folder wait for each other there. */
	conn->want |= conn->capable & FUSE_CAP_PARALLEL_DIROPS;
	conn->max_read = READ_MAX;
	conn->max_background = BACKGROUND;
	conn->congestion_threshold = BACKGROUND;
	config->use_ino = 1;
	config->entry_timeout = config->attr_timeout = 1.0;
	puts("ready");
	fflush(stdout);
	return NULL;
}

/* LOOKUP, too. */
static int op_getattr(const char *path, struct stat *st, struct fuse_file_info *file)
{
	uint64_t due = round_trip();
	int r = fstatat(netfs.source, below(path), st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;

	(void)file;
	sleep_until(due);
	return r;
}

static int op_readlink(const char *path, char *target, size_t room)
{
	ssize_t len = readlinkat(netfs.source, below(path), target, room - 1);

	if (len < 0)
		return -errno;
	target[len] = '\0';
	return 0;
}

static int op_open(const char *path, struct fuse_file_info *file)
{
	uint64_t due = round_trip();
	int fd = openat(netfs.source, below(path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;

	sleep_until(due);
	file->fh = (uint64_t)fd;
	file->keep_cache = 1;
	file->direct_io = (file->flags & O_DIRECT) != 0;
	return r;
}

static int op_release(const char *path, struct fuse_file_info *file)
{
	(void)path;
	close((int)file->fh);
	return 0;
}

/* Read and answered in one go behind the wait: what pread() has copied is still in the processor's
 * cache when the kernel copies it again. */
static int op_read(const char *path, char *ret, size_t size, off_t from,
		   struct fuse_file_info *file)
{
	uint64_t due = round_trip();
	struct stat st;

	(void)path;
	if (fstat((int)file->fh, &st) < 0)
		return -errno;
	if (from >= st.st_size)
		size = 0;
	else if (size > (uint64_t)(st.st_size - from))
		size = (size_t)(st.st_size - from);
	sleep_until(link_reserve(due, size));
	return (int)io_pread((int)file->fh, ret, size, (uint64_t)from);
}

static int op_readdir(const char *path, void *listing, fuse_fill_dir_t fill, off_t from,
		      struct fuse_file_info *file, enum fuse_readdir_flags flags)
{
	int fd = openat(netfs.source, below(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	SCOPE_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	(void)from, (void)file, (void)flags;
	while (dir && (entry = readdir(dir))) {
		const struct stat st = {.st_ino = entry->d_ino,
					.st_mode = (mode_t)DTTOIF(entry->d_type)};

		fill(listing, entry->d_name, &st, 0, 0);
	}
	return dir ? 0 : -errno;
}

static int op_statfs(const char *path, struct statvfs *ret)
{
	(void)path;
	return fstatvfs(netfs.source, ret) < 0 ? -errno : 0;
}

static const struct fuse_operations ops = {
	.init = op_init,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.release = op_release,
	.read = op_read,
	.readdir = op_readdir,
	.statfs = op_statfs,
};

/* Each open file is a descriptor; and the default timer slack of 50 us is a tenth of a round trip.
 * Memory that a READ has had serves the next one. */
static void prepare_process(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
	mallopt(M_MMAP_THRESHOLD, 64 * READ_MAX);
	mallopt(M_TRIM_THRESHOLD, 256 * READ_MAX);
}

int main(int argc, char **argv)
{
	char program[] = "netfs", foreground[] = "-f", o[] = "-o",
	     options[] = OPTIONS ",allow_other";

	if (argc != 5) {
		fputs("usage: netfs MICROSECONDS MB SOURCE_DIR MOUNTPOINT\n", stderr);
		return 2;
	}
	netfs.delay_ns = strtoul(argv[1], NULL, 10) * 1000;
	netfs.cap_mb = strtoul(argv[2], NULL, 10);
	netfs.source = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (netfs.source < 0) {
		perror(argv[3]);
		return 1;
	}
	if (geteuid() != 0)
		options[strlen(OPTIONS)] = '\0';
	prepare_process();
	return fuse_main(5, ((char *[]){program, foreground, o, options, argv[4], NULL}), &ops,
			 NULL);
}
