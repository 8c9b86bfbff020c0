/* Files that have the bytes of others. Their records are written as they come, not at the end as
 * those of hard links: there may be many, and keys that come sorted fill leaf after leaf. */
#include "base/scope.h"
#include "pack/write/builder_internal.h"

bool builder_is_stored(const struct builder *builder, uint32_t id)
{
	const struct builder_node *node = builder_node(builder, id);

	return id < builder_count(builder) && node->state == NODE_DONE &&
	       (node->kind == FORMAT_FILE || node->kind == FORMAT_SPLIT);
}

int builder_same(const struct builder *builder, uint32_t id, const void *data, uint64_t len,
		 bool *ret)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct format_key key;
	const void *stored;
	uint64_t stored_len;
	int r;

	if (!builder_is_stored(builder, id))
		return -EINVAL;
	if (builder_node(builder, id)->kind == FORMAT_SPLIT ||
	    builder_node(builder, id)->size != len) {
		*ret = false;
		return 0;
	}
	r = builder_path(builder, id, &path);
	if (r < 0)
		return r;
	format_key_path(path.data, path.len, &key);
	r = store_get(builder->store, key.data, key.len, &stored, &stored_len);
	if (r < 0)
		return r == -ENOENT ? -EIO : r;
	*ret = stored_len == len && (len == 0 || memcmp(stored, data, len) == 0);
	return 0;
}

/* Never to another reference: whoever reads by keys has one more step to go, not more. */
static uint32_t holder_of(const struct builder *builder, uint32_t id)
{
	while (builder_node(builder, id)->kind == FORMAT_HARDLINK ||
	       builder_node(builder, id)->kind == FORMAT_ALIAS)
		id = (uint32_t)builder_node(builder, id)->start;
	return id;
}

/* The record of a hard link or alias: its key, and its value, which names the holder. */
static int make_reference(const struct builder *builder, uint32_t id, struct format_key *ret_key,
			  struct buf *value)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, holder = BUF_INIT;
	int r = builder_path(builder, id, &path);

	if (r == 0)
		r = builder_path(builder, holder_of(builder, id), &holder);
	if (r == 0)
		r = buf_add(value, FORMAT_LINK_MAGIC, sizeof(FORMAT_LINK_MAGIC) - 1);
	if (r == 0)
		r = buf_add(value, holder.data, holder.len);
	if (r == 0)
		format_key_path(path.data, path.len, ret_key);
	return r;
}

int builder_put_reference(struct builder *builder, uint32_t id, builder_put_fn *put)
{
	SCOPE(buf_release) struct buf value = BUF_INIT;
	struct format_key key;
	void *space;
	int r = make_reference(builder, id, &key, &value);

	if (r == 0)
		r = put(builder, &key, value.len, &space);
	if (r == 0)
		memcpy(space, value.data, value.len);
	return r;
}

int builder_holds_reference(const struct builder *builder, uint32_t id, bool *ret)
{
	SCOPE(buf_release) struct buf value = BUF_INIT;
	struct format_key key;
	const void *stored;
	uint64_t len;
	int r = make_reference(builder, id, &key, &value);

	if (r == 0)
		r = store_get(builder->store, key.data, key.len, &stored, &len);
	if (r == 0)
		*ret = len == value.len && memcmp(stored, value.data, len) == 0;
	return r;
}

void builder_make_alias(struct builder *builder, uint32_t id, uint32_t to)
{
	struct builder_node *node = builder_node(builder, id);
	const struct builder_node *holder = builder_node(builder, to);

	node->kind = FORMAT_ALIAS;
	node->state = NODE_DONE;
	node->start = to;
	node->size = holder->size;
	node->image = holder->image;
	node->width = holder->width;
	node->height = holder->height;
}

int builder_alias(struct builder *builder, uint32_t id, uint32_t to, struct err *err)
{
	struct builder_node *node = builder_node(builder, id);
	struct builder_node before = *node;
	int r;

	r = builder_check_turn(builder, node, err);
	if (r < 0)
		return r;
	if (!builder_is_stored(builder, to))
		return err_set(err, -EINVAL, "the bytes of a file that has none of its own");
	builder_make_alias(builder, id, to);
	r = builder_put_reference(builder, id, builder_put);
	if (r == 0)
		builder_record_file(builder, id);
	else
		*node = before;
	return r == -EEXIST ? err_set(err, r, "two entries have this path") : r;
}
