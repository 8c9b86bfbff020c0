/* Operations that look at names: stat(2) and its family, open(2), links, attributes. */
#include "tests/model/model.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LENGTH(list) (sizeof(list) / sizeof(*(list)))

static void stat_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	int flags = args->chance[0] % 2 ? AT_SYMLINK_NOFOLLOW : 0;
	struct stat st;

	tell(side, "%s '%s'", flags ? "lstat" : "stat", args->path);
	if (outcome_of(ret, fstatat(side->root, args->path, &st, flags)))
		outcome_stat(ret, &st);
}

/* A part of the fields, as ls(1) asks. */
static void statx_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	unsigned mask = STATX_BASIC_STATS & args->chance[0];
	int flags = args->chance[1] % 2 ? AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC : 0;
	struct statx stx;

	tell(side, "statx '%s' mask 0x%x flags 0x%x", args->path, mask, flags);
	if (!outcome_of(ret, statx(side->root, args->path, flags, mask, &stx)))
		return;
	outcome_add(ret, &stx.stx_mode, sizeof(stx.stx_mode));
	if (!S_ISDIR(stx.stx_mode) && mask & STATX_SIZE)
		outcome_add(ret, &stx.stx_size, sizeof(stx.stx_size));
	if (mask & STATX_MTIME)
		outcome_add(ret, &stx.stx_mtime, sizeof(stx.stx_mtime));
	if (mask & STATX_NLINK)
		outcome_add(ret, &stx.stx_nlink, sizeof(stx.stx_nlink));
}

static void access_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	int mode = args->chance[0] % 8; /* of R_OK, W_OK and X_OK */
	int flags = args->chance[1] % 4 ? 0 : AT_EACCESS;

	tell(side, "access '%s' mode %d flags 0x%x", args->path, mode, flags);
	outcome_of(ret, faccessat(side->root, args->path, mode, flags));
}

static void readlink_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	size_t room = args->chance[0] % 4 ? 4096 : 1 + args->chance[1] % 20;
	ssize_t len;

	tell(side, "readlink '%s' into %zu bytes", args->path, room);
	len = readlinkat(side->root, args->path, (char *)ret->bytes, room);
	if (outcome_of(ret, len))
		ret->len = (size_t)len;
}

static void getxattr_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	static const char *const attributes[] = {"user.model",
						 "user.none",
						 "trusted.none",
						 "security.capability",
						 "security.selinux",
						 "system.posix_acl_access",
						 "system.posix_acl_default"};
	const char *name = attributes[args->chance[0] % LENGTH(attributes)];
	char path[PATH_ROOM];
	ssize_t len;

	full_path(side, args, path);
	tell(side, "getxattr '%s' %s", args->path, name);
	len = args->chance[1] % 2 ? getxattr(path, name, ret->bytes, args->chance[1] % 64)
				  : lgetxattr(path, name, ret->bytes, args->chance[1] % 64);
	if (outcome_of(ret, len) && args->chance[1] % 64)
		ret->len = (size_t)len;
}

static void listxattr_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	char path[PATH_ROOM];

	full_path(side, args, path);
	tell(side, "listxattr '%s'", args->path);
	outcome_of(ret, llistxattr(path, (char *)ret->bytes, args->chance[0] % 64));
}

static void statfs_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	const unsigned long flags = ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC;
	struct statvfs fs;
	char path[PATH_ROOM];

	full_path(side, args, path);
	tell(side, "statfs '%s'", args->path);
	if (!outcome_of(ret, statvfs(path, &fs)))
		return;
	fs.f_flag &= flags;
	outcome_add(ret, &fs.f_flag, sizeof(fs.f_flag));
	outcome_add(ret, &fs.f_namemax, sizeof(fs.f_namemax));
}

/* Half of all openings only read. The others have one or two flags of all kinds. */
static int open_flags(const struct args *args)
{
	static const int flags[] = {O_WRONLY,  O_RDWR,	    O_CREAT,   O_CREAT | O_EXCL, O_TRUNC,
				    O_APPEND,  O_DIRECTORY, O_TMPFILE, O_NOFOLLOW,	 O_PATH,
				    O_NOATIME, O_SYNC,	    O_DIRECT};

	if (args->chance[0] % 2)
		return args->chance[0] % 8 == 1 ? O_DIRECT : O_RDONLY;
	return flags[args->chance[1] % LENGTH(flags)] | flags[args->chance[2] % LENGTH(flags)];
}

static void open_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	int flags = open_flags(args) | O_CLOEXEC | O_NONBLOCK, fd;
	struct stat st;

	if (side->no_fuse)
		flags &= ~O_PATH;
	tell(side, "slot %u: open '%s' flags 0x%x", args->slot, args->path, flags);
	fd = openat(side->root, args->path, flags, 0600);
	if (!outcome_of(ret, fd))
		return;
	ret->result = 0;
	slot_put(side, args->slot, fd);
	if (outcome_of(ret, fstat(fd, &st)))
		outcome_stat(ret, &st);
}

const struct operation name_operations[] = {
	{"stat", stat_operation, 12},
	{"statx", statx_operation, 4},
	{"access", access_operation, 4},
	{"readlink", readlink_operation, 4},
	{"getxattr", getxattr_operation, 4},
	{"listxattr", listxattr_operation, 1},
	{"statfs", statfs_operation, 1},
	{"open", open_operation, 20},
	{0},
};
