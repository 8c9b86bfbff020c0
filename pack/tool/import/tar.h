/* The entries of a tar, from a file or a pipe: read once, from front to back.
 *
 *	tar_new -> tar_next -> tar_read (the bytes of a file) -> tar_next -> ... -> tar_free
 *
 * The tar may be ustar, pax, GNU or old; plain, or compressed by gzip, bzip2, xz, zstd or lz4; or
 * several tars one after the other. A member that is a tar, compressed or not, and is named as one,
 * is read as a folder with that name without the suffix: n01440764.tar in ILSVRC's train.tar
 * becomes n01440764/. So are tars inside it, up to TAR_DEPTH levels.
 *
 * Members come in the order of the tar. A path may come several times, a folder may not come at
 * all, and a hard link may name a file that is not there.
 *
 * Memory: a few blocks of 256 KiB and what decompressing takes, whatever the tar says. To find out
 * whether a member is a tar takes up to 8 MiB for a moment; TAR_LOOK takes up to TAR_LOOK_MAX. One
 * thread. */
#ifndef PACK_TOOL_IMPORT_TAR_H
#define PACK_TOOL_IMPORT_TAR_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define TAR_DEPTH    3
#define TAR_LOOK_MAX ((size_t)256 << 20)
#define TAR_PATH_MAX 8191 /* bytes: twice a system call's limit, FORMAT_DEPTH_MAX folders */

struct tar;

enum tar_kind {
	TAR_DIRECTORY,
	TAR_FILE,
	TAR_SYMLINK,
	TAR_HARDLINK,
	TAR_SPECIAL, /* a device and its like */
	TAR_UNFIT,   /* no pack can hold it */
};

struct tar_entry {
	enum tar_kind kind;
	/* From the root, which is "", without empty, "." and ".." components; each has at most 255
	 * bytes, all together TAR_PATH_MAX. For TAR_SPECIAL and TAR_UNFIT it is as in the tar. */
	const char *path;
	/* TAR_SYMLINK: as in the tar, not empty. TAR_HARDLINK: the clean path of the file that this
	 * is another name of. TAR_SPECIAL, TAR_UNFIT: what it is or has, such as "a named pipe" and
	 * "a path with '..'". */
	const char *target;
	mode_t mode; /* permission bits */
	struct timespec mtime;
	uint64_t size;	/* of TAR_FILE, bytes */
	uint64_t holes; /* zeros of a sparse file that take no space in the tar; a few hundred bytes
			   of tar can hold 8 EiB of them */
	/* TAR_DIRECTORY: stands in place of a tar, with its time and mode 0755. A folder that is
	 * already there stays as it is. */
	bool implied;
};

/* "libarchive 3.6.2": the library that reads tars. */
const char *tar_library(void);

enum tar_mode {
	TAR_NESTED, /* tars in it are folders */
	TAR_FLAT,   /* they are files */
	TAR_LOOK,   /* the same; it may be read from its beginning again, by tar_restart(). Up to
		       TAR_LOOK_MAX of it are kept until then: what takes more fails with -EFBIG */
	TAR_ZIP,    /* it is a zip, in a file that can be sought in */
};

/* Reads as far as to know whether it is a tar. `fd` is borrowed, and read from its position on, in
 * large blocks. 0; -EINVAL (no tar, or a compression that is not known); -EACCES (a zip that is
 * encrypted); else as tar_next(). */
int tar_new(int fd, enum tar_mode mode, struct tar **ret, struct err *err);
/* Begins again at the first entry, as TAR_NESTED if `nested`, else as TAR_FLAT. As tar_new(). */
int tar_restart(struct tar *tar, bool nested, struct err *err);
void tar_free(struct tar *tar); /* NULL is fine */

/* The next entry; strings live until the next call. Returns 0; 1 at the end; -EBADMSG (damaged or
 * cut off: err says after which path); -ENOTSUP (libarchive needs a program to decompress it, and
 * cannot run that: err says which); -ENOMEM; -EINTR (a signal asked foldpack to stop); or what
 * reading fd returned. After a failure every call returns the same. */
int tar_next(struct tar *tar, struct tar_entry *ret, struct err *err);

/* Fills buf with the next len bytes of the current file, which has that many. Errors as tar_next().
 * What is not read is skipped. */
int tar_read(struct tar *tar, void *buf, size_t len, struct err *err);

/* Bytes read from fd so far. */
uint64_t tar_position(const struct tar *tar);

#endif
