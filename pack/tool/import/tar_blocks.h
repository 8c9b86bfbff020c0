/* Blocks of bytes on their way from a descriptor to a member of a tar inside a tar. Each layer
 * lends its block to the next layer until the following call, so bytes are copied once, at the end.
 */
#ifndef PACK_TOOL_IMPORT_TAR_BLOCKS_H
#define PACK_TOOL_IMPORT_TAR_BLOCKS_H

#include "base/buf.h"
#include <stdbool.h>
#include <sys/types.h>

struct tar_blocks {
	/* Lends the bytes that come next, until the next call. Returns how many; 0 at the end, and
	 * after it; or -errno. */
	ssize_t (*next)(void *context, const void **ret);
	void *context;
};

static inline ssize_t tar_blocks_next(const struct tar_blocks *blocks, const void **ret)
{
	return blocks->next(blocks->context, ret);
}

/* The bytes of a file or pipe, from the position of the descriptor on. */
struct tar_input {
	int fd; /* borrowed */
	char *block;
	uint64_t bytes; /* read so far */
};

/* 0 or -ENOMEM. */
int tar_input_init(struct tar_input *input, int fd);
void tar_input_release(struct tar_input *input);

/* A tar_blocks's next. -EINTR where a signal asked foldpack to stop. */
ssize_t tar_input_next(void *input, const void **ret);

/* Blocks that can be read a second time, up to a limit: whether they are a tar is found out by
 * trying to open them. */
struct tar_replay {
	struct tar_blocks from;
	struct buf kept;
	size_t lent; /* of what is kept */
	size_t most; /* that may be kept */
	bool keeping;
};

/* Passes on the blocks of `from`, and keeps them, `most` bytes and a block, until
 * tar_replay_rewind() or tar_replay_forget(). */
void tar_replay_begin(struct tar_replay *replay, const struct tar_blocks *from, size_t most);
/* Starts again at the first block, once. Blocks that were lent are no longer valid. */
void tar_replay_rewind(struct tar_replay *replay);
/* Goes on and keeps nothing more. The block that was lent stays valid. */
void tar_replay_forget(struct tar_replay *replay);
void tar_replay_release(struct tar_replay *replay);

/* A tar_blocks's next. -EFBIG where more would have to be kept. */
ssize_t tar_replay_next(void *replay, const void **ret);

#endif
