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
#define TOLD  8	    /* columns that may be of labels */

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
	struct buf images; /* struct run */
	uint64_t record, nulls;
};

static void scan_release(struct scan *scan)
{
	for (unsigned i = 0; i < COLUMNS; i++)
		parquet_column_release(&scan->column[i]);
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

/* "image" of "image.bytes", beside which there is "image.path"; false: the column is none. */
static bool image_of(const struct scan *scan, const struct parquet_leaf *leaf,
		     char ret[static NAME])
{
	const char *dot = strrchr(leaf->name, '.');

	if (!dot || strcmp(dot, ".bytes") != 0)
		return false;
	snprintf(ret, NAME, "%.*s", (int)(dot - leaf->name), leaf->name);
	return find_leaf(scan, ret, ".path") >= 0;
}

/* The column that has bytes and a path; *ret_second: another one. -1: there is none. */
static int find_only(const struct scan *scan, int *ret_second)
{
	const struct parquet_leaf *leaves = parquet_leaves(&scan->footer);
	int found = -1;

	*ret_second = -1;
	for (unsigned i = 0; i < min(parquet_leaf_count(&scan->footer), LOOKS); i++) {
		char image[NAME];

		if (!image_of(scan, &leaves[i], image))
			continue;
		if (found >= 0)
			*ret_second = (int)i;
		else
			found = (int)i;
	}
	return found;
}

static const char *words_of(const struct parquet_leaf *leaf)
{
	static const char *const words[] = {
		"booleans", "integers", "integers", "timestamps",
		"floats",   "floats",	"bytes",    "bytes of one length"};

	if (leaf->repeated)
		return "lists";
	if (leaf->text)
		return "texts";
	return leaf->type < sizeof(words) / sizeof(*words) ? words[leaf->type] : "another type";
}

static bool is_label(const struct parquet_leaf *leaf)
{
	return !leaf->repeated && (leaf->type == PARQUET_INT32 || leaf->type == PARQUET_INT64 ||
				   leaf->type == PARQUET_BYTES);
}

/* What is no label, and was not asked for, is not one. */
static int check_label(struct scan *scan, struct err *err)
{
	const struct parquet_leaf *leaf = parquet_leaves(&scan->footer) + scan->leaf[LABEL];

	if (scan->leaf[LABEL] < 0 || is_label(leaf))
		return 0;
	if (scan->source->settings->label_key)
		return err_set(err, -EOPNOTSUPP, "--label-key: the column '%s' has %s", leaf->name,
			       words_of(leaf));
	scan->leaf[LABEL] = -1;
	return foreign_tree_note(scan->tree,
				 "the column '%s' has %s, and no labels: --label-key names "
				 "another",
				 leaf->name, words_of(leaf));
}

static int check_bytes(struct scan *scan, unsigned column, struct err *err)
{
	const struct parquet_leaf *leaf = parquet_leaves(&scan->footer) + scan->leaf[column];

	if (scan->leaf[column] < 0 ||
	    (!leaf->repeated && leaf->type == PARQUET_BYTES && (column != IMAGE || !leaf->text)))
		return 0;
	/* pandas writes a column of None as integers. */
	if (column == PATH && !scan->source->settings->name_key) {
		scan->leaf[PATH] = -1;
		return foreign_tree_note(scan->tree, "the column '%s' has %s, and no names",
					 leaf->name, words_of(leaf));
	}
	return err_set(err, -EOPNOTSUPP, "the column '%s' has %s: --%s-key names another",
		       leaf->name, words_of(leaf), column == IMAGE ? "image" : "name");
}

static int name_classes(struct scan *scan, struct err *err)
{
	const char *label = parquet_leaves(&scan->footer)[scan->leaf[LABEL]].name;
	SCOPE(buf_release) struct buf text = BUF_INIT;
	SCOPE(buf_release) struct buf names = BUF_INIT;
	int r = parquet_names(scan->footer.huggingface, label, &text, &names, err);

	return r < 0 ? r
		     : foreign_tree_classes(scan->tree,
					    BUF_ITEMS(&names, const struct foreign_text),
					    BUF_COUNT(&names, struct foreign_text));
}

/* A usual name, at the top or beside the image. */
static int find_usual(const struct scan *scan, const char *image)
{
	static const char *const usual[] = {"label", "labels", "fine_label"};
	const char *dot = strrchr(image, '.');
	int found = -1;

	for (unsigned i = 0; i < 6 && found < 0; i++) {
		char name[NAME];

		snprintf(name, NAME, "%.*s%s", i < 3 || !dot ? 0 : (int)(dot + 1 - image), image,
			 usual[i % 3]);
		found = find_leaf(scan, name, "");
	}
	for (unsigned i = 0; i < 3 && found < 0; i++)
		found = find_leaf(scan, usual[i], ".list.element");
	return found;
}

/* The file has names of classes for its numbers. */
static bool has_classes(const struct scan *scan, const struct parquet_leaf *leaf)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	SCOPE(buf_release) struct buf names = BUF_INIT;

	return is_label(leaf) && leaf->type != PARQUET_BYTES &&
	       parquet_names(scan->footer.huggingface, leaf->name, &text, &names, NULL) == 0 &&
	       names.len > 0;
}

