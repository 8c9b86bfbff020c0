/* The entries of a pack as they are added, in memory: names, kinds, places in the tree, and what
 * became of each file. */
#include "base/date.h"
#include "base/scope.h"
#include "pack/write/builder_internal.h"
#include <stdio.h>

void builder_attr(struct builder *builder, uint32_t id, mode_t mode, struct timespec mtime)
{
	struct builder_node *node = builder_node(builder, id);

	node->mode = (uint16_t)(mode & 07777);
	node->mtime = date_of(mtime);
}

/* A section of the index is one record. liblmdb writes a record, with its page header, by one
 * system call, which takes no more than this. */
#define SECTION_MOST ((size_t)0x7ffff000 - 16)
#define ENTRIES_MOST (SECTION_MOST / sizeof(uint64_t))

static bool section_has_room(const struct buf *section, size_t more)
{
	return more <= SECTION_MOST - section->len;
}

static int check_entry(const struct builder *builder, const struct pack_entry *entry,
		       struct err *err)
{
	uint32_t count = builder_count(builder);
	unsigned depth = 0;

	if (!format_name_valid(entry->name, entry->name_len))
		return err_set(err, -EINVAL, "not a name that a pack can hold");
	if (count == ENTRIES_MOST || !section_has_room(&builder->names, entry->name_len) ||
	    (entry->kind == FORMAT_SYMLINK &&
	     !section_has_room(&builder->targets, entry->target_len)))
		return err_set(err, -EOVERFLOW,
			       "more names than one pack can hold: pack it in parts");
	if (entry->parent >= count ||
	    builder_node(builder, entry->parent)->kind != FORMAT_DIRECTORY)
		return err_set(err, -EINVAL, "its parent is not a folder");
	for (uint32_t id = entry->parent; id != PACK_ROOT && entry->kind == FORMAT_DIRECTORY;
	     id = builder_node(builder, id)->parent)
		depth++;
	if (depth == FORMAT_DEPTH_MAX)
		return err_set(err, -ENAMETOOLONG, "deeper than %d folders", FORMAT_DEPTH_MAX);
	if (entry->kind == FORMAT_SYMLINK && (!entry->target || entry->target_len == 0))
		return err_set(err, -EINVAL, "a symbolic link without target");
	if (entry->kind == FORMAT_HARDLINK &&
	    (entry->link_to >= count ||
	     !format_is_file(builder_node(builder, entry->link_to)->kind)))
		return err_set(err, -EINVAL, "a hard link to something that is not a file");
	return 0;
}

int builder_add(struct builder *builder, const struct pack_entry *entry, uint32_t *ret_id,
		struct err *err)
{
	struct builder_node node = {
		.parent = entry->parent,
		.name = builder->names.len,
		.name_len = (uint8_t)entry->name_len,
		.size = entry->kind == FORMAT_FILE ? entry->size : 0,
		.kind = entry->kind & 7,
		.state = entry->kind == FORMAT_FILE ? NODE_EMPTY : NODE_DONE,
		.mode = (uint16_t)(entry->mode & 07777),
		.mtime = date_of(entry->mtime),
	};
	int r = check_entry(builder, entry, err);

	if (r == 0)
		r = buf_add(&builder->names, entry->name, entry->name_len);
	if (r < 0)
		return r;
	if (entry->kind == FORMAT_SYMLINK) {
		node.start = builder->targets.len;
		node.size = entry->target_len;
		r = buf_add(&builder->targets, entry->target, entry->target_len);
	} else if (entry->kind == FORMAT_HARDLINK) {
		node.start = entry->link_to;
	}
	if (r == 0)
		r = buf_add(&builder->nodes, &node, sizeof(node));
	if (r == 0)
		*ret_id = builder_count(builder) - 1;
	return r;
}

void builder_name(const struct builder *builder, uint32_t id, char ret[FORMAT_NAME_MAX + 1])
{
	const struct builder_node *node = builder_node(builder, id);

	snprintf(ret, FORMAT_NAME_MAX + 1, "%.*s", node->name_len,
		 builder->names.data + node->name);
}

static struct path_part part_of_node(const void *builder, uint32_t id)
{
	const struct builder_node *node = builder_node(builder, id);

	return (struct path_part){((const struct builder *)builder)->names.data + node->name,
				  node->name_len, node->parent};
}

int builder_path(const struct builder *builder, uint32_t id, struct buf *path)
{
	path->len = 0;
	return path_add(path, id, part_of_node, builder);
}

int builder_fault(const struct builder *builder, uint32_t id, int code, const char *before,
		  const char *after, struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = builder_path(builder, id, &path);

	return r < 0 ? r : err_set(err, code, "%s'%s'%s", before, path.data, after);
}

/* --- what becomes of a file ------------------------------------------------------------------- */

void builder_set_stored(struct builder *builder, struct builder_node *node, uint64_t first,
			uint64_t size)
{
	node->state = NODE_DONE;
	node->kind = format_parts(size) ? FORMAT_SPLIT : FORMAT_FILE;
	node->size = size;
	node->start = first;
	if (format_extents(size) == 1) {
		node->start = builder_checksums(builder)[first];
		builder->checksums.len = first * sizeof(uint64_t);
	}
}

