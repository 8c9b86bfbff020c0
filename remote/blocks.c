#include "remote/blocks.h"
#include "base/io.h"
#include "base/math.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>

#define MAGIC	   "foldfs copy 1\n"
#define MAP_OFFSET READER_PAGE /* where the notes begin in the map */
#define LOOK_BYTES 512	       /* of the map, in one read */
#define SECTOR	   512	       /* st_blocks counts these */

struct header {
	char magic[16];
	uint64_t size;	  /* of the pack */
	uint8_t complete; /* all pages are there */
};

struct blocks {
	struct reader *reader; /* of `data` */
	int fd;		       /* of `data`, for writes past the page cache */
	int buffered_fd;
	int map;
	uint64_t size;
	atomic_bool no_direct; /* the filesystem refuses direct writes */
	atomic_bool complete;
};

static uint64_t pages_up(uint64_t bytes)
{
	return (bytes + READER_PAGE - 1) / READER_PAGE;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* In a shared folder, others can lay anything under these names: also what they could not write to
 * themselves, as a link. */
static int open_plain(int folder, const char *name, int flags)
{
	SCOPE_CLOSE int fd = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1))
		return steal_fd(&fd);
	errno = EPERM;
	return -1;
}

static int open_block_file(int folder, const char *name, mode_t mode)
{
	int fd = io_create(folder, name, O_RDWR, mode);

	if (fd >= 0)
		return io_set_mode(fd, mode) == 0 ? fd : (close(fd), -1);
	if (fd == -EEXIST)
		return open_plain(folder, name, O_RDWR);
	errno = -fd;
	return -1;
}

static uint64_t file_size(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static bool read_blocks_header(int map, struct header *ret)
{
	return io_pread_full(map, ret, sizeof(*ret), 0) == 0 &&
	       memcmp(ret->magic, MAGIC, sizeof(MAGIC)) == 0;
}

static bool is_whole(struct blocks *blocks)
{
	struct header header;

	if (!read_blocks_header(blocks->map, &header) || header.size != blocks->size ||
	    file_size(blocks->buffered_fd) != blocks->size ||
	    file_size(blocks->map) != MAP_OFFSET + pages_up(blocks->size))
		return false;
	atomic_store(&blocks->complete, header.complete == 1);
	return true;
}

/* The header comes last: a process that is killed before leaves nothing that looks whole. */
static int make_empty(const struct blocks *blocks)
{
	const struct header header = {.magic = MAGIC, .size = blocks->size};

	if (ftruncate(blocks->map, 0) < 0 || ftruncate(blocks->buffered_fd, 0) < 0 ||
	    ftruncate(blocks->buffered_fd, (off_t)blocks->size) < 0 ||
	    ftruncate(blocks->map, (off_t)(MAP_OFFSET + pages_up(blocks->size))) < 0)
		return -errno;
	return io_pwrite_full(blocks->map, &header, sizeof(header), 0);
}

/* Returns 0; -EBUSY: others use it; or -errno: there are no locks. */
static int lock_data(int fd, int how)
{
	if (flock(fd, how | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK ? -EBUSY : -errno;
}

static int take_lock(struct blocks *blocks)
{
	int fd = blocks->buffered_fd;
	int r;

	if (is_whole(blocks))
		return lock_data(fd, LOCK_SH);
	r = lock_data(fd, LOCK_EX);
	if (r < 0)
		return r;
	r = make_empty(blocks);
	return r == 0 && flock(fd, LOCK_SH) < 0 ? -errno : r;
}

static int open_blocks(struct blocks *blocks, int folder, mode_t mode)
{
	blocks->buffered_fd = open_block_file(folder, "data", mode);
	if (blocks->buffered_fd < 0)
		return -errno;
	blocks->map = open_block_file(folder, "map", mode);
	if (blocks->map < 0)
		return -errno;
	blocks->fd = io_open_again(blocks->buffered_fd, O_WRONLY | O_DIRECT);
	atomic_store(&blocks->no_direct, blocks->fd < 0);
	return take_lock(blocks);
}

int blocks_open(int folder, uint64_t size, mode_t mode, struct blocks **ret)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));
	int r;

	if (!blocks)
		return -ENOMEM;
	blocks->size = size;
	blocks->fd = blocks->buffered_fd = blocks->map = -1;
	r = open_blocks(blocks, folder, mode);
	if (r == 0)
		r = reader_file_borrow(blocks->buffered_fd, &blocks->reader);
	if (r < 0) {
		blocks_free(blocks);
		return r;
	}
	*ret = blocks;
	return 0;
}

void blocks_free(struct blocks *blocks)
{
	if (!blocks)
		return;
	reader_free(blocks->reader);
	scope_close(&blocks->fd);
	scope_close(&blocks->buffered_fd);
	scope_close(&blocks->map);
	free(blocks);
}

