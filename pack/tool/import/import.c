#include "pack/tool/import/import.h"

#include "base/date.h"
#include "base/scope.h"
#include <xxhash.h>

uint64_t import_fingerprint(const struct buf *path, uint64_t size, struct timespec mtime,
			    mode_t mode)
{
	uint64_t facts[] = {size, (uint64_t)date_of(mtime), mode};

	return XXH3_64bits_withSeed(path->data, path->len, XXH3_64bits(facts, sizeof(facts)));
}

static int drop_link(struct builder *builder, uint32_t id, const struct import_watch *watch)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, first = BUF_INIT, reason = BUF_INIT;
	int r = builder_path(builder, builder_file(builder, id), &first);

	if (r == 0)
		r = builder_path(builder, id, &path);
	if (r == 0)
		r = buf_addf(&reason, "the same file as %s", first.data);
	if (r == 0)
		r = builder_drop(builder, id);
	return r < 0 ? r : watch->bad(watch->context, path.data, reason.data);
}

int import_drop_links(struct builder *builder, uint64_t entries, const struct import_watch *watch)
{
	int r = 0;

	for (uint32_t id = 1; r == 0 && id < entries; id++) {
		uint32_t file = builder_file(builder, id);

		if (file != id && builder_is_dropped(builder, file))
			r = drop_link(builder, id, watch);
	}
	return r;
}
