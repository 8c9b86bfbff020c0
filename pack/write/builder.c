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
	buf_release(&builder->checksums);
	buf_release(&builder->based);
	free(builder);
}

int builder_add_options(struct builder *builder, const char *lines)
{
	char *all;

	if (asprintf(&all, "%s%s", builder->options, lines) < 0)
		return -ENOMEM;
	free(builder->options);
	builder->options = all;
	return 0;
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

/* As builder_new(), up to the partial file. */
static int builder_at(const struct builder_params *params, struct builder **ret, struct err *err)
{
	struct builder *builder;
	struct stat st;
	int r = builder_new_entries(&builder);

	if (r < 0)
		return r;
	builder->path = strdup(params->path);
	builder->options = strdup(params->options ? params->options : "");
	builder->replace = params->replace;
	builder->base = params->base;
	if (!builder->path || !builder->options ||
	    asprintf(&builder->partial, "%s.partial", params->path) < 0 ||
	    asprintf(&builder->journal_path, "%s.journal", builder->partial) < 0)
		r = -ENOMEM;
	if (r == 0 && lstat(builder->journal_path, &st) < 0 && errno == ENAMETOOLONG)
		r = err_set(
			err, -errno,
			"the name is too long: '.partial.journal' is put behind it for as long as "
			"it is written; choose a shorter one");
	if (r == 0 && lstat(builder->path, &st) < 0)
		r = errno == ENOENT ? 0 : -errno;
	else if (r == 0 && !S_ISREG(st.st_mode))
		r = err_set(err, -EEXIST, "exists and is not a regular file; choose another name");
	else if (r == 0 && !params->replace)
		r = err_set(err, -EEXIST, "exists");
	if (r < 0) {
		builder_free(builder);
		return r;
	}
	*ret = builder;
	return 0;
}

int builder_new(const struct builder_params *params, struct builder **ret, struct err *err)
{
	struct builder *builder;
	int r = builder_at(params, &builder, err);

	if (r < 0)
		return r;
	r = builder_partial_open(builder, params, err);
	if (r < 0)
		builder_free(builder);
	else
		*ret = builder;
	return r;
}

int builder_check(const struct builder_params *params, struct err *err)
{
	struct builder *builder;
	int r = builder_at(params, &builder, err);

	if (r < 0)
		return r;
	r = builder_partial_check(builder, params, err);
	builder_free(builder);
	return r;
}

/* Stores one record: reserves its space, lets the source fill it, and adds the checksums of its
 * extents. */
static int store_record(struct builder *builder, const struct format_key *key,
			const struct builder_source *source, uint64_t size)
{
	void *space;
	int r = builder_put(builder, key, size, &space);

	if (r < 0 || size == 0)
		return r;
	r = source->read(source->context, space, size);
	for (uint64_t at = 0; r == 0 && at < size; at += FORMAT_EXTENT) {
		uint64_t len = size - at < FORMAT_EXTENT ? size - at : FORMAT_EXTENT;
		uint64_t checksum = XXH3_64bits((const char *)space + at, len);

		r = buf_add(&builder->checksums, &checksum, sizeof(checksum));
	}
	if (r < 0) {
		memset(space, 0, size); /* its pages may still reach the file */
		store_delete(builder->store, key->data, key->len);
	}
	return r;
}

#define PART_EXTENTS (FORMAT_PART / FORMAT_EXTENT)

static int parts_changed(const struct buf *path, struct err *err)
{
	return err_set(err, -ESTALE,
		       "'%s' differs from what was packed of it before the interruption",
		       path->data);
}

/* Reads the parts from before an interruption again, and compares them: 0: the same; 1: not; or
 * what the source returned. */
static int reread_parts(const struct builder *builder, const struct builder_source *source)
{
	uint64_t count = builder->parts * PART_EXTENTS;
	const uint64_t *checksums =
		builder_checksums(builder) + builder_checksum_count(builder) - count;
	SCOPE_FREE void *data = malloc(FORMAT_EXTENT);
	int r = data ? 0 : -ENOMEM;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		r = source->read(source->context, data, FORMAT_EXTENT);
		if (r == 0 && XXH3_64bits(data, FORMAT_EXTENT) != checksums[i])
			r = 1;
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
		builder_record(builder, JOURNAL_UNDONE, 0, builder_checksum_count(builder));
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
		uint64_t first = builder_checksum_count(builder);

		format_key_part(path->data, path->len, part, &key);
		r = store_record(builder, &key, source, size);
		if (r == 0) {
			builder_record(builder, JOURNAL_PART, size, first);
			part++;
		}
		left -= size;
	}
	/* store_record() has removed the part that failed. */
	if (r < 0)
		undo_parts(builder, path, part);
	return r;
}

