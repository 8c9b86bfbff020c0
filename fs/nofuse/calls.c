#include "fs/nofuse/calls.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/scope.h"
#include "fs/life/mountpoint.h"
#include "fs/nofuse/job.h"
#include "fs/nofuse/preload.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#define GIVEN	     (INT64_MAX - 1) /* a descriptor was the answer */
#define STATFS_MAGIC 0x65735546	     /* as of a mount by FUSE */
#define STATFS_VALID 0x0020	     /* the flags are */
#define STATS_GROWTH 64 /* bytes that the stats may grow between two calls of getxattr(2) */
#define ACCESS_LIST  "system.posix_acl_"
#define TRIES	     100 /* in a second */
#define UNNAMED	     (O_TMPFILE & ~O_DIRECTORY)
#define IN_ROOT	     0x10 /* RESOLVE_IN_ROOT */
#define RESOLVE_END  0x40 /* above the flags of openat2(2) that keep a path within a folder */
#define NO_FLAGS     (~UINT64_C(0x7fffff) | 0x3c) /* of open(2) */
#define HOW_MAX	     4072			  /* bytes of later releases: up to a page in all */
#define LISTING_MAX  65536			  /* bytes of a listing at once */

/* The owner is named as the user namespace of the job has it. */
static int stat_entry(const struct call *call, struct stat *ret)
{
	char space[JOB_NAME];
	int r = tree_stat(call->answers->tree, call->to.entry, ret);

	ret->st_ino = call_number(call, ret->st_ino);
	ret->st_dev = call->answers->skeleton->own.device;
	job_space(call->pid, space);
	if (r == 0 && strcmp(space, call->answers->space) != 0)
		r = job_ids(call->pid, &ret->st_uid, &ret->st_gid);
	return r == 0 || job_is_short(r) ? r : -EIO;
}

/* --- opening --------------------------------------------------------------------------------- */

/* If it fails, it is the job that is short of descriptors. */
static int64_t give_fd(const struct call *call, int fd)
{
	int r = listener_give(&call->answers->listener, call->asked, fd, call->flags & O_CLOEXEC);

	if (r < 0)
		listener_answer(&call->answers->listener, call->asked, r);
	return GIVEN;
}

static int64_t open_folder(struct call *call)
{
	int flags = (int)call->flags;
	SCOPE_CLOSE int fd = -1;
	int64_t r;

	if (flags & O_PATH)
		return PASS;
	if (flags & (O_CREAT | O_TRUNC) || ((flags & O_ACCMODE) != O_RDONLY && !(flags & UNNAMED)))
		return -EISDIR;
	if (flags & UNNAMED)
		return -EROFS;
	r = call_check_access(call, call->to.entry, R_OK);
	if (r < 0)
		return r;
	fd = cursors_open(call->answers->cursors, call->to.entry, flags);
	return fd < 0 ? fd : give_fd(call, fd);
}

/* What is not told is asked. The thread must not run meanwhile; and by its owner, which is that of
 * all files, the file in memory shows which user namespace sees it. */
static void tell_stat(const struct call *call, int fd)
{
	const struct listener *listener = &call->answers->listener;
	const struct tree *tree = call->answers->tree;
	struct preload_told told;
	struct stat own, st = {0};
	uint64_t address;

	_Static_assert(sizeof(st) <= sizeof(told.stat), "there is room");
	if (!listener->killable ||
	    !preload_asks(listener->mark, &call->asked->notif.data, &address) ||
	    fstat(fd, &own) < 0 || own.st_uid != tree->uid || own.st_gid != tree->gid ||
	    stat_entry(call, &st) < 0)
		return;
	told = (struct preload_told){.device = own.st_dev,
				     .inode = own.st_ino,
				     .seconds = (uint64_t)own.st_ctim.tv_sec,
				     .nanoseconds = (uint64_t)own.st_ctim.tv_nsec,
				     .uid = st.st_uid,
				     .gid = st.st_gid};
	memcpy(told.stat, &st, sizeof(st));
	call_give(call, address, &told, sizeof(told), 0);
}