/* The one column of which the file has names of classes. */
static int find_named(const struct scan *scan)
{
	const struct parquet_leaf *leaves = parquet_leaves(&scan->footer);
	int found = -1;

	for (unsigned i = 0; i < min(parquet_leaf_count(&scan->footer), LOOKS); i++) {
		if (!has_classes(scan, &leaves[i]))
			continue;
		if (found >= 0)
			return -1;
		found = (int)i;
	}
	return found;
}

/* Names the columns that labels may be in. */
static int lack_label(const struct scan *scan)
{
	SCOPE(buf_release) struct buf names = BUF_INIT;
	const struct parquet_leaf *leaves = parquet_leaves(&scan->footer);
	unsigned told = 0;
	int r = 0;

	for (unsigned i = 0; i < parquet_leaf_count(&scan->footer) && told < TOLD && r == 0; i++)
		if (is_label(&leaves[i]) && (leaves[i].type != PARQUET_BYTES || leaves[i].text) &&
		    (int)i != scan->leaf[PATH])
			r = buf_addf(&names, "%s%s", told++ ? ", " : "", leaves[i].name);
	return r < 0 || told == 0
		       ? r
		       : foreign_tree_note(scan->tree,
					   "no column 'label', so that all images are in images: "
					   "--label-key names another of: %s",
					   names.data);
}

static int find_label(struct scan *scan, const char *image, struct err *err)
{
	const char *key = scan->source->settings->label_key;

	scan->leaf[LABEL] = key ? find_leaf(scan, key, "") : find_usual(scan, image);
	if (key && scan->leaf[LABEL] < 0)
		return err_set(err, -EINVAL, "--label-key: no column '%s'", key);
	if (scan->leaf[LABEL] < 0)
		scan->leaf[LABEL] = find_named(scan);
	if (scan->leaf[LABEL] < 0)
		return lack_label(scan);
	return scan->source->settings->classes ? 0 : name_classes(scan, err);
}

/* `image`: the name of the column that is wanted, and of the one that is found. */
static int find_images(struct scan *scan, char image[static NAME], struct err *err)
{
	const struct parquet_leaf *leaves = parquet_leaves(&scan->footer);
	int found = find_leaf(scan, image, ".bytes"), second = -1;

	if (found < 0)
		found = find_leaf(scan, image, "");
	if (found < 0 && !scan->source->settings->image_key) {
		found = find_only(scan, &second);
		if (found >= 0)
			image_of(scan, &leaves[found], image);
	}
	if (second >= 0)
		return err_set(err, -EOPNOTSUPP,
			       "images in '%s' and in '%s': --image-key names one of them",
			       leaves[found].name, leaves[second].name);
	if (found < 0)
		return err_set(err, -EOPNOTSUPP,
			       "no column '%s' of images; --image-key names another", image);
	scan->leaf[IMAGE] = found;
	return 0;
}

/* Names the columns that could be meant as well. */
static int note_others(const struct scan *scan)
{
	const struct parquet_leaf *leaves = parquet_leaves(&scan->footer);
	const struct foreign_settings *settings = scan->source->settings;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < min(parquet_leaf_count(&scan->footer), LOOKS); i++) {
		char image[NAME];

		if (image_of(scan, &leaves[i], image) && (int)i != scan->leaf[IMAGE] &&
		    !settings->image_key)
			r = foreign_tree_note(
				scan->tree,
				"the column '%s' has images, too, which are left out: "
				"--image-key=%s shows them instead",
				image, image);
		if (r == 0 && (int)i != scan->leaf[LABEL] && !settings->label_key &&
		    has_classes(scan, &leaves[i]))
			r = foreign_tree_note(scan->tree,
					      "the column '%s' has labels, too: --label-key=%s "
					      "takes them instead",
					      leaves[i].name, leaves[i].name);
	}
	return r;
}

