#include "pack/tool/import/decompress.h"

#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/tar_level.h"

static void level_release(struct tar_level **level)
{
	tar_level_free(*level);
}

static int copy_blocks(struct tar_level *level, int to)
{
	const void *block;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = tar_level_block(level, &block)) != 0)
		r = n < 0 ? (int)n : io_write_full(to, block, (size_t)n);
	return r;
}

int decompress(int from, int to, struct err *err)
{
	SCOPE(tar_input_release) struct tar_input input = {.fd = -1};
	SCOPE(level_release) struct tar_level *level = NULL;
	const struct tar_blocks bytes = {.next = tar_input_next, .context = &input};
	struct err why = {0};
	int r = tar_input_init(&input, from);

	if (r == 0)
		r = tar_level_new_raw(&bytes, &why, &level);
	r = r == 0 ? copy_blocks(level, to) : r > 0 ? -EBADMSG : r;
	return why.text[0] ? err_set(err, r, "decompressing it: %s", why.text) : r;
}