/* The order of the checks is the kernel's. */
static int64_t open_file(struct call *call)
{
	int flags = (int)call->flags;
	SCOPE_CLOSE int fd = -1;
	int r = 0;

	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	if (!(flags & O_PATH) && (flags & O_ACCMODE || flags & O_TRUNC))
		return -EROFS;
	if (!(flags & O_PATH))
		r = call_check_access(call, call->to.entry, R_OK);
	if (r < 0)
		return r;
	/* What is opened by O_PATH cannot be given away. O_ACCMODE neither reads nor writes, too.
	 */
	fd = store_open(call->answers->store, call_entry(call).inode,
			flags & O_PATH ? O_ACCMODE
				       : flags & (O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC),
			&call->opener);
	if (fd < 0)
		return fd;
	tell_stat(call, fd);
	return give_fd(call, fd);
}

/* What the kernel finds wrong with the flags before it looks at the path. */
static bool is_wrong(int flags)
{
	if (flags & O_PATH)
		return false;
	if (flags & UNNAMED)
		return (flags & O_TMPFILE) != O_TMPFILE || flags & O_CREAT ||
		       (flags & O_ACCMODE) == O_RDONLY;
	return (flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY);
}

static int64_t answer_open(struct call *call)
{
	int flags = (int)call->flags;
	bool only = !(flags & O_PATH) && (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	int64_t r = call_find(call, flags & O_NOFOLLOW || only ? FOLLOW_SLASH : FOLLOW_ALWAYS);

	if (r == PASS)
		return PASS;
	if (is_wrong(flags))
		return -EINVAL;
	if (!(flags & O_PATH) && flags & O_CREAT) {
		if (r == -ENOENT && call->to.above)
			return call->to.slash ? -EISDIR : -EROFS;
		if (call->to.slash && (r == 0 || r == -ENOTDIR))
			return -EISDIR;
		if (r == 0 && only)
			return -EEXIST;
	}
	if (r < 0)
		return r;
	mount_count(call->answers->mount, REQUEST_OPEN);
	switch (call_entry(call).kind) {
	case FORMAT_DIRECTORY:
		return open_folder(call);
	case FORMAT_SYMLINK:
		return flags & O_DIRECTORY ? -ENOTDIR : flags & O_PATH ? PASS : -ELOOP;
	default:
		return open_file(call);
	}
}

struct how {
	uint64_t flags, mode, resolve; /* struct open_how */
};

/* 0, or PASS: the kernel refuses it, whatever the path is; or another answer. */
static int64_t read_how(const struct call *call, struct how *ret)
{
	uint64_t address = call_rest(call, 0), size = call_rest(call, 1);
	char more[HOW_MAX] = "";
	int r;

	if (size < sizeof(*ret) || size > sizeof(*ret) + sizeof(more))
		return PASS;
	r = job_read(call->pid, address, ret, sizeof(*ret));
	if (r == 0)
		r = job_read(call->pid, address + sizeof(*ret), more, size - sizeof(*ret));
	if (r < 0)
		return call_unread(r);
	if (*more || memcmp(more, more + 1, sizeof(more) - 1) != 0 || ret->flags & NO_FLAGS ||
	    ret->resolve >= RESOLVE_END || ret->mode & ~UINT64_C(07777) ||
	    (ret->mode && !(ret->flags & (O_CREAT | UNNAMED))) ||
	    (ret->flags & O_PATH &&
	     ret->flags & ~(uint64_t)(O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)))
		return PASS;
	return 0;
}

/* Where a path is to stay within a folder, the kernel sees to it where it leads nowhere near the
 * pack; else, programs have another way. */
static int64_t answer_open_how(struct call *call)
{
	const struct resolver *resolver = &call->answers->resolver;
	struct how how;
	int64_t r = read_how(call, &how);

	if (r)
		return r;
	call->flags = how.flags;
	if (how.resolve == 0)
		return answer_open(call);
	if (how.resolve & IN_ROOT)
		return resolve_is_above(resolver, call->pid, (int)call_argument(call, 0)) ? -ENOSYS
											  : PASS;
	r = call_find(call, FOLLOW_ALWAYS);
	return r == PASS && !call->to.crossed ? PASS : -ENOSYS;
}

/* --- listings -------------------------------------------------------------------------------- */

struct listing {
	const struct call *call;
	bool old; /* as getdents(2) has it: struct linux_dirent */
	size_t room, used;
	_Alignas(struct dirent) char bytes[LISTING_MAX];
};

/* As the kernel has it: struct linux_dirent64, or the old one, where the type is the last byte.
 * Returns false if it does not fit. */
static bool add_record(struct listing *listing, const struct dataset_child *child, uint64_t place)
{
	char *at = listing->bytes + listing->used;
	struct dirent *record = (void *)at;
	size_t head =
		listing->old ? offsetof(struct dirent, d_type) : offsetof(struct dirent, d_name);
	size_t len = (head + child->name_len + 1 + listing->old + 7) & ~(size_t)7;

	if (listing->used + len > listing->room)
		return false;
	memset(record, 0, len);
	record->d_ino =
		call_number(listing->call, tree_ino(listing->call->answers->tree, child->inode));
	record->d_off = (off_t)place + 1;
	record->d_reclen = (unsigned short)len;
	memcpy(at + head, child->name, child->name_len);
	at[listing->old ? len - 1 : offsetof(struct dirent, d_type)] =
		(char)IFTODT(tree_type(child->kind));
	listing->used += len;
	return true;
}

static int64_t give_listing(void *context, uint64_t *place)
{
	struct listing *listing = context;
	const struct call *call = listing->call;
	struct dataset_child child;

	while (tree_child(call->answers->tree, call->to.entry, *place, &child) &&
	       add_record(listing, &child, *place))
		++*place;
	if (listing->used == 0)
		return tree_child(call->answers->tree, call->to.entry, *place, &child) ? -EINVAL
										       : 0;
	return call_give(call, call_rest(call, 0), listing->bytes, listing->used,
			 (int64_t)listing->used);
}

static int64_t answer_getdents(struct call *call)
{
	struct listing listing;
	int64_t r = call_find(call, FOLLOW_ALWAYS);

	if (r || !call_is_folder(call))
		return r ? r : PASS;
	mount_count(call->answers->mount, REQUEST_READDIR);
	listing.call = call;
	listing.old = call->row->fixed;
	listing.room = min((size_t)(unsigned)call_rest(call, 1), sizeof(listing.bytes));
	listing.used = 0;
	return cursors_list(call->answers->cursors, &call->answers->listener, call->asked,
			    (int)call_argument(call, 0), call->to.entry, give_listing, &listing);
}

/* --- attributes ------------------------------------------------------------------------------ */

static int64_t find_stat(struct call *call, struct stat *ret)
{
	int64_t r = call_find_at(call);

	mount_count(call->answers->mount, REQUEST_GETATTR);
	return r ? r : stat_entry(call, ret);
}

static int64_t answer_stat(struct call *call)
{
	struct stat st = {0};
	int64_t r = find_stat(call, &st);

	return r ? r : call_give(call, call_rest(call, 0), &st, sizeof(st), 0);
}

static struct statx_timestamp timestamp(struct timespec time)
{
	return (struct statx_timestamp){.tv_sec = time.tv_sec, .tv_nsec = (uint32_t)time.tv_nsec};
}

/* The mask comes before the structure. */
static int64_t answer_statx(struct call *call)
{
	struct stat st = {0};
	struct statx stx;
	int64_t r;

	if ((call->flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE ||
	    (unsigned)call_argument(call, 3) & STATX__RESERVED)
		return PASS;
	r = find_stat(call, &st);
	if (r)
		return r;
	stx = (struct statx){
		.stx_mask = STATX_BASIC_STATS,
		.stx_blksize = (uint32_t)st.st_blksize,
		.stx_nlink = (uint32_t)st.st_nlink,
		.stx_uid = st.st_uid,
		.stx_gid = st.st_gid,
		.stx_mode = (uint16_t)st.st_mode,
		.stx_ino = st.st_ino,
		.stx_size = (uint64_t)st.st_size,
		.stx_blocks = (uint64_t)st.st_blocks,
		.stx_atime = timestamp(st.st_atim),
		.stx_ctime = timestamp(st.st_ctim),
		.stx_mtime = timestamp(st.st_mtim),
		.stx_dev_major = major(st.st_dev),
		.stx_dev_minor = minor(st.st_dev),
	};
	return call_give(call, call_rest(call, 1), &stx, sizeof(stx), 0);
}

static int64_t answer_access(struct call *call)
{
	int mode = (int)call_rest(call, 0);
	int64_t r = call_find_at(call);

	if (r || mode == F_OK)
		return r;
	if (mode & ~(R_OK | W_OK | X_OK))
		return PASS;
	if (mode & X_OK && tree_type(call_entry(call).kind) == S_IFREG)
		return -EACCES; /* as execve(2) */
	return mode & W_OK ? -EROFS : call_check_access(call, call->to.entry, mode);
}

static int64_t give_link(const struct call *call, const char *text, size_t len)
{
	int room = (int)call_rest(call, 1);

	if (room <= 0)
		return -EINVAL;
	len = min(len, (size_t)room);
	return call_give(call, call_rest(call, 0), text, len, (int64_t)len);
}

/* The name of an open file, as /proc would say it of one in a mount. */
static int64_t give_path(const struct call *call)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char top[PATH_MAX];
	int r = getcwd(top, sizeof(top)) ? buf_addf(&path, "%s/", top) : -errno;

	if (r == 0)
		r = tree_path(call->answers->tree, call->to.entry, &path);
	return r < 0 ? r : give_link(call, path.data, path.len);
}

static int64_t answer_readlink(struct call *call)
{
	int64_t r = call_find(call, FOLLOW_SLASH);
	const char *target;
	size_t len;

	if (call->to.by_link)
		return give_path(call);
	if (r)
		return r;
	if (call_entry(call).kind != FORMAT_SYMLINK)
		return -EINVAL;
	target = dataset_target(call->answers->tree->dataset, call->to.entry, &len);
	return give_link(call, target, len);
}

static int64_t answer_statfs(struct call *call)
{
	const struct dataset_info *info = dataset_info(call->answers->tree->dataset);
	int64_t r = call_find(call, FOLLOW_ALWAYS);
	const struct statfs fs = {
		.f_type = STATFS_MAGIC,
		.f_bsize = 4096,
		.f_frsize = 4096,
		.f_blocks = (info->super->bytes + 4095) / 4096,
		.f_files = info->super->entries,
		.f_namelen = FORMAT_NAME_MAX,
		.f_flags =
			STATFS_VALID | ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC | ST_RELATIME,
	};

	return r ? r : call_give(call, call_rest(call, 0), &fs, sizeof(fs), 0);
}

/* --- extended attributes --------------------------------------------------------------------- */

/* The job is its owner's. */
static int64_t give_stats(const struct call *call)
{
	SCOPE(buf_release) struct buf json = BUF_INIT;
	int r = mount_report(call->answers->mount, true, &json);
	uint64_t room = call_rest(call, 2);

	if (r < 0)
		return r;
	if (room == 0)
		return (int64_t)json.len + STATS_GROWTH;
	return room < json.len ? -ERANGE
			       : call_give(call, call_rest(call, 1), json.data, json.len,
					   (int64_t)json.len);
}

static int64_t answer_getxattr(struct call *call)
{
	char name[XATTR_NAME_MAX + 1];
	int64_t r = call_find_at(call);

	if (r)
		return r;
	mount_count(call->answers->mount, REQUEST_GETXATTR);
	r = job_read_text(call->pid, call_rest(call, 0), name, sizeof(name));
	if (r < 0 || !*name)
		return r < 0 && r != -ERANGE ? -EFAULT : -ERANGE;
	if (call->to.entry == call->answers->tree->root && strcmp(name, STATS_NAME) == 0)
		return give_stats(call);
	/* For a link, the kernel itself says that it has no such list. */
	return call_entry(call).kind == FORMAT_SYMLINK &&
			       strncmp(name, ACCESS_LIST, strlen(ACCESS_LIST)) == 0
		       ? -EOPNOTSUPP
		       : -ENODATA;
}

static int64_t answer_listxattr(struct call *call)
{
	mount_count(call->answers->mount, REQUEST_LISTXATTR);
	return call_find_at(call);
}

/* --- signals --------------------------------------------------------------------------------- */

/* A call that waits to be taken ends where a signal is handled, and is repeated only with
 * SA_RESTART: so every handler of a job has that. What the object knows needs it no more
 * (preload/signals.c); others hand over a copy, or what they may only read. */
static int64_t restart_calls(struct call *call)
{
	struct {
		uint64_t handler, flags;
	} action; /* how the kernel's struct sigaction begins */
	SCOPE_CLOSE int memory = job_open(call->pid);
	int r = job_read(call->pid, call_rest(call, 0), &action, sizeof(action));

	if (r < 0)
		return call_unread(r);
	if (action.handler == (uintptr_t)SIG_DFL || action.handler == (uintptr_t)SIG_IGN ||
	    action.flags & SA_RESTART)
		return PASS;
	action.flags |= SA_RESTART;
	if (listener_waits(&call->answers->listener, call->asked))
		(void)job_write_open(memory, call_rest(call, 0), &action, sizeof(action));
	return job_is_short(memory) ? memory : PASS;
}

/* --- the table ------------------------------------------------------------------------------- */

#define NOFOLLOW AT_SYMLINK_NOFOLLOW
#define WORKING	 AT_EMPTY_PATH /* from Linux 6.13 on, AT_FDCWD means the working folder */
#define EITHER	 (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)
#define RENAMED	 0x7 /* RENAME_NOREPLACE, _EXCHANGE, _WHITEOUT */
#define STATED	 (EITHER | AT_NO_AUTOMOUNT | AT_STATX_SYNC_TYPE)

static const struct row table[] = {
	/* number, answer, fd, path, flags, rest, fixed, known */
	{SYS_openat, answer_open, 0, 1, 2, NO, 0, 0},
	{SYS_newfstatat, answer_stat, 0, 1, 3, 2, 0, STATED},
	{SYS_fstat, answer_stat, 0, NO, NO, 1, 0, 0},
	{SYS_statx, answer_statx, 0, 1, 2, 3, 0, STATED},
	{SYS_getdents64, answer_getdents, 0, NO, NO, 1, 0, 0},
	{SYS_openat2, answer_open_how, 0, 1, NO, 2, 0, 0},
	{SYS_faccessat, answer_access, 0, 1, NO, 2, 0, 0},
	{SYS_faccessat2, answer_access, 0, 1, 3, 2, 0, EITHER | AT_EACCESS},
	{SYS_readlinkat, answer_readlink, 0, 1, NO, 2, 0, 0},
	{SYS_statfs, answer_statfs, NO, 0, NO, 1, 0, 0},
	{SYS_fstatfs, answer_statfs, 0, NO, NO, 1, 0, 0},
	{SYS_getxattr, answer_getxattr, NO, 0, NO, 1, 0, 0},
	{SYS_lgetxattr, answer_getxattr, NO, 0, NO, 1, NOFOLLOW, 0},
	{SYS_fgetxattr, answer_getxattr, 0, NO, NO, 1, WORKING, 0},
	{SYS_listxattr, answer_listxattr, NO, 0, NO, 1, 0, 0},
	{SYS_llistxattr, answer_listxattr, NO, 0, NO, 1, NOFOLLOW, 0},
	{SYS_flistxattr, answer_listxattr, 0, NO, NO, 1, WORKING, 0},
	{SYS_rt_sigaction, restart_calls, NO, NO, NO, 1, 0, 0},
	{SYS_execve, refuse_execution, NO, 0, NO, NO, 0, 0},
	{SYS_execveat, refuse_execution, 0, 1, 4, NO, 0, EITHER},
	{SYS_chdir, enter_folder, NO, 0, NO, NO, 0, 0},
	{SYS_inotify_add_watch, refuse_watch, NO, 1, NO, NO, 0, 0},
	{SYS_fanotify_mark, refuse_watch, 3, 4, NO, NO, NULL_PATH, 0},
	{SYS_name_to_handle_at, refuse_watch, 0, 1, NO, NO, 0, 0},
	{SYS_mkdirat, refuse_making, 0, 1, NO, NO, true, 0},
	{SYS_mknodat, refuse_making, 0, 1, NO, NO, false, 0},
	{SYS_symlinkat, refuse_symlink, 1, 2, NO, NO, false, 0},
	{SYS_bind, refuse_socket, NO, NO, NO, 1, 0, 0},
	{SYS_linkat, refuse_link, 0, 1, 4, NO, 0, AT_SYMLINK_FOLLOW | AT_EMPTY_PATH},
	{SYS_renameat2, refuse_rename, 0, 1, 4, NO, 0, RENAMED},
	{SYS_unlinkat, refuse_removal, 0, 1, 2, NO, 0, AT_REMOVEDIR},
	{SYS_truncate, refuse_truncate, NO, 0, NO, 1, 0, 0},
	{SYS_fchmod, refuse_change, 0, NO, NO, NO, 0, 0},
	{SYS_fchmodat, refuse_change, 0, 1, NO, NO, 0, 0},
	{SYS_fchmodat2, refuse_change, 0, 1, 3, NO, 0, EITHER},
	{SYS_fchown, refuse_change, 0, NO, NO, NO, 0, 0},
	{SYS_fchownat, refuse_change, 0, 1, 4, NO, 0, EITHER},
	{SYS_utimensat, refuse_times, 0, 1, 3, 2, NULL_PATH, EITHER},
	{SYS_setxattr, refuse_change, NO, 0, NO, NO, 0, 0},
	{SYS_lsetxattr, refuse_change, NO, 0, NO, NO, NOFOLLOW, 0},
	{SYS_fsetxattr, refuse_change, 0, NO, NO, NO, WORKING, 0},
	{SYS_removexattr, refuse_change, NO, 0, NO, NO, 0, 0},
	{SYS_lremovexattr, refuse_change, NO, 0, NO, NO, NOFOLLOW, 0},
	{SYS_fremovexattr, refuse_change, 0, NO, NO, NO, WORKING, 0},
#ifdef SYS_renameat
	{SYS_renameat, refuse_rename, 0, 1, NO, NO, 0, 0},
#endif
#ifdef SYS_open
	{SYS_open, answer_open, NO, 0, 1, NO, 0, 0},
	{SYS_getdents, answer_getdents, 0, NO, NO, 1, true, 0},
	{SYS_creat, answer_open, NO, 0, NO, NO, O_CREAT | O_WRONLY | O_TRUNC, 0},
	{SYS_stat, answer_stat, NO, 0, NO, 1, 0, 0},
	{SYS_lstat, answer_stat, NO, 0, NO, 1, NOFOLLOW, 0},
	{SYS_access, answer_access, NO, 0, NO, 1, 0, 0},
	{SYS_readlink, answer_readlink, NO, 0, NO, 1, 0, 0},
	{SYS_mkdir, refuse_making, NO, 0, NO, NO, true, 0},
	{SYS_mknod, refuse_making, NO, 0, NO, NO, false, 0},
	{SYS_symlink, refuse_symlink, NO, 1, NO, NO, false, 0},
	{SYS_link, refuse_link, NO, 0, NO, NO, 0, 0},
	{SYS_rename, refuse_rename, NO, 0, NO, NO, 0, 0},
	{SYS_unlink, refuse_removal, NO, 0, NO, NO, 0, 0},
	{SYS_rmdir, refuse_removal, NO, 0, NO, NO, AT_REMOVEDIR, 0},
	{SYS_chmod, refuse_change, NO, 0, NO, NO, 0, 0},
	{SYS_chown, refuse_change, NO, 0, NO, NO, 0, 0},
	{SYS_lchown, refuse_change, NO, 0, NO, NO, NOFOLLOW, 0},
	{SYS_utime, refuse_change, NO, 0, NO, NO, 0, 0},
	{SYS_utimes, refuse_change, NO, 0, NO, NO, 0, 0},
	{SYS_futimesat, refuse_change, 0, 1, NO, NO, NULL_PATH, 0},
#endif
};

#define ROWS (sizeof(table) / sizeof(table[0]))

size_t calls_listed(uint32_t ret[static CALLS_MAX])
{
	_Static_assert(ROWS <= CALLS_MAX, "the table has grown");
	for (size_t i = 0; i < ROWS; i++)
		ret[i] = table[i].number;
	return ROWS;
}

/* Where descriptors are short, what is only kept is given up; and other threads soon close what
 * they have open. */
static int64_t answer_patiently(struct call *call)
{
	const struct timespec tick = {.tv_nsec = CLOCK_SECOND / TRIES};
	int64_t r = call->row->answer(call);

	for (int tries = TRIES; (r == -EMFILE || r == -ENFILE) && tries > 0; tries--) {
		bool closed = cursors_give_up(call->answers->cursors);

		opener_waits(&call->opener);
		if (!store_give_up(call->answers->store) && !closed)
			nanosleep(&tick, NULL);
		r = call->row->answer(call);
	}
	return r;
}

void calls_answer(const struct answers *answers, const struct asked *asked,
		  void (*waits)(void *context), void *context)
{
	const struct seccomp_data *data = &asked->notif.data;
	const struct row *row = table;
	struct call call = {.answers = answers,
			    .asked = asked,
			    .pid = (pid_t)asked->notif.pid,
			    .opener = {asked->notif.pid, waits, context}};
	int64_t r;

	while (row < table + ROWS - 1 && row->number != (uint32_t)data->nr)
		row++;
	call.row = row;
	call.flags = (uint32_t)(row->fixed & ~NULL_PATH);
	if (row->flags != NO)
		call.flags |= (uint32_t)data->args[row->flags];
	call.empty = call.flags & AT_EMPTY_PATH && row->answer != answer_open;
	if (row->known && call.flags & ~(uint32_t)row->known)
		r = PASS;
	else
		r = answer_patiently(&call);
	if (r == PASS)
		listener_pass(&answers->listener, asked);
	else if (r != GIVEN)
		listener_answer(&answers->listener, asked, r);
}
