/* Operations that would change something. */
#include "tests/model/model.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LENGTH(list) (sizeof(list) / sizeof(*(list)))

static void mkdir_change(struct side *side, const struct args *args, struct outcome *ret)
{
	tell(side, "mkdir '%s'", args->fresh);
	outcome_of(ret, mkdirat(side->root, args->fresh, 0755));
}

static void mknod_change(struct side *side, const struct args *args, struct outcome *ret)
{
	static const mode_t kinds[] = {S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK};
	mode_t kind = kinds[args->chance[0] % LENGTH(kinds)];

	tell(side, "mknod '%s' kind 0%o", args->fresh, kind);
	outcome_of(ret, mknodat(side->root, args->fresh, kind | 0600, 0));
}

static void unlink_change(struct side *side, const struct args *args, struct outcome *ret)
{
	int flags = args->chance[0] % 2 ? AT_REMOVEDIR : 0;

	tell(side, "%s '%s'", flags ? "rmdir" : "unlink", args->path);
	outcome_of(ret, unlinkat(side->root, args->path, flags));
}

static void rename_change(struct side *side, const struct args *args, struct outcome *ret)
{
	static const unsigned flags[] = {0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT};
	unsigned flag = flags[args->chance[0] % LENGTH(flags)];

	tell(side, "rename '%s' to '%s' flags %u", args->path, args->fresh, flag);
	outcome_of(ret, renameat2(side->root, args->path, side->root, args->fresh, flag));
}

static void link_change(struct side *side, const struct args *args, struct outcome *ret)
{
	int flags = args->chance[0] % 2 ? AT_SYMLINK_FOLLOW : 0;

	tell(side, "link '%s' as '%s' flags 0x%x", args->path, args->fresh, flags);
	outcome_of(ret, linkat(side->root, args->path, side->root, args->fresh, flags));
}

static void symlink_change(struct side *side, const struct args *args, struct outcome *ret)
{
	tell(side, "symlink '%s'", args->fresh);
	outcome_of(ret, symlinkat("target", side->root, args->fresh));
}

static void chmod_change(struct side *side, const struct args *args, struct outcome *ret)
{
	tell(side, "chmod '%s'", args->path);
	outcome_of(ret, fchmodat(side->root, args->path, (mode_t)(args->chance[0] % 07777), 0));
}

static void chown_change(struct side *side, const struct args *args, struct outcome *ret)
{
	uid_t uid = args->chance[0] % 3 ? (uid_t)-1 : (uid_t)(args->chance[0] % 9);
	int flags = args->chance[1] % 2 ? AT_SYMLINK_NOFOLLOW : 0;

	tell(side, "chown '%s' to %d flags 0x%x", args->path, (int)uid, flags);
	outcome_of(ret, fchownat(side->root, args->path, uid, (gid_t)-1, flags));
}

static void utimes_change(struct side *side, const struct args *args, struct outcome *ret)
{
	const struct timespec omit[2] = {{0, UTIME_NOW}, {7, UTIME_OMIT}};
	int flags = args->chance[1] % 2 ? AT_SYMLINK_NOFOLLOW : 0;

	tell(side, "utimensat '%s' flags 0x%x", args->path, flags);
	outcome_of(ret,
		   utimensat(side->root, args->path, args->chance[0] % 2 ? omit : NULL, flags));
}

static void truncate_change(struct side *side, const struct args *args, struct outcome *ret)
{
	off_t size = (off_t)(args->chance[0] % 10000) - 5;
	char path[PATH_ROOM];

	tell(side, "truncate '%s' to %lld", args->path, (long long)size);
	full_path(side, args, path);
	outcome_of(ret, truncate(path, size));
}

static void xattr_change(struct side *side, const struct args *args, struct outcome *ret)
{
	static const char *const attributes[] = {"user.model", "user.foldfs.stats", "trusted.new",
						 "security.new", "system.posix_acl_access"};
	const char *name = attributes[args->chance[1] % LENGTH(attributes)];
	bool set = args->chance[0] % 2;
	char path[PATH_ROOM];

	tell(side, "%sxattr '%s' %s", set ? "set" : "remove", args->path, name);
	full_path(side, args, path);
	outcome_of(ret, set ? lsetxattr(path, name, "value", 5, 0) : lremovexattr(path, name));
}

/* Those whose file descriptor is not open for writing fail before the filesystem is asked. */
static int64_t change_by_descriptor(int fd, const struct args *args, int sink)
{
	switch (args->chance[0] % 10) {
	case 0:
		return write(fd, "new", 3);
	case 1:
		return pwrite(fd, "new", 3, 100);
	case 2:
		return ftruncate(fd, 0);
	case 3:
		return fallocate(fd, args->chance[1] % 4, 0, 4096);
	case 4:
		return fchmod(fd, 0777);
	case 5:
		return fchown(fd, 0, 0);
	case 6:
		return futimens(fd, NULL);
	case 7:
		return fsetxattr(fd, "user.new", "value", 5, 0);
	case 8:
		return copy_file_range(sink, &(off_t){0}, fd, &(off_t){0}, 100, 0);
	default:
		return sendfile(fd, sink, &(off_t){0}, 100);
	}
}

static void descriptor_change(struct side *side, const struct args *args, struct outcome *ret)
{
	int fd = slot_file(side, args, ret);

	if (fd < 0)
		return;
	tell(side, "slot %u: change %d through the descriptor", args->slot,
	     (int)(args->chance[0] % 10));
	if (ftruncate(side->sink, 4096) < 0)
		outcome_of(ret, -1);
	else
		outcome_of(ret, change_by_descriptor(fd, args, side->sink));
}

static void map_change(struct side *side, const struct args *args, struct outcome *ret)
{
	int fd = slot_file(side, args, ret);
	void *map;

	if (fd < 0)
		return;
	tell(side, "slot %u: mmap for writing", args->slot);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (outcome_of(ret, map == MAP_FAILED ? -1 : 0))
		munmap(map, 4096);
}

const struct operation change_operations[] = {
	{"mkdir", mkdir_change, 2},   {"mknod", mknod_change, 2},
	{"unlink", unlink_change, 2}, {"rename", rename_change, 2},
	{"link", link_change, 2},     {"symlink", symlink_change, 2},
	{"chmod", chmod_change, 2},   {"chown", chown_change, 2},
	{"utimes", utimes_change, 2}, {"truncate", truncate_change, 2},
	{"xattr", xattr_change, 2},   {"change", descriptor_change, 4},
	{"map", map_change, 1},	      {0},
};
