#include "remote/blocks.h"
#include "base/bits.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/math.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include <fcntl.h>
#include <string.h>

#define NAME "data"
/* Bytes that no file has, for locks. */
#define LOCK_OPEN ((uint64_t)INT64_MAX - 2) /* whoever has it open shares this one */
#define LOCK_FILL ((uint64_t)INT64_MAX - 1)
#define SECTOR	  512 /* st_blocks counts these */
#define GAP	  8   /* pages that are there cost less to fetch again than another request does */

struct blocks {
	struct reader *reader; /* of `data` */
	int fd;
	int direct; /* for writes past the page cache */
	uint64_t size, pages;
	atomic_bool no_direct; /* the filesystem refuses direct writes */
	atomic_bool shared;    /* others have had it open, too */
	atomic_bool complete;
	atomic_uint forgotten; /* how often some pages were; changes with the lock held */
	pthread_mutex_t lock;
	/* Protected by lock: */
	uint8_t *missing; /* a bit for each page */
	uint64_t left;	  /* pages that are missing */
};

static int set_lock(int fd, short type, uint64_t begin, uint64_t len)
{
	struct flock lock = {
		.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)begin, .l_len = (off_t)len};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : -errno;
}

/* Whether it is open elsewhere. */
static bool is_locked(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = (off_t)LOCK_OPEN, .l_len = 1};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* --- what is there ---------------------------------------------------------------------------- */

static size_t map_bytes(const struct blocks *blocks)
{
	return (blocks->pages / 64 + 1) * sizeof(uint64_t);
}

/* Notes that whole pages are there, unless some were forgotten since. */
static void note(struct blocks *blocks, uint64_t begin, uint64_t end, unsigned forgotten)
{
	SCOPE_LOCK(&blocks->lock);
	if (forgotten != atomic_load(&blocks->forgotten))
		return;
	if (begin == 0 && end >= blocks->size) {
		memset(blocks->missing, 0, map_bytes(blocks));
		blocks->left = 0;
	}
	for (uint64_t at = begin / READER_PAGE; blocks->left && at < end / READER_PAGE; at++) {
		blocks->left -= bit_get(blocks->missing, at);
		bit_clear(blocks->missing, at);
	}
	atomic_store(&blocks->complete, blocks->left == 0);
}

/* Where the next data, or hole, begins. The file ends with a hole. */
static uint64_t seek(const struct blocks *blocks, uint64_t at, int what)
{
	off_t found = lseek(blocks->fd, (off_t)at, what);

	return found < 0 ? blocks->size : min((uint64_t)found, blocks->size);
}

static void look_at(struct blocks *blocks, uint64_t begin, uint64_t end)
{
	while ((begin = seek(blocks, begin, SEEK_DATA)) < min(end, blocks->size)) {
		uint64_t hole = seek(blocks, begin, SEEK_HOLE);

		note(blocks, pages_end(begin), hole == blocks->size ? pages_end(hole) : hole, 0);
		begin = max(hole, begin + 1);
	}
}

static bool look_for_others(struct blocks *blocks)
{
	if (!atomic_load(&blocks->shared) && is_locked(blocks->fd))
		atomic_store(&blocks->shared, true);
	return atomic_load(&blocks->shared);
}

bool blocks_see_complete(struct blocks *blocks)
{
	if (!blocks_complete(blocks) && look_for_others(blocks) &&
	    seek(blocks, 0, SEEK_HOLE) == blocks->size)
		note(blocks, 0, pages_end(blocks->size), 0);
	return blocks_complete(blocks);
}

/* Called with the lock held. */
static uint64_t next_missing(const struct blocks *blocks, uint64_t page)
{
	return min(bits_next(blocks->missing, page, blocks->pages), blocks->pages);
}

bool blocks_has(struct blocks *blocks, uint64_t begin, uint64_t end)
{
	if (blocks_complete(blocks))
		return true;
	SCOPE_LOCK(&blocks->lock);
	return next_missing(blocks, begin / READER_PAGE) * READER_PAGE >= end;
}

