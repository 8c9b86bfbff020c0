#include "base/reader_volumes.h"
#include "base/scope.h"
#include "pack/foreign/index_file.h"
#include "pack/foreign/index_place.h"
#include "pack/foreign/index_whole.h"
#include "pack/made_names.h"
#include "pack/xxh3.h"
#include <inttypes.h>
#include <string.h>

struct writing {
	struct foreign_tree *tree;
	struct index index;
	struct labels labels;
	struct buf rows; /* of struct made_row */
	struct buf options;
	struct format_super super;
};

static void writing_release(struct writing *w)
{
	index_release(&w->index);
	labels_release(&w->labels);
	buf_release(&w->rows);
	buf_release(&w->options);
}

static int make_index(struct writing *w, struct err *err)
{
	uint64_t next = reader_volumes_after(0, w->tree->source->size);
	uint64_t starts[TREE_VOLUMES] = {[TREE_MADE] = next};
	struct reader_identity unpacked;

	if (w->tree->made_end)
		next = reader_volumes_after(next, w->tree->made_end);
	starts[TREE_UNPACKED] = next;
	if (w->tree->unpacked && reader_identity(w->tree->unpacked, &unpacked) == 0)
		next = reader_volumes_after(next, unpacked.size);
	starts[TREE_TEXT] = next + INDEX_TEXT;
	return tree_index(w->tree, starts, &w->index, &w->labels, err);
}

static size_t made_count(const struct foreign_tree *tree)
{
	return BUF_COUNT(&tree->made, struct made_row);
}

static int make_rows(struct writing *w)
{
	const struct made_row *all = BUF_ITEMS(&w->tree->made, const struct made_row);
	int r = 0;

	for (size_t i = 0; r == 0 && i < made_count(w->tree); i++) {
		uint8_t row[MADE_ROW_BYTES];

		made_encode(&all[i], row);
		r = buf_add(&w->rows, row, sizeof(row));
	}
	return r;
}

static int make_options(struct writing *w, const struct index_key *key, const char *format)
{
	const struct buf *text = &w->tree->text;
	const struct buf *beside = &w->tree->source->beside;
	int r = buf_addf(&w->options, "%sformat=%s\nextra=%zu %zu %016" PRIx64 INDEX_SUMS_NONE,
			 key->text, format, text->len, made_count(w->tree),
			 index_extra_hash(text->data, text->len, w->rows.data, w->rows.len));

	if (r == 0)
		r = buf_add(&w->options, beside->data, beside->len);
	if (r == 0 && (labels_count(&w->labels) || w->tree->style.only_names))
		r = labels_style_write(&w->tree->style, &w->options);
	if (r == 0 && w->tree->made_up)
		r = made_names_write(w->tree->prefix ? w->tree->prefix : "", &w->options);
	return r < 0 ? r : labels_write(&w->labels, &w->options);
}

static void make_super(struct writing *w)
{
	uint64_t offset = INDEX_TEXT + w->tree->text.len + w->rows.len;

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

/* The options are a section like any other. */
static int take_options(struct writing *w)
{
	struct index_section *section = &w->index.sections[SECTION_OPTIONS];

	free(section->data);
	if (index_section_alloc(section, w->options.len, 0) < 0)
		return -ENOMEM;
	memcpy(section->data, w->options.data, w->options.len);
	return 0;
}

static int put_all(const struct writing *w, struct reader **ret)
{
	const struct buf *text = &w->tree->text;
	uint8_t super[FORMAT_SUPER_BYTES];
	struct iovec parts[3 + SECTION_COUNT] = {
		{super, sizeof(super)}, {text->data, text->len}, {w->rows.data, w->rows.len}};

	for (unsigned i = 0; i < SECTION_COUNT; i++)
		parts[3 + i] =
			(struct iovec){w->index.sections[i].data, w->index.sections[i].bytes};
	format_super_encode(&w->super, super);
	return index_place_keep(w->tree, parts, 3 + SECTION_COUNT, ret);
}

int index_file_write(struct foreign_tree *tree, const struct index_key *key, const char *format,
		     struct reader **ret, struct err *err)
{
	SCOPE(writing_release) struct writing w = {.tree = tree};
	int r = make_index(&w, err);

	if (r == 0)
		r = make_rows(&w);
	if (r == 0)
		r = make_options(&w, key, format);
	if (r == 0)
		r = take_options(&w);
	if (r < 0)
		return r;
	make_super(&w);
	r = put_all(&w, ret);
	return r == -EFBIG
		       ? err_set(err, r,
				 "its index is larger than 'ulimit -f' allows a file to be, one "
				 "in memory, too")
		       : r;
}

/* --- with checksums --------------------------------------------------------------------------- */

static int put_sums(struct index_whole *whole, const uint64_t *rows, uint64_t count)
{
	const struct format_section_ref *ref = &whole->super.sections[SECTION_CHECKSUMS];
	char *sums = index_whole_section(whole, SECTION_CHECKSUMS);

	if (ref->count != count || ref->width != 8 || ref->bytes != 8 * count)
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++)
		le_put64((uint8_t *)sums + 8 * i, rows[i]);
	index_whole_changed(whole, SECTION_CHECKSUMS);
	return 0;
}

static int put_full(struct index_whole *whole)
{
	char *options = index_whole_section(whole, SECTION_OPTIONS);
	char *line = memmem(options, whole->super.sections[SECTION_OPTIONS].bytes, INDEX_SUMS_NONE,
			    strlen(INDEX_SUMS_NONE));

	if (!line)
		return -EBADMSG;
	memcpy(line, INDEX_SUMS_FULL, strlen(INDEX_SUMS_FULL));
	index_whole_changed(whole, SECTION_OPTIONS);
	return 0;
}

int index_file_add_sums(struct foreign_tree *tree, struct reader *reader, const uint64_t *rows,
			uint64_t count, bool full, struct reader **ret)
{
	SCOPE(index_whole_release) struct index_whole whole = {0};
	SCOPE_CLOSE int fd = -1;
	struct iovec all;
	int r = index_whole_read(reader, SIZE_MAX / 2, &whole);

	if (r == 0)
		r = put_sums(&whole, rows, count);
	if (r == 0 && full)
		r = put_full(&whole);
	if (r < 0)
		return r;
	index_whole_seal(&whole);
	all = (struct iovec){whole.bytes.data, whole.bytes.len};
	if (tree->source->settings->unpublished)
		return index_place_keep(tree, &all, 1, ret);
	*ret = NULL;
	fd = index_place_write(tree, &all, 1);
	return fd < 0 ? fd : 0;
}