int blocks_open_complete(int folder, struct reader **ret)
{
	SCOPE_CLOSE int map = open_plain(folder, "map", O_RDONLY);
	SCOPE_CLOSE int data = open_plain(folder, "data", O_RDONLY);
	SCOPE(reader_release) struct reader *reader = NULL;
	struct header header;
	int r;

	if (data < 0 || !read_blocks_header(map, &header) || header.complete != 1)
		return -ENOENT;
	r = reader_file_open_again(data, &reader);
	if (r < 0)
		return r;
	if (file_size(reader_file_fd(reader)) != header.size ||
	    flock(reader_file_fd(reader), LOCK_SH | LOCK_NB) < 0)
		return -ENOENT;
	*ret = steal_ptr(&reader);
	return 0;
}

struct reader *blocks_reader(const struct blocks *blocks)
{
	return blocks->reader;
}

/* --- pages ------------------------------------------------------------------------------------ */

/* How many of `count` notes, from the first on, are equal. */
static size_t alike(const uint8_t *notes, size_t count)
{
	size_t i = 1;

	while (i < count && (notes[i] == 1) == (notes[0] == 1))
		i++;
	return i;
}

/* If the map cannot be read, nothing is there. */
bool blocks_look(const struct blocks *blocks, uint64_t offset, uint64_t end, uint64_t *ret_end)
{
	uint8_t notes[LOOK_BYTES];
	uint64_t at = offset;
	bool first = false;

	while (at < end) {
		size_t count = min((end - at) / READER_PAGE, LOOK_BYTES);
		size_t same;

		if (io_pread_full(blocks->map, notes, count, MAP_OFFSET + at / READER_PAGE) < 0)
			memset(notes, 0, count);
		if (at == offset)
			first = notes[0] == 1;
		same = (notes[0] == 1) == first ? alike(notes, count) : 0;
		at += same * READER_PAGE;
		if (same < count)
			break;
	}
	*ret_end = at;
	return first;
}

static int note(const struct blocks *blocks, uint64_t offset, uint64_t len, uint8_t value)
{
	uint64_t first = offset / READER_PAGE, end = pages_up(offset + len);
	uint8_t notes[LOOK_BYTES];
	int r = 0;

	memset(notes, value, sizeof(notes));
	while (r == 0 && first < end) {
		size_t count = min(end - first, LOOK_BYTES);

		r = io_pwrite_full(blocks->map, notes, count, MAP_OFFSET + first);
		first += count;
	}
	return r;
}

static int write_direct(struct blocks *blocks, const char *buf, size_t len, uint64_t offset)
{
	int r = -EINVAL;

	if (!atomic_load_explicit(&blocks->no_direct, memory_order_relaxed))
		r = io_pwrite_full(blocks->fd, buf, len, offset);
	if (r != -EINVAL)
		return r;
	atomic_store_explicit(&blocks->no_direct, true, memory_order_relaxed);
	return io_pwrite_full(blocks->buffered_fd, buf, len, offset);
}

int blocks_write(struct blocks *blocks, const void *buf, size_t len, uint64_t offset)
{
	size_t whole = len - len % READER_PAGE;
	int r = write_direct(blocks, buf, whole, offset);

	if (r == 0 && whole < len)
		r = io_pwrite_full(blocks->buffered_fd, (const char *)buf + whole, len - whole,
				   offset + whole);
	return r < 0 ? r : note(blocks, offset, len, 1);
}

/* Returns what was noted before. */
static bool note_complete(struct blocks *blocks, uint8_t complete)
{
	bool before = atomic_exchange(&blocks->complete, complete);

	io_pwrite_full(blocks->map, &complete, 1, offsetof(struct header, complete));
	return before;
}

/* If this fails, the next reader of the page finds the damage again. */
bool blocks_forget(struct blocks *blocks, uint64_t offset, uint64_t len)
{
	note(blocks, offset, len, 0);
	return note_complete(blocks, 0);
}

bool blocks_complete(const struct blocks *blocks)
{
	return atomic_load_explicit(&blocks->complete, memory_order_relaxed);
}

bool blocks_noted_complete(const struct blocks *blocks)
{
	struct header header;

	return read_blocks_header(blocks->map, &header) && header.complete == 1;
}

bool blocks_see_complete(struct blocks *blocks)
{
	atomic_store(&blocks->complete, blocks_noted_complete(blocks));
	return blocks_complete(blocks);
}

void blocks_set_complete(struct blocks *blocks)
{
	note_complete(blocks, 1);
}

int blocks_map(const struct blocks *blocks)
{
	return blocks->map;
}

int blocks_open_map(const struct blocks *blocks)
{
	return io_open_again(blocks->map, O_RDWR);
}

static bool lock_filling(struct blocks *blocks, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};

	return fcntl(blocks->map, F_OFD_SETLK, &lock) == 0;
}

bool blocks_may_fill(struct blocks *blocks)
{
	return lock_filling(blocks, F_WRLCK);
}

void blocks_give_up_filling(struct blocks *blocks)
{
	lock_filling(blocks, F_UNLCK);
}

uint64_t blocks_size(const struct blocks *blocks)
{
	return blocks->size;
}

uint64_t blocks_number(const struct blocks *blocks)
{
	struct stat st;

	return fstat(blocks->buffered_fd, &st) == 0 ? st.st_ino : 0;
}

uint64_t blocks_used(const struct blocks *blocks)
{
	struct stat st;

	return fstat(blocks->buffered_fd, &st) == 0 ? (uint64_t)st.st_blocks * SECTOR : 0;
}