bool blocks_find_missing(struct blocks *blocks, uint64_t at, uint64_t most, uint64_t *ret_begin,
			 uint64_t *ret_end)
{
	uint64_t first, end, next;

	if (atomic_load(&blocks->shared))
		look_at(blocks, at, at + most);
	SCOPE_LOCK(&blocks->lock);
	first = next_missing(blocks, at / READER_PAGE);
	if (first == blocks->pages)
		return false;
	end = first;
	while ((next = next_missing(blocks, end)) < end + GAP &&
	       next < first + most / READER_PAGE && next < blocks->pages)
		end = next + 1;
	*ret_begin = first * READER_PAGE;
	*ret_end = end * READER_PAGE;
	return true;
}

unsigned blocks_divide(struct blocks *blocks, uint64_t at, uint64_t end, uint64_t *ends,
		       unsigned most)
{
	uint64_t begin, until;
	unsigned count = 0;

	while (at < end && count + 2 < most &&
	       blocks_find_missing(blocks, at, end - at, &begin, &until) && begin < end) {
		if (begin > at)
			ends[count++] = begin;
		ends[count++] = at = min(until, end);
	}
	if (at < end)
		ends[count++] = end;
	return count;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* In a shared folder, others can lay anything under these names: also what they could not write to
 * themselves, as a link. */
static int open_plain(int folder, int flags)
{
	SCOPE_CLOSE int fd = openat(folder, NAME, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1)
		return -EPERM;
	return steal_fd(&fd);
}

static int open_blocks(struct blocks *blocks, int folder, mode_t mode)
{
	struct stat st;
	int r;

	blocks->fd = io_create(folder, NAME, O_RDWR, mode);
	if (blocks->fd == -EEXIST)
		blocks->fd = open_plain(folder, O_RDWR);
	else if (blocks->fd >= 0 && io_set_mode(blocks->fd, mode) < 0)
		return -errno;
	if (blocks->fd < 0)
		return blocks->fd;
	r = set_lock(blocks->fd, F_RDLCK, LOCK_OPEN, 1);
	if (r < 0)
		return r;
	if (fstat(blocks->fd, &st) < 0)
		return -errno;
	if (st.st_nlink == 0)
		return -ENOENT;
	if ((uint64_t)st.st_size != blocks->size && ftruncate(blocks->fd, (off_t)blocks->size) < 0)
		return -errno;
	blocks->direct = io_open_again(blocks->fd, O_WRONLY | O_DIRECT);
	atomic_store(&blocks->no_direct, blocks->direct < 0);
	return limits_is_spare(blocks->direct < 0 ? blocks->fd : blocks->direct) ? -EMFILE : 0;
}

int blocks_open(int folder, uint64_t size, mode_t mode, struct blocks **ret)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));
	int r;

	if (!blocks)
		return -ENOMEM;
	pthread_mutex_init(&blocks->lock, NULL);
	blocks->size = size;
	blocks->pages = blocks->left = pages_end(size) / READER_PAGE;
	blocks->direct = -1;
	r = open_blocks(blocks, folder, mode);
	if (r == 0)
		r = reader_file_borrow(blocks->fd, &blocks->reader);
	if (r == 0)
		blocks->missing = malloc(map_bytes(blocks));
	if (r < 0 || !blocks->missing) {
		blocks_free(blocks);
		return r < 0 ? r : -ENOMEM;
	}
	memset(blocks->missing, 0xff, map_bytes(blocks));
	look_at(blocks, 0, blocks->size);
	*ret = blocks;
	return 0;
}

void blocks_free(struct blocks *blocks)
{
	if (!blocks)
		return;
	reader_free(blocks->reader);
	scope_close(&blocks->direct);
	scope_close(&blocks->fd);
	pthread_mutex_destroy(&blocks->lock);
	free(blocks->missing);
	free(blocks);
}

int blocks_open_complete(int folder, struct reader **ret)
{
	SCOPE_CLOSE int data = open_plain(folder, O_RDONLY);
	SCOPE(reader_release) struct reader *reader = NULL;
	struct stat st;
	int fd, r = data < 0 ? data : reader_file_open_again(data, &reader);

	if (r < 0)
		return r;
	fd = reader_file_fd(reader);
	if (set_lock(fd, F_RDLCK, LOCK_OPEN, 1) < 0 || fstat(fd, &st) < 0 || st.st_size == 0 ||
	    lseek(fd, 0, SEEK_HOLE) != st.st_size)
		return -ENOENT;
	*ret = steal_ptr(&reader);
	return 0;
}

