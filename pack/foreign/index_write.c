#include "base/reader_volumes.h"
#include "base/scope.h"
#include "pack/foreign/index_internal.h"
#include "pack/made_names.h"
#include "pack/xxh3.h"
#include <inttypes.h>
#include <string.h>

struct writing {
	struct foreign_tree *tree;
	struct index index;
	struct labels labels;
	struct buf rows; /* of struct virtual_row */
	struct format_super super;
};

static void writing_release(struct writing *w)
{
	index_release(&w->index);
	labels_release(&w->labels);
	buf_release(&w->rows);
}

/* They are a section like any other. */
static int make_options(struct writing *w, const struct index_key *key, const char *format)
{
	struct index_section *section = &w->index.sections[SECTION_OPTIONS];
	SCOPE(buf_release) struct buf options = BUF_INIT;
	const struct foreign_tree *tree = w->tree;
	int r = buf_addf(&options, "%sformat=%s\nextra=%zu %zu %016" PRIx64 INDEX_SUMS_NONE,
			 key->text, format, tree->text.len,
			 BUF_COUNT(&tree->made, struct virtual_row),
			 index_extra_hash(&tree->text, &w->rows));

	if (r == 0)
		r = buf_add(&options, tree->source->beside.data, tree->source->beside.len);
	if (r == 0 && (labels_count(&w->labels) || tree->style.only_names ||
		       tree->source->settings->layout == FOREIGN_CLASSES))
		r = labels_style_write(&tree->style, &options);
	if (r == 0 && tree->made_up)
		r = made_names_write(tree->prefix ? tree->prefix : "", &options);
	if (r == 0)
		r = labels_write(&w->labels, &options);
	free(section->data);
	section->data = NULL;
	if (r == 0)
		r = index_section_alloc(section, options.len, 0);
	if (r == 0)
		memcpy(section->data, options.data, options.len);
	return r;
}

static void make_super(struct writing *w)
{
	uint64_t offset = INDEX_TEXT + w->tree->text.len + w->rows.len + w->tree->members.len +
			  w->tree->members_text.len;

	w->super.version = FORMAT_VERSION;
	w->super.incompat = FORMAT_UNCHECKED;
	w->super.left_out = w->tree->lacks;
	index_count(&w->index, &w->super);
	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		const struct index_section *section = &w->index.sections[i];

		w->super.sections[i] = (struct format_section_ref){
			.offset = offset,
			.bytes = section->bytes,
			.count = section->count,
			.width = section->width,
			.checksum = XXH3_64bits(section->data, section->bytes)};
		offset += section->bytes;
	}
	index_make_id(&w->super);
}

int index_file_write(struct foreign_tree *tree, const struct index_key *key, const char *format,
		     struct reader **ret, struct err *err)
{
	SCOPE(writing_release) struct writing w = {.tree = tree};
	const struct foreign_settings *settings = tree->source->settings;
	uint64_t next = reader_volumes_after(0, tree->source->size);
	uint64_t starts[TREE_VOLUMES] = {[TREE_MADE] = next};
	struct iovec parts[5 + SECTION_COUNT];
	struct reader_identity unpacked;
	uint8_t super[FORMAT_SUPER_BYTES];
	int r;

	if (tree->virtual_end)
		next = reader_volumes_after(next, tree->virtual_end);
	starts[TREE_UNPACKED] = next;
	if (tree->unpacked && reader_identity(tree->unpacked, &unpacked) == 0)
		next = reader_volumes_after(next, unpacked.size);
	starts[TREE_TEXT] = next + INDEX_TEXT;
	r = tree_index(tree, starts, &w.index, &w.labels, err);
	for (size_t i = 0; r == 0 && i < BUF_COUNT(&tree->made, struct virtual_row); i++) {
		uint8_t row[VIRTUAL_ROW_BYTES];

		virtual_encode(&BUF_ITEMS(&tree->made, const struct virtual_row)[i], row);
		r = buf_add(&w.rows, row, sizeof(row));
	}
	if (r == 0)
		r = make_options(&w, key, format);
	if (r < 0)
		return r;
	make_super(&w);
	format_super_encode(&w.super, super);
	parts[0] = (struct iovec){super, sizeof(super)};
	parts[1] = (struct iovec){tree->text.data, tree->text.len};
	parts[2] = (struct iovec){w.rows.data, w.rows.len};
	parts[3] = (struct iovec){tree->members.data, tree->members.len};
	parts[4] = (struct iovec){tree->members_text.data, tree->members_text.len};
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		parts[5 + i] = (struct iovec){w.index.sections[i].data, w.index.sections[i].bytes};
	r = index_place_keep(tree, parts, 5 + SECTION_COUNT,
			     !settings->checking || settings->unpublished, ret);
	if (r == -EFBIG)
		return err_set(err, r,
			       "its index is larger than 'ulimit -f' allows a file to be, one in "
			       "memory, too");
	return r < 0 ? err_set(err, r, "its index cannot be written: %s", err_text(NULL, r)) : 0;
}

/* --- with checksums --------------------------------------------------------------------------- */

int index_file_add_sums(const struct foreign_tree *tree, struct reader *reader,
			const uint64_t *rows, uint64_t count, bool full, struct reader **ret)
{
	SCOPE(index_whole_release) struct index_whole whole = {0};
	struct iovec all;
	char *line;
	int r = index_whole_read(reader, SIZE_MAX / 2, &whole);

	if (r < 0)
		return r;
	line = strstr(whole.options.data, INDEX_SUMS_NONE);
	if (whole.sum_count != count || (full && !line))
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++)
		le_put64(whole.sums + 8 * i, rows[i]);
	if (full)
		memcpy(line, INDEX_SUMS_FULL, strlen(INDEX_SUMS_FULL));
	r = index_whole_seal(&whole, &all);
	return r < 0 ? r
		     : index_place_keep(tree, &all, 1, tree->source->settings->unpublished, ret);
}
