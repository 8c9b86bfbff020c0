/* What an operation gave, and the open files of a thread. */
#include "tests/model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool outcome_of(struct outcome *ret, int64_t result)
{
	ret->error = result < 0 ? errno : 0;
	ret->result = result;
	return result >= 0;
}

void outcome_add(struct outcome *ret, const void *bytes, size_t len)
{
	if (len > MODEL_BYTES - ret->len)
		len = MODEL_BYTES - ret->len;
	memcpy(ret->bytes + ret->len, bytes, len);
	ret->len += len;
}

/* Not the device, the inode number, st_atime, st_ctime, st_blksize and st_blocks, and not the size
 * of a folder: no two filesystems have the same. */
void outcome_stat(struct outcome *ret, const struct stat *st)
{
	const int64_t same[] = {
		st->st_mode,
		(int64_t)st->st_nlink,
		st->st_uid,
		st->st_gid,
		S_ISDIR(st->st_mode) ? 0 : st->st_size,
		st->st_mtim.tv_sec,
		st->st_mtim.tv_nsec,
	};

	outcome_add(ret, same, sizeof(same));
}

void tell(const struct side *side, const char *format, ...)
{
	va_list args;

	if (!side->speaks)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void full_path(const struct side *side, const struct args *args, char ret[static PATH_ROOM])
{
	snprintf(ret, PATH_ROOM, "/proc/self/fd/%d/%s", side->root, args->path);
}

void slot_put(struct side *side, unsigned slot, int fd)
{
	if (side->slots[slot] >= 0)
		close(side->slots[slot]);
	side->slots[slot] = fd;
}

int slot_file(struct side *side, const struct args *args, struct outcome *ret)
{
	int direct = args->chance[5] % 4 == 0 ? O_DIRECT : 0;
	int fd = side->slots[args->slot];

	if (fd < 0) {
		tell(side, "slot %u: open%s '%s'", args->slot, direct ? " with O_DIRECT" : "",
		     args->path);
		fd = openat(side->root, args->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | direct);
		outcome_of(ret, fd < 0 ? -1 : 0);
		side->slots[args->slot] = fd;
	}
	return fd;
}