static int check_turn(struct builder *builder, const struct builder_node *node, struct err *err)
{
	int r = journal_status(builder->journal);

	if (r < 0)
		return builder_explain(
			builder, builder_failed(builder, r, journal_failed(builder->journal)), err);
	if (node->kind != FORMAT_FILE || node->state != NODE_EMPTY)
		return err_set(err, -EINVAL, "not a file that still wants its bytes");
	return builder_resumed_all(builder, err);
}

static int path_is_taken(const struct builder *builder, uint32_t id, struct err *err)
{
	return builder_fault(builder, id, -EEXIST, "two entries have the path ", "", err);
}

int builder_store(struct builder *builder, uint32_t id, const struct builder_source *source,
		  struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct builder_node *node = builder_node(builder, id);
	uint64_t first = builder_checksum_count(builder) - builder->parts * PART_EXTENTS;
	struct format_key key;
	int r = check_turn(builder, node, err);

	if (r == 0)
		r = builder_path(builder, id, &path);
	if (r == 0 && builder->parts && builder->parts >= format_parts(source->size))
		r = parts_changed(&path, err);
	if (r < 0)
		return r;
	format_key_path(path.data, path.len, &key);
	r = format_parts(source->size) ? store_parts(builder, &path, source, err)
				       : store_record(builder, &key, source, source->size);
	builder->parts = 0;
	if (r < 0) {
		builder->checksums.len = first * sizeof(uint64_t);
		return r == -EEXIST ? path_is_taken(builder, id, err)
				    : builder_explain(builder, r, err);
	}
	builder_set_stored(builder, node, first, source->size);
	builder->last = id;
	builder_record_file(builder, id);
	return 0;
}

void builder_image(struct builder *builder, uint32_t id, const struct dataset_image *image)
{
	struct builder_node *node = builder_node(builder, id);

	node->image = image->kind & 15;
	node->width = image->width;
	node->height = image->height;
	if (id == builder->last)
		journal_amend(builder->journal, image);
}

int builder_drop(struct builder *builder, uint32_t id)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct builder_node *node = builder_node(builder, id);
	uint64_t left = builder_checksum_count(builder) - builder->parts * PART_EXTENTS;
	int r;

	/* Links are not in the journal. A resumed run drops them again, with their file. */
	if (node->kind == FORMAT_HARDLINK) {
		node->state = NODE_DROPPED;
		return 0;
	}
	r = builder->parts ? builder_path(builder, id, &path) : 0;
	if (r < 0)
		return r;
	undo_parts(builder, &path, builder->parts);
	builder->checksums.len = left * sizeof(uint64_t);
	builder->parts = 0;
	builder_set_dropped(node);
	builder_record_file(builder, id);
	return 0;
}

/* --- files that have the bytes of others ------------------------------------------------------
 *
 * Their records are written as they come, unlike those of hard links, which are written at the end:
 * there may be many, and keys that come sorted fill leaf after leaf. */

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

int builder_put_reference(struct builder *builder, uint32_t id, bool last)
{
	SCOPE(buf_release) struct buf value = BUF_INIT;
	struct format_key key;
	void *space;
	int r = builder_make_reference(builder, id, &key, &value);

	if (r == 0)
		r = last ? builder_put_last(builder, &key, value.len, &space)
			 : builder_put(builder, &key, value.len, &space);
	if (r == 0)
		memcpy(space, value.data, value.len);
	return r;
}

int builder_alias(struct builder *builder, uint32_t id, uint32_t to, struct err *err)
{
	struct builder_node *node = builder_node(builder, id);
	struct builder_node before = *node;
	int r = check_turn(builder, node, err);

	if (r < 0)
		return r;
	if (!builder_is_stored(builder, to))
		return err_set(err, -EINVAL, "the bytes of a file that has none of its own");
	builder_make_alias(builder, id, to);
	r = builder_put_reference(builder, id, false);
	if (r == 0)
		builder_record_file(builder, id);
	else
		*node = before;
	return r == -EEXIST ? path_is_taken(builder, id, err) : builder_explain(builder, r, err);
}

int builder_refer(struct builder *builder, uint32_t id, uint32_t entry, bool read, struct err *err)
{
	int r = read ? check_turn(builder, builder_node(builder, id), err) : 0;

	if (r == 0)
		r = builder_make_based(builder, id, entry);
	if (r == 0 && read)
		builder_record_file(builder, id);
	return r;
}
