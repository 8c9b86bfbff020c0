/* Operations on open files that read. */
#include "tests/model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#define LENGTH(list) (sizeof(list) / sizeof(*(list)))

enum { PAGE = 4096, EXTENT = 1 << 20, READ_MAX = 2 << 20 };

static uint64_t size_of_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* Anywhere in the file, at its edges, at those of pages and extents, or beyond the end. */
static off_t some_offset(int fd, const struct args *args)
{
	uint64_t size = size_of_file(fd), near = args->chance[1] % (size + 1);

	switch (args->chance[0] % 8) {
	case 0:
		return 0;
	case 1:
		return (off_t)(size + args->chance[1] % 3) - 1;
	case 2:
		return (off_t)(near - near % PAGE);
	case 3:
		return (off_t)(near - near % EXTENT + args->chance[2] % 3) - 1;
	case 4:
		return args->chance[1] % 8 ? (off_t)(size + args->chance[1] % EXTENT) : INT64_MAX;
	default:
		return (off_t)near;
	}
}

static size_t some_length(const struct args *args)
{
	static const size_t lengths[] = {0,	  1,	     511,	 PAGE,	 PAGE + 1,
					 65536,	  128 << 10, EXTENT - 1, EXTENT, EXTENT + PAGE,
					 READ_MAX};

	return args->chance[3] % 2 ? args->chance[4] % (64 << 10)
				   : lengths[args->chance[4] % LENGTH(lengths)];
}

static void read_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	size_t len = some_length(args);
	int fd = slot_file(side, args, ret);

	if (fd < 0)
		return;
	tell(side, "slot %u: read %zu", args->slot, len);
	if (outcome_of(ret, read(fd, ret->bytes, len)))
		ret->len = (size_t)ret->result;
}

static void pread_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	size_t len = some_length(args);
	int fd = slot_file(side, args, ret);
	off_t at = some_offset(fd, args);

	if (fd < 0)
		return;
	tell(side, "slot %u: pread %zu at %lld", args->slot, len, (long long)at);
	if (outcome_of(ret, pread(fd, ret->bytes, len, at)))
		ret->len = (size_t)ret->result;
}

static void preadv_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	size_t len = some_length(args), first = len / (1 + args->chance[5] % 3);
	const struct iovec iov[] = {{ret->bytes, first}, {ret->bytes + first, len - first}};
	int fd = slot_file(side, args, ret);
	off_t at = some_offset(fd, args);

	if (fd < 0)
		return;
	tell(side, "slot %u: preadv %zu + %zu at %lld", args->slot, first, len - first,
	     (long long)at);
	if (outcome_of(ret, preadv(fd, iov, 2, at)))
		ret->len = (size_t)ret->result;
}

/* Where a folder's own places lead is up to the filesystem. */
static void lseek_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	static const int whences[] = {SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE, 77};
	int whence = whences[args->chance[3] % LENGTH(whences)];
	int fd = slot_file(side, args, ret);
	off_t at = some_offset(fd, args);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
		return;
	if (args->chance[4] % 4 == 0)
		at = -at;
	tell(side, "slot %u: lseek %lld whence %d", args->slot, (long long)at, whence);
	outcome_of(ret, lseek(fd, at, whence));
}

/* Only pages that are within the file: a look at others ends the process. */
static void mmap_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	size_t len = some_length(args) + 1;
	int kind = args->chance[2] % 2 ? MAP_PRIVATE : MAP_SHARED;
	int fd = slot_file(side, args, ret);
	off_t at = some_offset(fd, args) & ~(off_t)(PAGE - 1);
	uint64_t end = (size_of_file(fd) + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	void *map;

	if (fd < 0)
		return;
	tell(side, "slot %u: mmap %zu at %lld", args->slot, len, (long long)at);
	map = mmap(NULL, len, PROT_READ, kind, fd, at);
	if (!outcome_of(ret, map == MAP_FAILED ? -1 : 0))
		return;
	if ((uint64_t)at < end)
		outcome_add(ret, map, len < end - (uint64_t)at ? len : end - (uint64_t)at);
	munmap(map, len);
}

static void sendfile_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	size_t len = some_length(args);
	int fd = slot_file(side, args, ret);
	off_t at = some_offset(fd, args);
	ssize_t sent;

	if (fd < 0)
		return;
	tell(side, "slot %u: sendfile %zu at %lld", args->slot, len, (long long)at);
	(void)lseek(side->sink, 0, SEEK_SET);
	sent = sendfile(side->sink, fd, &at, len);
	if (outcome_of(ret, sent) && pread(side->sink, ret->bytes, (size_t)sent, 0) == sent)
		ret->len = (size_t)sent;
}

