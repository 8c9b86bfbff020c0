/* Parquet files of Hugging Face's datasets: a column of images, struct{bytes, path}, and one of
 * labels. Images are read in place, those of compressed pages through made.h. */
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/codec.h"
#include "pack/foreign/format.h"
#include "pack/foreign/record/parquet_names.h"
#include "pack/foreign/record/parquet_page.h"
#include <inttypes.h>
#include <string.h>

#define NAME  300
#define ROWS  65536 /* with images, which are looked for before their names */
#define LOOKS 256   /* for the path that belongs to bytes: each goes through all columns */

enum { IMAGE, LABEL, PATH, COLUMNS };

/* Rows that follow each other and have the same image, or none. */
struct run {
	struct parquet_value value;
	uint64_t count;
};

struct scan {
	struct foreign_source *source;
	struct foreign_tree *tree;
	struct parquet_footer footer;
	int leaf[COLUMNS]; /* -1: there is none */
	struct parquet_column column[COLUMNS];
	struct buf classes; /* struct foreign_text */
	struct buf images;  /* struct run */
	uint64_t record, nulls;
};

static void scan_release(struct scan *scan)
{
	for (unsigned i = 0; i < COLUMNS; i++)
		parquet_column_release(&scan->column[i]);
	buf_release(&scan->classes);
	buf_release(&scan->images);
	parquet_footer_release(&scan->footer);
}

/* --- columns ---------------------------------------------------------------------------------- */

static int find_leaf(const struct scan *scan, const char *name, const char *end)
{
	const struct parquet_leaf *leaves = parquet_leaves(&scan->footer);
	size_t len = strlen(name);

	for (unsigned i = 0; i < parquet_leaf_count(&scan->footer); i++)
		if (!strncmp(leaves[i].name, name, len) && !strcmp(leaves[i].name + len, end))
			return (int)i;
	return -1;
}

