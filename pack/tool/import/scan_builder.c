#include "pack/tool/import/scan_builder.h"

static void set_root(void *builder, mode_t mode, struct timespec mtime)
{
	builder_attr(builder, BUILDER_ROOT, mode, mtime);
}

static int add_entry(void *builder, const struct scan_entry *entry, uint32_t *ret_id,
		     struct err *err)
{
	const struct builder_entry added = {.kind = entry->kind,
					    .parent = entry->parent,
					    .name = entry->name,
					    .name_len = entry->name_len,
					    .mode = entry->mode,
					    .mtime = entry->mtime,
					    .target = entry->target,
					    .target_len = entry->target_len,
					    .link_to = entry->link_to,
					    .size = entry->size};

	return builder_add(builder, &added, ret_id, err);
}

_Static_assert(SCAN_ROOT == BUILDER_ROOT, "entries have the numbers of the scan");

struct scan_into scan_into_builder(struct builder *builder)
{
	return (struct scan_into){.root = set_root, .add = add_entry, .context = builder};
}