/* What one call gives is up to the filesystem; each gives something up to the end. */
static void splice_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	size_t len = args->chance[4] % (64 << 10);
	int fd = slot_file(side, args, ret), ends[2];
	off_t at = some_offset(fd, args);
	ssize_t moved = 0;

	if (fd < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return;
	tell(side, "slot %u: splice %zu at %lld", args->slot, len, (long long)at);
	do {
		if (!outcome_of(ret, splice(fd, &at, ends[1], NULL, len - ret->len, 0)))
			break;
		moved = read(ends[0], ret->bytes + ret->len, ret->result ? READ_MAX : 0);
		ret->len += moved > 0 ? (size_t)moved : 0;
	} while (moved > 0 && ret->len < len);
	if (ret->error == 0)
		ret->result = (int64_t)ret->len;
	close(ends[0]);
	close(ends[1]);
}

static void fstat_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	int fd = slot_file(side, args, ret);
	struct stat st;

	if (fd < 0)
		return;
	tell(side, "slot %u: fstat", args->slot);
	if (outcome_of(ret, fstat(fd, &st)))
		outcome_stat(ret, &st);
}

/* POSIX_FADV_DONTNEED drops what the kernel has, so that the daemon is asked again. */
static void advise_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	static const int advices[] = {
		POSIX_FADV_DONTNEED, POSIX_FADV_DONTNEED, POSIX_FADV_DONTNEED,
		POSIX_FADV_WILLNEED, POSIX_FADV_RANDOM,	  POSIX_FADV_SEQUENTIAL,
		POSIX_FADV_NORMAL,   POSIX_FADV_NOREUSE,  77};
	int advice = advices[args->chance[2] % LENGTH(advices)];
	int fd = slot_file(side, args, ret);

	if (fd < 0)
		return;
	tell(side, "slot %u: posix_fadvise %d", args->slot, advice);
	ret->error = posix_fadvise(fd, 0, 0, advice);
}

static void sync_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	int fd = slot_file(side, args, ret);

	if (fd < 0)
		return;
	tell(side, "slot %u: %s", args->slot, args->chance[0] % 2 ? "fsync" : "fdatasync");
	outcome_of(ret, args->chance[0] % 2 ? fsync(fd) : fdatasync(fd));
}

/* Locks that other threads' locks do not keep out. */
static void lock_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	struct flock lock = {.l_type = args->chance[1] % 3 ? F_RDLCK : F_WRLCK, .l_len = 10};
	int fd = slot_file(side, args, ret);

	if (fd < 0)
		return;
	tell(side, "slot %u: lock %s", args->slot, args->chance[0] % 2 ? "flock" : "fcntl");
	if (args->chance[0] % 2)
		outcome_of(ret, flock(fd, (args->chance[1] % 2 ? LOCK_SH : LOCK_UN) | LOCK_NB));
	else
		outcome_of(ret, fcntl(fd, F_SETLK, &lock));
}

static void ioctl_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	static const unsigned long commands[] = {FIONREAD, TIOCGWINSZ, FIONCLEX, 0xfeed};
	unsigned long command = commands[args->chance[0] % LENGTH(commands)];
	int fd = slot_file(side, args, ret), answer = 0;

	if (fd < 0)
		return;
	tell(side, "slot %u: ioctl 0x%lx", args->slot, command);
	if (outcome_of(ret, ioctl(fd, command, &answer)) && size_of_file(fd) > 0)
		outcome_add(ret, &answer, sizeof(answer));
}

static void close_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	(void)ret;
	tell(side, "slot %u: close", args->slot);
	slot_put(side, args->slot, -1);
}

const struct operation file_operations[] = {
	{"read", read_operation, 10},	  {"pread", pread_operation, 16},
	{"preadv", preadv_operation, 4},  {"lseek", lseek_operation, 6},
	{"mmap", mmap_operation, 6},	  {"sendfile", sendfile_operation, 4},
	{"splice", splice_operation, 2},  {"fstat", fstat_operation, 4},
	{"fadvise", advise_operation, 6}, {"fsync", sync_operation, 1},
	{"lock", lock_operation, 2},	  {"ioctl", ioctl_operation, 2},
	{"close", close_operation, 10},	  {0},
};
