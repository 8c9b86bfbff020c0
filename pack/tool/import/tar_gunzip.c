#include "pack/tool/import/tar_gunzip.h"

#include "base/scope.h"
#include <string.h>
#include <zlib.h>

#define BLOCK ((size_t)256 << 10)

#define WINDOW_OF_GZIP (MAX_WBITS + 16) /* tells zlib that it is gzip, not zlib */

static const uint8_t magic[] = {0x1f, 0x8b, Z_DEFLATED};

enum state {
	UNKNOWN, /* nothing has been read */
	PLAIN,
	BETWEEN, /* members */
	WITHIN,	 /* one */
};

struct tar_gunzip {
	struct tar_replay from;
	enum state state;
	z_stream z; /* its input is lent by `from` */
	uint8_t *block;
	int error; /* returned after all bytes before it */
	const char *damage;
};

static ssize_t damaged(struct tar_gunzip *gunzip, const char *what)
{
	gunzip->damage = what ? what : "damaged";
	return -EBADMSG;
}

static int gunzip_begin(struct tar_gunzip *gunzip)
{
	gunzip->block = malloc(BLOCK);
	if (!gunzip->block || inflateInit2(&gunzip->z, WINDOW_OF_GZIP) != Z_OK)
		return -ENOMEM;
	gunzip->state = BETWEEN;
	return 0;
}

/* Looks at the first bytes, which may come in several small blocks. */
static int find_out(struct tar_gunzip *gunzip)
{
	uint8_t head[sizeof(magic)];
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < sizeof(head)) {
		size_t want = sizeof(head) - len;
		const void *block;

		n = tar_replay_next(&gunzip->from, &block);
		if (n < 0)
			return (int)n;
		want = (size_t)n < want ? (size_t)n : want;
		if (want > 0)
			memcpy(head + len, block, want);
		len += want;
	}
	tar_replay_rewind(&gunzip->from);
	if (len == sizeof(head) && memcmp(head, magic, len) == 0)
		return gunzip_begin(gunzip);
	gunzip->state = PLAIN;
	return 0;
}

/* Makes sure that there is input. Returns as tar_blocks_next(). */
static ssize_t gunzip_fill(struct tar_gunzip *gunzip)
{
	const void *block;
	ssize_t n;

	if (gunzip->z.avail_in > 0)
		return 1;
	n = tar_replay_next(&gunzip->from, &block);
	if (n == 0 && gunzip->state == WITHIN)
		return damaged(gunzip, "truncated");
	if (n > 0) {
		gunzip->z.next_in = (uint8_t *)(uintptr_t)block;
		gunzip->z.avail_in = (uInt)n;
	}
	return n;
}

static void pass_zeros(z_stream *z)
{
	while (z->avail_in > 0 && *z->next_in == 0) {
		z->next_in++;
		z->avail_in--;
	}
}

static int inflate_some(struct tar_gunzip *gunzip)
{
	z_stream *z = &gunzip->z;

	if (gunzip->state == BETWEEN) {
		pass_zeros(z);
		if (z->avail_in == 0)
			return 0;
		inflateReset(z);
		gunzip->state = WITHIN;
	}
	switch (inflate(z, Z_NO_FLUSH)) {
	case Z_STREAM_END:
		gunzip->state = BETWEEN;
		return 0;
	case Z_OK:
	case Z_BUF_ERROR:
		return 0;
	case Z_MEM_ERROR:
		return -ENOMEM;
	default:
		return (int)damaged(gunzip, z->msg);
	}
}

static ssize_t next_inflated(struct tar_gunzip *gunzip, const void **ret)
{
	z_stream *z = &gunzip->z;
	ssize_t n = 1;

	z->next_out = gunzip->block;
	z->avail_out = BLOCK;
	while (gunzip->error == 0 && n > 0 && z->avail_out == BLOCK) {
		n = gunzip_fill(gunzip);
		if (n > 0)
			gunzip->error = inflate_some(gunzip);
		else
			gunzip->error = (int)n;
	}
	if (z->avail_out == BLOCK)
		return gunzip->error;
	*ret = gunzip->block;
	return (ssize_t)(BLOCK - z->avail_out);
}

ssize_t tar_gunzip_next(void *context, const void **ret)
{
	struct tar_gunzip *gunzip = context;
	int r = gunzip->state == UNKNOWN ? find_out(gunzip) : 0;

	if (r < 0)
		return r;
	if (gunzip->state == PLAIN)
		return tar_replay_next(&gunzip->from, ret);
	return next_inflated(gunzip, ret);
}

const char *tar_gunzip_damage(const struct tar_gunzip *gunzip)
{
	return gunzip->damage;
}

int tar_gunzip_new(const struct tar_blocks *from, struct tar_gunzip **ret)
{
	struct tar_gunzip *gunzip = calloc(1, sizeof(*gunzip));

	if (!gunzip)
		return -ENOMEM;
	tar_replay_begin(&gunzip->from, from, BLOCK);
	*ret = gunzip;
	return 0;
}

void tar_gunzip_free(struct tar_gunzip *gunzip)
{
	if (!gunzip)
		return;
	/* Fine on a stream that was not begun. */
	inflateEnd(&gunzip->z);
	free(gunzip->block);
	tar_replay_release(&gunzip->from);
	free(gunzip);
}
