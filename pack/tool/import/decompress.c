#include "pack/tool/import/decompress.h"

#include "base/io.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/tool/cli/interrupt.h"
#include "pack/tool/import/unpack.h"

#define BLOCK ((size_t)256 << 10)

static void unpack_release(struct unpack **unpack)
{
	unpack_free(*unpack);
}

static int copy_blocks(struct unpack *unpack, int to)
{
	const void *block;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = unpack_next(unpack, &block)) != 0)
		r = n < 0 ? (int)n : io_write_full(to, block, (size_t)n);
	return r;
}

static int unpack_all(const struct tar_blocks *bytes, int to, struct err *err)
{
	SCOPE(unpack_release) struct unpack *unpack = NULL;
	struct err why = {0};
	int r = unpack_new(bytes, UNPACK_FOUND, &why, &unpack);

	if (r == 0)
		r = copy_blocks(unpack, to);
	return why.text[0] ? err_set(err, r, "decompressing it: %s", why.text) : r;
}

int decompress(int from, int to, struct err *err)
{
	SCOPE(tar_input_release) struct tar_input input = {.fd = -1};
	const struct tar_blocks bytes = {.next = tar_input_next, .context = &input};
	int r = tar_input_init(&input, from);

	return r < 0 ? r : unpack_all(&bytes, to, err);
}

struct part {
	struct reader *reader;
	uint64_t at, end;
	char *block;
};

static ssize_t next_of_part(void *context, const void **ret)
{
	struct part *part = context;
	ssize_t n =
		reader_get(part->reader, part->block, min(BLOCK, part->end - part->at), part->at);

	part->at += n > 0 ? (uint64_t)n : 0;
	*ret = part->block;
	return interrupt_pending() ? -EINTR : n;
}

int decompress_part(struct reader *from, uint64_t offset, uint64_t len, int to, struct err *err)
{
	SCOPE_FREE char *block = malloc(BLOCK);
	struct part part = {.reader = from, .at = offset, .end = offset + len, .block = block};
	const struct tar_blocks bytes = {.next = next_of_part, .context = &part};

	return block ? unpack_all(&bytes, to, err) : -ENOMEM;
}