bool builder_is_stored(const struct builder *builder, uint32_t id)
{
	const struct builder_node *node = builder_node(builder, id);

	return id < builder_count(builder) && node->state == NODE_DONE &&
	       (node->kind == FORMAT_FILE || node->kind == FORMAT_SPLIT);
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

int builder_make_based(struct builder *builder, uint32_t id, uint32_t entry)
{
	struct builder_node *node = builder_node(builder, id);
	struct dataset_image image;
	const size_t first = builder->based.len;
	uint64_t number = entry, extent;
	struct dataset_entry file;
	int r;

	if (!builder->base || entry >= dataset_entries(builder->base))
		return -EINVAL;
	file = dataset_entry(builder->base, entry);
	if (!format_is_file(file.kind))
		return -EINVAL;
	extent = dataset_first_extent(builder->base, entry);
	r = buf_add(&builder->based, &number, sizeof(number));
	for (uint64_t i = 0; r == 0 && i < format_extents(file.size); i++) {
		r = dataset_checksum(builder->base, extent + i, &number);
		if (r == 0)
			r = buf_add(&builder->based, &number, sizeof(number));
	}
	if (r == 0)
		r = dataset_image(builder->base, entry, &image);
	if (r < 0) {
		builder->based.len = first;
		return r;
	}
	node->kind = FORMAT_BASE;
	node->state = NODE_DONE;
	node->start = first / sizeof(number);
	node->size = file.size;
	node->image = image.kind & 15;
	node->width = image.width;
	node->height = image.height;
	return 0;
}

int builder_make_reference(const struct builder *builder, uint32_t id, struct format_key *ret_key,
			   struct buf *value)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, holder = BUF_INIT;
	int r = builder_path(builder, id, &path);

	/* Never another reference: a reader by keys follows at most one. */
	while (builder_node(builder, id)->kind == FORMAT_HARDLINK ||
	       builder_node(builder, id)->kind == FORMAT_ALIAS)
		id = (uint32_t)builder_node(builder, id)->start;
	if (r == 0)
		r = builder_path(builder, id, &holder);
	if (r < 0)
		return r;
	format_key_path(path.data, path.len, ret_key);
	buf_add(value, FORMAT_LINK_MAGIC, sizeof(FORMAT_LINK_MAGIC) - 1);
	return buf_add(value, holder.data, holder.len);
}

/* --- what is known of them -------------------------------------------------------------------- */

uint32_t builder_entries(const struct builder *builder)
{
	return builder_count(builder);
}

struct pack_entry builder_entry(const struct builder *builder, uint32_t id)
{
	const struct builder_node *node = builder_node(builder, id);
	struct pack_entry ret = {
		.kind = (enum format_kind)node->kind,
		.parent = node->parent,
		.mode = node->mode,
		.mtime = date_time(node->mtime),
		.size = node->size,
		.link_to = node->kind == FORMAT_HARDLINK ? (uint32_t)node->start : 0,
	};

	if (node->kind == FORMAT_SYMLINK) {
		ret.target = builder->targets.data + node->start;
		ret.target_len = node->size;
	}
	return ret;
}

enum format_kind builder_kind(const struct builder *builder, uint32_t id)
{
	return (enum format_kind)builder_node(builder, id)->kind;
}

uint32_t builder_parent(const struct builder *builder, uint32_t id)
{
	return builder_node(builder, id)->parent;
}

uint32_t builder_file(const struct builder *builder, uint32_t id)
{
	const struct builder_node *node = builder_node(builder, id);

	return node->kind == FORMAT_HARDLINK ? (uint32_t)node->start : id;
}

bool builder_is_dropped(const struct builder *builder, uint32_t id)
{
	return builder_node(builder, id)->state == NODE_DROPPED;
}

int builder_find_empty(const struct builder *builder,
		       int (*found)(void *context, uint32_t id, bool dropped), void *context)
{
	enum { EMPTY, EMPTIED, FILLED };
	SCOPE_FREE uint8_t *states = calloc(builder_count(builder), sizeof(*states));
	int r = 0;

	if (!states)
		return -ENOMEM;
	/* Parents come before their children, so a pass from the end reaches every parent after
	 * all its children. */
	for (uint32_t id = builder_count(builder); id-- > 0;) {
		const struct builder_node *node = builder_node(builder, id);

		if (node->kind != FORMAT_DIRECTORY && node->kind != FORMAT_SYMLINK)
			states[id] = node->state == NODE_DROPPED ? EMPTIED : FILLED;
		if (states[id] > states[node->parent])
			states[node->parent] = states[id];
	}
	for (uint32_t id = 0; r == 0 && id < builder_count(builder); id++) {
		const struct builder_node *node = builder_node(builder, id);
		bool inside = id != PACK_ROOT && states[node->parent] != FILLED;

		if (node->kind == FORMAT_DIRECTORY && states[id] != FILLED && !inside)
			r = found(context, id, states[id] == EMPTIED);
	}
	return r;
}