static int find_columns(struct scan *scan, struct err *err)
{
	const struct foreign_settings *settings = scan->source->settings;
	char image[NAME];
	int r;

	snprintf(image, sizeof(image), "%s", settings->image_key ? settings->image_key : "image");
	r = find_images(scan, image, err);
	if (r < 0)
		return r;
	scan->leaf[PATH] = settings->name_key ? find_leaf(scan, settings->name_key, "")
					      : find_leaf(scan, image, ".path");
	if (settings->name_key && scan->leaf[PATH] < 0)
		return err_set(err, -EINVAL, "--name-key: no column '%s'", settings->name_key);
	r = find_label(scan, image, err);
	if (r == 0)
		r = check_label(scan, err);
	for (unsigned i = 0; r == 0 && i < COLUMNS; i++)
		r = i == LABEL ? 0 : check_bytes(scan, i, err);
	return r < 0 ? r : note_others(scan);
}

/* --- rows ------------------------------------------------------------------------------------- */

static int take_text(struct scan *scan, const struct parquet_value *value, struct buf *ret,
		     struct err *err)
{
	const uint8_t *p;
	int r = 0;

	if (value->null || !value->body)
		return 0;
	if (value->in_memory)
		p = (const uint8_t *)value->body->unpacked.data + value->offset;
	else
		r = foreign_get(scan->source, value->offset, value->size, &p, err);
	return r < 0 ? r : buf_add(ret, p, value->size);
}

/* A label that is a text is the class. */
static int take_label(struct scan *scan, const struct parquet_value *value,
		      struct foreign_file *file, struct buf *class, struct err *err)
{
	int r;

	file->label = FOREIGN_NO_LABEL;
	if (value->null)
		return 0;
	if (parquet_leaves(&scan->footer)[scan->leaf[LABEL]].type != PARQUET_BYTES) {
		file->label = value->number;
		return 0;
	}
	r = take_text(scan, value, class, err);
	if (class->len)
		file->class = (struct foreign_text){class->data, class->len};
	return r;
}

static int add(struct scan *scan, const struct parquet_value value[static COLUMNS], struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	SCOPE(buf_release) struct buf class = BUF_INIT;
	const struct parquet_body *body = value[IMAGE].body;
	struct foreign_packed packed;
	struct foreign_file file = {
		.record = scan->record, .offset = value[IMAGE].offset, .size = value[IMAGE].size};
	struct foreign_text name;
	int r = take_text(scan, &value[PATH], &path, err);

	if (r == 0)
		r = take_label(scan, &value[LABEL], &file, &class, err);
	if (r < 0)
		return r;
	if (value[IMAGE].in_memory) {
		packed = (struct foreign_packed){.offset = body->offset,
						 .size = body->size,
						 .pieces = (const void *)body->pieces.data,
						 .count = BUF_COUNT(&body->pieces, *packed.pieces)};
		file.packed = &packed;
		file.head = (struct foreign_text){body->unpacked.data + file.offset, file.size};
		file.in_memory = true;
	}
	name = foreign_text_after((struct foreign_text){path.data, path.len}, '/');
	if (name.len)
		file.name = name;
	file.plain = name.len && !memchr(name.data, '.', name.len);
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
	if (r == 0 && scan.nulls > 0 && scan.nulls == scan.record)
		return err_set(err, -EOPNOTSUPP,
			       "none of its %" PRIu64
			       " records has the bytes of an image: they may name files "
			       "that lie elsewhere",
			       scan.nulls);
	return r < 0 ? r
		     : foreign_tree_note_count(tree, scan.nulls,
					       "%" PRIu64 " records without an image are left out");
}

const struct foreign_format parquet_format = {
	.name = "parquet",
	.takes = FOREIGN_TAKES_KEYS,
	.streamed = true,
	.probe = parquet_footer_probe,
	.scan = parquet_scan,
};
