#include "pack/tool/import/tar_blocks.h"

#include "pack/tool/cli/interrupt.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Small enough to be copied from the cache of the processor. */
#define BLOCK ((size_t)256 << 10)

/* --- input ------------------------------------------------------------------------------ */

int tar_input_init(struct tar_input *input, int fd)
{
	*input = (struct tar_input){.fd = fd, .block = malloc(BLOCK)};
	if (!input->block)
		return -ENOMEM;
	/* Each of these works for one kind of descriptor, and only matters for speed. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	(void)fcntl(fd, F_SETPIPE_SZ, (int)BLOCK);
	return 0;
}

void tar_input_release(struct tar_input *input)
{
	free(input->block);
	*input = (struct tar_input){.fd = -1};
}

static ssize_t read_block(struct tar_input *input)
{
	ssize_t n;

	do {
		if (interrupt_pending())
			return -EINTR;
		n = read(input->fd, input->block, BLOCK);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t tar_input_next(void *context, const void **ret)
{
	struct tar_input *input = context;
	ssize_t n = read_block(input);

	if (n <= 0)
		return n;
	input->bytes += (uint64_t)n;
	*ret = input->block;
	return n;
}

/* --- replay ----------------------------------------------------------------------------- */

void tar_replay_begin(struct tar_replay *replay, const struct tar_blocks *from, size_t most)
{
	replay->from = *from;
	replay->most = most;
	replay->kept.len = replay->lent = 0;
	replay->keeping = true;
}

void tar_replay_rewind(struct tar_replay *replay)
{
	replay->lent = 0;
	replay->keeping = false;
}

void tar_replay_forget(struct tar_replay *replay)
{
	buf_release(&replay->kept);
	tar_replay_rewind(replay);
}

void tar_replay_release(struct tar_replay *replay)
{
	buf_release(&replay->kept);
	*replay = (struct tar_replay){0};
}

static int keep(struct tar_replay *replay, const void *block, size_t len)
{
	int r = buf_add(&replay->kept, block, len);

	if (r == 0)
		replay->lent = replay->kept.len;
	return r;
}

ssize_t tar_replay_next(void *context, const void **ret)
{
	struct tar_replay *replay = context;
	size_t left = replay->kept.len - replay->lent;
	ssize_t n;
	int r;

	if (left > 0) {
		*ret = replay->kept.data + replay->lent;
		replay->lent = replay->kept.len;
		return (ssize_t)left;
	}
	if (!replay->keeping)
		tar_replay_forget(replay);
	else if (replay->kept.len >= replay->most)
		return -EFBIG;
	n = tar_blocks_next(&replay->from, ret);
	if (n <= 0 || !replay->keeping)
		return n;
	r = keep(replay, *ret, (size_t)n);
	return r < 0 ? r : n;
}