bool blocks_in_use(int folder)
{
	SCOPE_CLOSE int fd = open_plain(folder, O_RDONLY);

	return fd >= 0 && is_locked(fd);
}

bool blocks_hides_holes(int folder)
{
	static const char page[READER_PAGE] = "page";
	SCOPE_CLOSE int fd = -1;
	char name[32];

	snprintf(name, sizeof(name), ".holes-%d", getpid());
	unlinkat(folder, name, 0);
	fd = io_create(folder, name, O_RDWR, 0600);
	unlinkat(folder, name, 0);
	return fd >= 0 && ftruncate(fd, (off_t)3 * READER_PAGE) == 0 &&
	       io_pwrite_full(fd, page, READER_PAGE, READER_PAGE) == 0 &&
	       (lseek(fd, 0, SEEK_DATA) != READER_PAGE ||
		lseek(fd, READER_PAGE, SEEK_HOLE) != (off_t)2 * READER_PAGE);
}

struct reader *blocks_reader(const struct blocks *blocks)
{
	return blocks->reader;
}

/* --- changing --------------------------------------------------------------------------------- */

/* The look comes last: whoever had taken the pages wrote them before leaving them. */
enum blocks_taken blocks_take(struct blocks *blocks, uint64_t begin, uint64_t end)
{
	int r;

	if (blocks_has(blocks, begin, end))
		return BLOCKS_THERE;
	r = set_lock(blocks->fd, F_WRLCK, begin, end - begin);
	if (look_for_others(blocks)) {
		look_at(blocks, begin, end);
		if (blocks_has(blocks, begin, end)) {
			if (r == 0)
				blocks_leave(blocks, begin, end);
			return BLOCKS_THERE;
		}
	}
	return r == -EAGAIN || r == -EACCES ? BLOCKS_BUSY : BLOCKS_TAKEN;
}

void blocks_leave(struct blocks *blocks, uint64_t begin, uint64_t end)
{
	set_lock(blocks->fd, F_UNLCK, begin, end - begin);
}

int blocks_write(struct blocks *blocks, const void *buf, size_t len, uint64_t offset)
{
	unsigned forgotten = atomic_load(&blocks->forgotten);
	size_t whole = len - len % READER_PAGE;
	int r = -EINVAL;

	if (!atomic_load(&blocks->no_direct))
		r = io_pwrite_full(blocks->direct, buf, whole, offset);
	if (r == -EINVAL) {
		atomic_store(&blocks->no_direct, true);
		r = io_pwrite_full(blocks->fd, buf, whole, offset);
	}
	if (r == 0 && whole < len)
		r = io_pwrite_full(blocks->fd, (const char *)buf + whole, len - whole,
				   offset + whole);
	if (r == 0)
		note(blocks, offset, pages_end(offset + len), forgotten);
	return r;
}

/* From now on the file is not believed: it has these pages until they are written again. */
bool blocks_forget(struct blocks *blocks, uint64_t offset, uint64_t len)
{
	uint64_t end = min(pages_end(offset + len) / READER_PAGE, blocks->pages);

	SCOPE_LOCK(&blocks->lock);
	atomic_fetch_add(&blocks->forgotten, 1);
	for (uint64_t at = offset / READER_PAGE; at < end; at++)
		blocks->left += !bit_set(blocks->missing, at);
	return atomic_exchange(&blocks->complete, blocks->left == 0);
}

bool blocks_complete(const struct blocks *blocks)
{
	return atomic_load_explicit(&blocks->complete, memory_order_relaxed);
}

bool blocks_may_fill(struct blocks *blocks)
{
	return set_lock(blocks->fd, F_WRLCK, LOCK_FILL, 1) == 0;
}

void blocks_give_up_filling(struct blocks *blocks)
{
	set_lock(blocks->fd, F_UNLCK, LOCK_FILL, 1);
}

uint64_t blocks_size(const struct blocks *blocks)
{
	return blocks->size;
}

uint64_t blocks_used(const struct blocks *blocks)
{
	struct stat st;

	return fstat(blocks->fd, &st) == 0 ? min((uint64_t)st.st_blocks * SECTOR, blocks->size) : 0;
}

uint64_t blocks_number(const struct blocks *blocks)
{
	struct stat st;

	return fstat(blocks->fd, &st) == 0 ? st.st_ino : 0;
}
