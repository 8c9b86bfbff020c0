#include "base/date.h"
#include "base/scope.h"
#include "pack/write/builder_internal.h"
#include "pack/xxh3.h"
#include <stdio.h>
#include <sys/stat.h>

void builder_free(struct builder *builder)
{
	if (!builder)
		return;
	builder_discard(builder);
	free(builder->path);
	free(builder->partial);
	free(builder->journal_path);
	free(builder->options);
	buf_release(&builder->note);
	buf_release(&builder->nodes);
	buf_release(&builder->names);
	buf_release(&builder->targets);
	buf_release(&builder->sums);
	free(builder);
}

static int copy_params(struct builder *builder, const struct builder_params *params)
{
	builder->path = strdup(params->path);
	builder->options = strdup(params->options ? params->options : "");
	builder->replace = params->replace;
	if (!builder->path || !builder->options ||
	    asprintf(&builder->partial, "%s.partial", params->path) < 0 ||
	    asprintf(&builder->journal_path, "%s.journal", builder->partial) < 0)
		return -ENOMEM;
	return 0;
}

static int check_target(const struct builder *builder, struct err *err)
{
	struct stat st;

	if (lstat(builder->path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EEXIST,
			       "exists and is not a regular file; choose another name");
	return builder->replace ? 0 : err_set(err, -EEXIST, "exists");
}

int builder_new_entries(struct builder **ret)
{
	struct builder_node root = {.kind = FORMAT_DIRECTORY, .state = NODE_DONE, .mode = 0755};
	struct builder *builder = calloc(1, sizeof(*builder));

	if (!builder || buf_add(&builder->nodes, &root, sizeof(root)) < 0) {
		free(builder);
		return -ENOMEM;
	}
	builder->fd = -1;
	*ret = builder;
	return 0;
}

/* A builder that has touched nothing, if PATH may become a pack. */
static int prepare(const struct builder_params *params, struct builder **ret, struct err *err)
{
	struct builder *builder;
	int r = builder_new_entries(&builder);

	if (r < 0)
		return r;
	r = copy_params(builder, params);
	if (r == 0)
		r = check_target(builder, err);
	if (r < 0)
		builder_free(builder);
	else
		*ret = builder;
	return r;
}

int builder_check(const struct builder_params *params, struct err *err)
{
	struct builder *builder;
	int r = prepare(params, &builder, err);

	if (r < 0)
		return r;
	r = builder_partial_check(builder, params, err);
	builder_free(builder);
	return r;
}

int builder_new(const struct builder_params *params, struct builder **ret, struct err *err)
{
	struct builder *builder = NULL;
	int r = prepare(params, &builder, err);

	if (r == 0)
		r = builder_partial_open(builder, params, err);
	if (r < 0) {
		builder_free(builder);
		return r;
	}
	*ret = builder;
	return 0;
}

void builder_attr(struct builder *builder, uint32_t id, mode_t mode, struct timespec mtime)
{
	struct builder_node *node = builder_node(builder, id);

	node->mode = (uint16_t)(mode & 07777);
	node->mtime = date_of(mtime);
}

static bool is_file_id(const struct builder *builder, uint32_t id)
{
	return id < builder_count(builder) && format_is_file(builder_node(builder, id)->kind);
}

/* A section of the index is one record, and liblmdb writes a record by one call of the kernel,
 * which takes no more, with its page header. */
#define SECTION_MOST ((size_t)0x7ffff000 - 16)
#define ENTRIES_MOST (SECTION_MOST / sizeof(uint64_t))

static bool section_has_room(const struct buf *section, size_t more)
{
	return more <= SECTION_MOST - section->len;
}

static int check_entry(const struct builder *builder, const struct builder_entry *entry,
		       struct err *err)
{
	uint32_t count = builder_count(builder);

	if (!format_name_valid(entry->name, entry->name_len))
		return err_set(err, -EINVAL, "not a name that a pack can hold");
	if (count == ENTRIES_MOST || !section_has_room(&builder->names, entry->name_len) ||
	    (entry->kind == FORMAT_SYMLINK &&
	     !section_has_room(&builder->targets, entry->target_len)))
		return err_set(err, -EOVERFLOW,
			       "more names than one pack can hold: pack it in parts");
	if (entry->parent >= count ||
	    builder_node(builder, entry->parent)->kind != FORMAT_DIRECTORY)
		return err_set(err, -EINVAL, "its parent is not a directory");
	if (entry->kind == FORMAT_SYMLINK && (!entry->target || entry->target_len == 0))
		return err_set(err, -EINVAL, "a symbolic link without target");
	if (entry->kind == FORMAT_HARDLINK && !is_file_id(builder, entry->link_to))
		return err_set(err, -EINVAL, "a hard link to something that is not a file");
	return 0;
}

int builder_add(struct builder *builder, const struct builder_entry *entry, uint32_t *ret_id,
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

int builder_path(const struct builder *builder, uint32_t id, struct buf *path)
{
	size_t total = 0;
	char *at;
	int r;

	for (uint32_t n = id; n != BUILDER_ROOT; n = builder_node(builder, n)->parent)
		total += builder_node(builder, n)->name_len + 1u;
	path->len = 0;
	r = buf_reserve(path, total + 1);
	if (r < 0)
		return r;
	path->len = total ? total - 1 : 0;
	at = path->data + path->len;
	*at = '\0';
	for (uint32_t n = id; n != BUILDER_ROOT; n = builder_node(builder, n)->parent) {
		const struct builder_node *node = builder_node(builder, n);

		at -= node->name_len;
		memcpy(at, builder->names.data + node->name, node->name_len);
		if (node->parent != BUILDER_ROOT)
			*--at = '/';
	}
	return 0;
}

int builder_fault(const struct builder *builder, uint32_t id, int code, const char *before,
		  const char *after, struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = builder_path(builder, id, &path);

	return r < 0 ? r : err_set(err, code, "%s'%s'%s", before, path.data, after);
}

/* The sums of a record's extents. */
static int add_sums(struct builder *builder, const void *data, uint64_t size)
{
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < size; at += FORMAT_EXTENT) {
		uint64_t len = size - at < FORMAT_EXTENT ? size - at : FORMAT_EXTENT;
		uint64_t sum = XXH3_64bits((const char *)data + at, len);

		r = buf_add(&builder->sums, &sum, sizeof(sum));
	}
	return r;
}

/* One record: reserves its space, has the source fill it, sums its extents. */
static int store_record(struct builder *builder, const struct format_key *key,
			const struct builder_source *source, uint64_t size)
{
	void *space;
	int r = builder_put(builder, key, size, &space);

	if (r < 0 || size == 0)
		return r;
	r = source->read(source->context, space, size);
	if (r == 0)
		r = add_sums(builder, space, size);
	if (r < 0) {
		memset(space, 0, size); /* its pages may reach the file yet */
		store_delete(builder->store, key->data, key->len);
	}
	return r;
}

#define PART_EXTENTS (FORMAT_PART / FORMAT_EXTENT)

static int parts_changed(const struct buf *path, struct err *err)
{
	return err_set(err, -ESTALE, "'%s' is not what was packed of it before the interruption",
		       path->data);
}

/* Parts from before an interruption are only read again: 0 where they are the same, 1 where not, or
 * what the source gave. */
static int reread_parts(struct builder *builder, const struct builder_source *source)
{
	uint32_t parts = builder->parts;
	SCOPE_FREE void *data = malloc(parts ? FORMAT_PART : 1);
	const uint64_t *sums = builder_sums(builder);
	uint64_t stored = builder_sum_count(builder), first = stored - parts * PART_EXTENTS;
	int r = data ? 0 : -ENOMEM;

	for (uint64_t at = first; r == 0 && at < stored; at += PART_EXTENTS) {
		r = source->read(source->context, data, FORMAT_PART);
		if (r == 0)
			r = add_sums(builder, data, FORMAT_PART);
		sums = builder_sums(builder);
		if (r == 0 && memcmp(sums + at, sums + stored, PART_EXTENTS * sizeof(*sums)) != 0)
			r = 1;
		builder->sums.len = stored * sizeof(*sums);
	}
	return r;
}

static void undo_parts(struct builder *builder, const struct buf *path, uint32_t parts)
{
	struct format_key key;

	for (uint32_t part = 0; part < parts; part++) {
		format_key_part(path->data, path->len, part, &key);
		store_delete(builder->store, key.data, key.len);
	}
	if (parts)
		builder_record(builder, JOURNAL_UNDONE, 0, builder_sum_count(builder));
}

static int store_parts(struct builder *builder, const struct buf *path,
		       const struct builder_source *source, struct err *err)
{
	uint32_t part = builder->parts;
	struct format_key key;
	int r = reread_parts(builder, source);

	if (r == 1)
		return parts_changed(path, err);
	for (uint64_t left = source->size - part * FORMAT_PART; left && r == 0;) {
		uint64_t size = left < FORMAT_PART ? left : FORMAT_PART;
		uint64_t first = builder_sum_count(builder);

		format_key_part(path->data, path->len, part, &key);
		r = store_record(builder, &key, source, size);
		if (r == 0) {
			builder_record(builder, JOURNAL_PART, size, first);
			part++;
		}
		left -= size;
	}
	/* The part that failed has taken itself out. */
	if (r < 0)
		undo_parts(builder, path, part);
	return r;
}

static int store_whole(struct builder *builder, const struct buf *path,
		       const struct builder_source *source)
{
	struct format_key key;

	format_key_path(path->data, path->len, &key);
	return store_record(builder, &key, source, source->size);
}

static int check_turn(struct builder *builder, const struct builder_node *node, struct err *err)
{
	int r = journal_status(builder->journal);

	if (r < 0)
		return r;
	if (node->kind != FORMAT_FILE || node->state != NODE_EMPTY)
		return err_set(err, -EINVAL, "not a file that still wants its bytes");
	return builder_resumed_all(builder, err);
}

void builder_set_stored(struct builder *builder, struct builder_node *node, uint64_t first,
			uint64_t size)
{
	node->state = NODE_DONE;
	node->kind = format_parts(size) ? FORMAT_SPLIT : FORMAT_FILE;
	node->size = size;
	node->start = first;
	if (format_extents(size) == 1) {
		node->start = builder_sums(builder)[first];
		builder->sums.len = first * sizeof(uint64_t);
	}
}

int builder_store(struct builder *builder, uint32_t id, const struct builder_source *source,
		  struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct builder_node *node = builder_node(builder, id);
	uint64_t first = builder_sum_count(builder) - builder->parts * PART_EXTENTS;
	bool split = format_parts(source->size) != 0;
	int r = check_turn(builder, node, err);

	if (r == 0)
		r = builder_path(builder, id, &path);
	if (r == 0 && builder->parts && builder->parts >= format_parts(source->size))
		r = parts_changed(&path, err);
	if (r < 0)
		return r;
	r = split ? store_parts(builder, &path, source, err) : store_whole(builder, &path, source);
	builder->parts = 0;
	if (r < 0) {
		builder->sums.len = first * sizeof(uint64_t);
		return r == -EEXIST ? err_set(err, r, "two entries have this path") : r;
	}
	builder_set_stored(builder, node, first, source->size);
	builder->last = id;
	builder_record_file(builder, id);
	return 0;
}

void builder_image(struct builder *builder, uint32_t id, const struct dataset_image *image)
{
	struct builder_node *node = builder_node(builder, id);

	node->image = image->kind & 7;
	node->width = image->width;
	node->height = image->height;
	if (id == builder->last)
		journal_amend(builder->journal, image);
}

void builder_entry(const struct builder *builder, uint32_t id, struct builder_entry *ret)
{
	const struct builder_node *node = builder_node(builder, id);

	*ret = (struct builder_entry){
		.kind = (enum format_kind)node->kind,
		.parent = node->parent,
		.mode = node->mode,
		.mtime = date_time(node->mtime),
		.size = node->size,
		.link_to = node->kind == FORMAT_HARDLINK ? (uint32_t)node->start : 0,
	};
	if (node->kind == FORMAT_SYMLINK) {
		ret->target = builder->targets.data + node->start;
		ret->target_len = node->size;
	}
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

int builder_drop(struct builder *builder, uint32_t id)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct builder_node *node = builder_node(builder, id);
	uint64_t left = builder_sum_count(builder) - builder->parts * PART_EXTENTS;
	int r;

	/* Whoever goes on drops them again: a link depends on what became of its file, a directory
	 * on what is in it. */
	if (node->kind == FORMAT_HARDLINK || node->kind == FORMAT_DIRECTORY) {
		node->state = NODE_DROPPED;
		return 0;
	}
	r = builder->parts ? builder_path(builder, id, &path) : 0;
	if (r < 0)
		return r;
	undo_parts(builder, &path, builder->parts);
	builder->sums.len = left * sizeof(uint64_t);
	builder->parts = 0;
	builder_set_dropped(node);
	builder_record_file(builder, id);
	return 0;
}

bool builder_is_dropped(const struct builder *builder, uint32_t id)
{
	return builder_node(builder, id)->state == NODE_DROPPED;
}

/* Parents come before their children: from the end on, each has heard of all of its own. */
static void mark_filled(const struct builder *builder, bool *filled)
{
	for (uint32_t id = builder_count(builder); id-- > 0;) {
		const struct builder_node *node = builder_node(builder, id);

		if (node->kind != FORMAT_DIRECTORY && node->kind != FORMAT_SYMLINK)
			filled[id] = node->state != NODE_DROPPED;
		if (filled[id])
			filled[node->parent] = true;
	}
}

int builder_find_empty(const struct builder *builder, int (*found)(void *context, uint32_t id),
		       void *context)
{
	SCOPE_FREE bool *filled = calloc(builder_count(builder), sizeof(*filled));
	int r = 0;

	if (!filled)
		return -ENOMEM;
	mark_filled(builder, filled);
	for (uint32_t id = 0; r == 0 && id < builder_count(builder); id++) {
		const struct builder_node *node = builder_node(builder, id);
		bool inside = id != BUILDER_ROOT && !filled[node->parent];

		if (node->kind == FORMAT_DIRECTORY && node->state != NODE_DROPPED && !filled[id] &&
		    !inside)
			r = found(context, id);
	}
	return r;
}

/* --- files that have the bytes of others ------------------------------------------------------
 *
 * Their records are written as they come, not at the end as those of hard links: there may be
 * many, and keys that come sorted fill leaf after leaf. */

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

	r = check_turn(builder, node, err);
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
