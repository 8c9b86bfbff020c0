#include "pack/tool/import/scan_builder.h"

static void set_root(void *builder, mode_t mode, struct timespec mtime)
{
	builder_attr(builder, PACK_ROOT, mode, mtime);
}

static int add_entry(void *builder, const struct pack_entry *entry, uint32_t *ret_id,
		     struct err *err)
{
	return builder_add(builder, entry, ret_id, err);
}

struct scan_into scan_into_builder(struct builder *builder)
{
	return (struct scan_into){.root = set_root, .add = add_entry, .context = builder};
}
