/* LMDB files of Image2LMDB: the number of a record -> bytes of the file, by pyarrow.serialize().
 * There is no label. Names are in a text beside the file, NAME_images_idx.txt or images_idx.map: a
 * line "name number" a record. They come from all classes, so that one may be there several times.
 */
#include "base/bytes.h"
#include "base/scope.h"
#include "base/search.h"
#include "pack/foreign/format.h"
#include "pack/foreign/lmdb/numbered.h"
#include "pack/format.h"
#include <inttypes.h>
#include <string.h>

struct image_name {
	uint32_t number;  /* of the record */
	bool repeated;	  /* others have this name, too */
	const char *name; /* in the text */
	size_t len;
};

struct image_names {
	struct buf text;
	struct buf rows; /* struct image_name, by number */
	uint64_t repeated;
	char made[FORMAT_NAME_MAX + 16]; /* the name in hand */
};

static void names_release(struct image_names *names)
{
	buf_release(&names->text);
	buf_release(&names->rows);
}

static int read_beside(struct foreign_source *source, struct buf *text, struct err *err)
{
	int r = foreign_read_beside(source, "_images_idx.txt", text, err);

	return r == -ENOENT ? foreign_read_beside(source, "/images_idx.map", text, err) : r;
}

/* "name number", where the name may have spaces. */
static bool parse_line(struct foreign_text line, struct image_name *ret)
{
	struct foreign_text digits;
	uint64_t number;

	while (foreign_text_cut(&line, " ") || foreign_text_cut(&line, "\r"))
		;
	digits = foreign_text_after(line, ' ');
	if (digits.len == 0 || digits.len > 10 || line.len < digits.len + 2 ||
	    foreign_text_number(digits, &number) != digits.len)
		return false;
	*ret = (struct image_name){
		.name = line.data, .len = line.len - digits.len - 1, .number = (uint32_t)number};
	return number < UINT32_MAX && ret->len <= FORMAT_NAME_MAX;
}

static int parse(struct image_names *names, struct err *err)
{
	struct foreign_text rest = {names->text.data, names->text.len}, line;
	int r = 0;

	for (uint64_t number = 1; r == 0 && foreign_text_line(&rest, &line); number++) {
		struct image_name row;

		if (line.len == 0)
			continue;
		if (!parse_line(line, &row))
			return err_set(err, -EINVAL,
				       "line %" PRIu64 " of the file of names is not 'name number'",
				       number);
		r = buf_add(&names->rows, &row, sizeof(row));
	}
	return r;
}

static int by_name(const void *a, const void *b)
{
	const struct image_name *one = a, *other = b;

	return bytes_compare(one->name, one->len, other->name, other->len);
}

static void sort(struct image_names *names)
{
	struct image_name *rows = BUF_ITEMS(&names->rows, struct image_name);
	size_t count = BUF_COUNT(&names->rows, *rows);

	buf_sort(&names->rows, sizeof(*rows), by_name);
	for (size_t i = 1; i < count; i++)
		if (by_name(&rows[i - 1], &rows[i]) == 0)
			rows[i - 1].repeated = rows[i].repeated = true;
	for (size_t i = 0; i < count; i++)
		names->repeated += rows[i].repeated;
	buf_sort(&names->rows, sizeof(*rows), search_compare32);
}

/* A name that comes again gets the number of its record in front. */
static void name_file(void *context, struct foreign_file *file)
{
	const struct image_name key = {.number = (uint32_t)file->record};
	struct image_names *names = context;
	const struct image_name *row = buf_find(&names->rows, &key, sizeof(key), search_compare32);

	if (!row)
		return;
	file->name = (struct foreign_text){row->name, row->len};
	if (!row->repeated)
		return;
	snprintf(names->made, sizeof(names->made), "%08" PRIu32 "-%.*s", row->number, (int)row->len,
		 row->name);
	file->name = (struct foreign_text){names->made, strlen(names->made)};
}

/* --names wins over the file beside. */
static int read_names(struct foreign_source *source, struct foreign_tree *tree,
		      struct image_names *names, struct err *err)
{
	int r;

	if (source->settings->names)
		return 0;
	r = read_beside(source, &names->text, err);
	if (r == -ENOENT)
		return foreign_tree_note(tree,
					 "no file of names is beside it: images are numbered");
	if (r == 0)
		r = parse(names, err);
	if (r < 0)
		return r;
	sort(names);
	return foreign_tree_note_count(tree, names->repeated,
				       "%" PRIu64
				       " images share their names with others: the "
				       "numbers of their records come before");
}

static int image2lmdb_probe(struct foreign_source *source)
{
	int kind = numbered_kind(source);

	return kind < 0 ? kind : kind == NUMBERED_PLAIN;
}

static int image2lmdb_scan(struct foreign_source *source, struct foreign_tree *tree,
			   struct err *err)
{
	SCOPE(names_release) struct image_names names = {0};
	int r = read_names(source, tree, &names, err);

	return r < 0 ? r : numbered_scan(source, tree, name_file, &names, err);
}

const struct foreign_format image2lmdb_format = {
	.name = "image2lmdb",
	.lmdb = true,
	.probe = image2lmdb_probe,
	.scan = image2lmdb_scan,
};
