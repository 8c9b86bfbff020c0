#include "remote/block_claims.h"
#include "base/math.h"
#include "base/scope.h"
#include <fcntl.h>

struct block_claims {
	int fd;
	bool own; /* fd is to be closed */
	uint64_t pages;
};

int block_claims_new(const struct blocks *blocks, bool own, struct block_claims **ret)
{
	struct block_claims *claims = calloc(1, sizeof(*claims));

	if (!claims)
		return -ENOMEM;
	claims->pages = (blocks_size(blocks) + READER_PAGE - 1) / READER_PAGE;
	claims->own = own;
	claims->fd = own ? blocks_open_map(blocks) : blocks_map(blocks);
	if (claims->fd < 0) {
		int r = claims->fd;

		free(claims);
		return r;
	}
	*ret = claims;
	return 0;
}

void block_claims_free(struct block_claims *claims)
{
	if (!claims)
		return;
	if (claims->own)
		scope_close(&claims->fd);
	free(claims);
}

/* The byte of the map that stands for the first page. The bytes before it are for other locks. */
static uint64_t base_of(const struct block_claims *claims, bool ahead)
{
	return READER_PAGE + (ahead ? claims->pages + 1 : 0);
}

static struct flock lock_of(const struct block_claims *claims, short type, bool ahead,
			    uint64_t offset, uint64_t end)
{
	uint64_t first = offset / READER_PAGE, last = (end - 1) / READER_PAGE;

	return (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)(base_of(claims, ahead) + first),
			      .l_len = (off_t)(last - first + 1)};
}

/* Lowers *end to where another's claim begins. False: it begins at `offset` or before, and *end is
 * where it ends. A lock of another program may begin before the bytes for pages, and end with the
 * file, which is length 0. */
static bool find_free(const struct block_claims *claims, bool ahead, uint64_t offset, uint64_t *end)
{
	uint64_t base = base_of(claims, ahead);

	for (;;) {
		struct flock lock = lock_of(claims, F_WRLCK, ahead, offset, *end);
		uint64_t begin, until = *end;

		if (fcntl(claims->fd, F_OFD_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
			return true;
		begin = sub_sat((uint64_t)lock.l_start, base) * READER_PAGE;
		if (lock.l_len)
			until = ((uint64_t)(lock.l_start + lock.l_len) - base) * READER_PAGE;
		if (begin <= offset) {
			*end = min(until, *end);
			return false;
		}
		*end = begin;
	}
}

/* Without locks there are no claims. */
static bool claim(const struct block_claims *claims, bool ahead, uint64_t offset, uint64_t end)
{
	struct flock lock = lock_of(claims, F_WRLCK, ahead, offset, end);

	return fcntl(claims->fd, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool block_claims_take(struct block_claims *claims, bool ahead, uint64_t offset, uint64_t end,
		       uint64_t *ret_end)
{
	*ret_end = end;
	if (ahead && !find_free(claims, false, offset, ret_end))
		return false;
	/* Who has claimed some is asked only where somebody has; another may be faster then. */
	return claim(claims, ahead, offset, *ret_end) ||
	       (find_free(claims, ahead, offset, ret_end) &&
		claim(claims, ahead, offset, *ret_end));
}

void block_claims_drop(struct block_claims *claims, bool ahead, uint64_t offset, uint64_t end)
{
	struct flock lock = lock_of(claims, F_UNLCK, ahead, offset, end);

	fcntl(claims->fd, F_OFD_SETLK, &lock);
}