/* The only column that has bytes and a path. */
static int find_only(const struct scan *scan, char ret[static NAME])
{
	const struct parquet_leaf *leaves = parquet_leaves(&scan->footer);
	unsigned looks = 0;
	int found = -1;

	for (unsigned i = 0; i < parquet_leaf_count(&scan->footer); i++) {
		const char *dot = strrchr(leaves[i].name, '.');

		if (!dot || strcmp(dot, ".bytes") != 0)
			continue;
		if (looks++ == LOOKS)
			return -1;
		snprintf(ret, NAME, "%.*s", (int)(dot - leaves[i].name), leaves[i].name);
		if (find_leaf(scan, ret, ".path") < 0)
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	if (found >= 0)
		snprintf(ret, NAME, "%.*s", (int)strlen(leaves[found].name) - 6,
			 leaves[found].name);
	return found;
}

static int check_leaves(const struct scan *scan, struct err *err)
{
	const struct parquet_leaf *leaves = parquet_leaves(&scan->footer);

	for (unsigned i = 0; i < COLUMNS; i++) {
		const struct parquet_leaf *leaf = &leaves[scan->leaf[i] < 0 ? 0 : scan->leaf[i]];
		bool number = leaf->type == PARQUET_INT32 || leaf->type == PARQUET_INT64;

		if (scan->leaf[i] < 0)
			continue;
		if (leaf->repeated || (i == LABEL ? !number : leaf->type != PARQUET_BYTES))
			return err_set(err, -EOPNOTSUPP, "the column '%s' is of another type",
				       leaf->name);
	}
	return 0;
}

static int find_label(struct scan *scan, struct err *err)
{
	const char *const usual[] = {"label", "labels", "fine_label"};
	const char *key = scan->source->settings->label_key;
	int r = 0;

	scan->leaf[LABEL] = key ? find_leaf(scan, key, "") : -1;
	if (key && scan->leaf[LABEL] < 0)
		return err_set(err, -EINVAL, "--label-key: no column '%s'", key);
	for (unsigned i = 0; i < 3 && scan->leaf[LABEL] < 0; i++)
		scan->leaf[LABEL] = find_leaf(scan, usual[i], "");
	if (scan->leaf[LABEL] >= 0 && !scan->source->settings->classes)
		r = parquet_names(scan->footer.huggingface,
				  parquet_leaves(&scan->footer)[scan->leaf[LABEL]].name,
				  &scan->classes, err);
	return r;
}

static int find_columns(struct scan *scan, struct err *err)
{
	const struct foreign_settings *settings = scan->source->settings;
	char image[NAME];
	int r;

	snprintf(image, sizeof(image), "%s", settings->image_key ? settings->image_key : "image");
	scan->leaf[IMAGE] = find_leaf(scan, image, ".bytes");
	if (scan->leaf[IMAGE] < 0 && settings->image_key)
		scan->leaf[IMAGE] = find_leaf(scan, image, "");
	if (scan->leaf[IMAGE] < 0 && !settings->image_key)
		scan->leaf[IMAGE] = find_only(scan, image);
	if (scan->leaf[IMAGE] < 0)
		return err_set(err, -EOPNOTSUPP,
			       "no column '%s' of images; --image-key names another", image);
	scan->leaf[PATH] = settings->name_key ? find_leaf(scan, settings->name_key, "")
					      : find_leaf(scan, image, ".path");
	if (settings->name_key && scan->leaf[PATH] < 0)
		return err_set(err, -EINVAL, "--name-key: no column '%s'", settings->name_key);
	r = find_label(scan, err);
	return r < 0 ? r : check_leaves(scan, err);
}

/* --- rows ------------------------------------------------------------------------------------- */

static int take_name(struct scan *scan, const struct parquet_value *value, struct buf *ret,
		     struct err *err)
{
	struct foreign_text name;
	const uint8_t *p;
	int r = 0;

	if (value->null || !value->body)
		return 0;
	if (value->in_memory)
		p = (const uint8_t *)value->body->unpacked.data + value->offset;
	else
		r = foreign_get(scan->source, value->offset, value->size, &p, err);
	if (r < 0)
		return r;
	name = foreign_text_after((struct foreign_text){(const char *)p, value->size}, '/');
	return buf_add(ret, name.data, name.len);
}

static int add(struct scan *scan, const struct parquet_value value[static COLUMNS], struct err *err)
{
	SCOPE(buf_release) struct buf name = BUF_INIT;
	const struct foreign_text *classes = BUF_ITEMS(&scan->classes, const struct foreign_text);
	const struct parquet_body *body = value[IMAGE].body;
	struct foreign_packed packed;
	struct foreign_file file = {.record = scan->record,
				    .label = value[LABEL].null ? FOREIGN_NO_LABEL
							       : value[LABEL].number,
				    .offset = value[IMAGE].offset,
				    .size = value[IMAGE].size};
	int r = take_name(scan, &value[PATH], &name, err);

	if (r < 0)
		return r;
	if (value[IMAGE].in_memory) {
		packed = (struct foreign_packed){.offset = body->offset,
						 .size = body->size,
						 .pieces = (const void *)body->pieces.data,
						 .count = BUF_COUNT(&body->pieces, *packed.pieces)};
		file.packed = &packed;
		file.bytes = (const uint8_t *)body->unpacked.data + file.offset;
	}
	if (name.len)
		file.name = (struct foreign_text){name.data, name.len};
	file.plain = name.len && !memchr(name.data, '.', name.len);
	if (file.label == -1)
		file.label = FOREIGN_NO_LABEL;
	if (file.label >= 0 && (uint64_t)file.label < BUF_COUNT(&scan->classes, *classes))
		file.class = classes[file.label];
	return foreign_add(scan->tree, &file, err);
}

/* The next value of a column, and how many of `most` rows have it. */
static int next_value(struct scan *scan, unsigned column, uint64_t record, uint64_t most,
		      struct run *ret, struct err *err)
{
	int r = 0;

	*ret = (struct run){.value.null = true, .count = most};
	if (scan->leaf[column] >= 0)
		r = parquet_column_next(&scan->column[column], most, &ret->value, &ret->count, err);
	return r < 0 ? err_set(err, r, "record %" PRIu64 ": %s", record, err_text(err, r)) : 0;
}

/* Passes over rows without an image. */
static int pass_rows(struct scan *scan, uint64_t count, struct err *err)
{
	int r = 0;

	for (unsigned i = IMAGE + 1; r == 0 && i < COLUMNS; i++) {
		struct run other;

		for (uint64_t left = count; r == 0 && left > 0; left -= other.count)
			r = next_value(scan, i, scan->record, left, &other, err);
	}
	scan->nulls += count;
	scan->record += count;
	return r;
}

static int take_row(struct scan *scan, const struct parquet_value *image, struct err *err)
{
	struct parquet_value value[COLUMNS] = {[IMAGE] = *image};
	int r = 0;

	for (unsigned i = IMAGE + 1; r == 0 && i < COLUMNS; i++) {
		struct run other;

		r = next_value(scan, i, scan->record, 1, &other, err);
		value[i] = other.value;
	}
	if (r == 0)
		r = add(scan, value, err);
	scan->record++;
	return r;
}

static int take_images(struct scan *scan, const struct run *run, struct err *err)
{
	int r = 0;

	if (run->value.null)
		return pass_rows(scan, run->count, err);
	for (uint64_t i = 0; r == 0 && i < run->count; i++)
		r = take_row(scan, &run->value, err);
	return r;
}

/* The columns of a group follow each other in the file, and so they are read: first so many images.
 * Sets *ret to the rows that are taken. */
static int take_rows(struct scan *scan, uint64_t rows, size_t most, uint64_t *ret, struct err *err)
{
	size_t count = 0;
	int r = 0;

	scan->images.len = 0;
	for (*ret = 0; r == 0 && *ret < rows && count < most; count++) {
		struct run run;

		r = next_value(scan, IMAGE, scan->record + *ret, rows - *ret, &run, err);
		*ret += run.count;
		if (r == 0)
			r = buf_add(&scan->images, &run, sizeof(run));
	}
	for (size_t i = 0; r == 0 && i < count; i++)
		r = take_images(scan, BUF_ITEMS(&scan->images, struct run) + i, err);
	return r;
}

/* Of a compressed page a value lives until the next page is read. */
static int take_group(struct scan *scan, size_t group, struct err *err)
{
	unsigned leaves = parquet_leaf_count(&scan->footer);
	const struct parquet_chunk *chunks =
		BUF_ITEMS(&scan->footer.chunks, const struct parquet_chunk) + group * leaves;
	uint64_t left = BUF_ITEMS(&scan->footer.groups, const struct parquet_group)[group].rows;
	size_t most = chunks[scan->leaf[IMAGE]].codec == CODEC_NONE ? ROWS : 1;
	int r = 0;

	for (unsigned i = 0; i < COLUMNS; i++)
		if (scan->leaf[i] >= 0)
			parquet_column_init(&scan->column[i], scan->source,
					    &parquet_leaves(&scan->footer)[scan->leaf[i]],
					    &chunks[scan->leaf[i]], i != IMAGE);
	while (r == 0 && left > 0) {
		uint64_t taken;

		r = take_rows(scan, left, most, &taken, err);
		left -= taken;
	}
	return r;
}

static int parquet_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(scan_release) struct scan scan = {.source = source, .tree = tree};
	int r = parquet_footer_read(source, &scan.footer, err);

	if (r == 0)
		r = find_columns(&scan, err);
	if (r == 0)
		r = foreign_tree_prefix(tree);
	for (size_t i = 0; r == 0 && i < BUF_COUNT(&scan.footer.groups, struct parquet_group); i++)
		r = take_group(&scan, i, err);
	return r < 0 ? r
		     : foreign_tree_note_count(tree, scan.nulls,
					       "%" PRIu64 " records without an image are left out");
}

const struct foreign_format parquet_format = {
	.name = "parquet",
	.probe = parquet_footer_probe,
	.scan = parquet_scan,
};
