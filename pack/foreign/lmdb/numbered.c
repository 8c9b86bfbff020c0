/* LMDB files whose keys are the numbers of their records, "0", "1", ..., "10", and whose values are
 * samples (pack/foreign/lmdb/sample.h). Keys that begin with "__" are of what can be counted, and
 * are left out.
 *
 *	folder2lmdb   Efficient-PyTorch's: (bytes of the file, label), by pyarrow.serialize();
 *		      pytorch_lmdb_imagenet's is the same by pickle
 *	tensorpack    LMDBSerializer, which Efficient-PyTorch has for a second tool: [array of
 *		      uint8, label], by msgpack_numpy, pyarrow.serialize() or pickle, as the
 *		      version of tensorpack was. The array is the bytes of the file, or pixels as
 *		      OpenCV has them.
 *	image2lmdb    bytes of the file, by pyarrow.serialize(). There is no label. Names are in a
 *		      text beside the file, NAME_images_idx.txt or images_idx.map: a line "name
 *		      number" a record. They come from all classes, so that one may be there
 *		      several times.
 *
 * A scan has 24 bytes a record in memory, and as many again while it sorts them: 61 MB for the
 * 1,281,167 of ImageNet. */
#include "base/bytes.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include "pack/foreign/format.h"
#include "pack/foreign/lmdb/sample.h"
#include "pack/format.h"
#include <inttypes.h>
#include <string.h>

enum numbered_kind {
	NUMBERED_NONE,	  /* no such file */
	NUMBERED_LABELED, /* bytes and a label */
	NUMBERED_PLAIN,	  /* bytes alone */
	NUMBERED_ARRAY,	  /* an array and a label */
	NUMBERED_OTHER,	  /* such keys, in a known encoding, but no sample */
};

/* --- names of Image2LMDB ---------------------------------------------------------------------- */

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
static void name_file(struct image_names *names, struct foreign_file *file)
{
	const struct image_name key = {.number = (uint32_t)file->record};
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

/* --- a scan ----------------------------------------------------------------------------------- */

/* The keys of LMDB are sorted as text: 0, 1, 10, 100, 11, ... Records lie in the order of their
 * numbers, in which they were written: to read them as they lie is to read forward. */
struct numbered_record {
	uint64_t offset, size; /* of the value in the file */
	uint32_t number;
};

/* The head and the tail of each value are read. The tail of one and the head of the next are close
 * together: these pages are asked for so many records ahead. */
#define AHEAD	  64
#define AHEAD_FAR 512  /* the same where it is a round trip */
#define TAIL	  64   /* bytes in which a label and what follows it lie */
#define HEAD	  4096 /* bytes in which what comes before an image lies: mostly far fewer, */
#define HEAD_FAR  1536 /* so that from far fewer are read */

struct numbered {
	struct foreign_source *source;
	struct foreign_tree *tree;
	struct buf records; /* struct numbered_record */
	struct pickle *pickle;
	struct image_names *names; /* of files, which are not in their samples; or NULL */
	uint64_t others;	   /* records that have more than what is taken */
	bool far;
};

/* --- keys ------------------------------------------------------------------------------------- */

static bool is_special(const struct walker_record *record)
{
	return record->key_len > 2 && memcmp(record->key, "__", 2) == 0;
}

static bool key_number(const struct walker_record *record, uint32_t *ret)
{
	const struct foreign_text key = {(const char *)record->key, record->key_len};
	uint64_t number;
	size_t digits = foreign_text_number(key, &number);

	*ret = (uint32_t)number;
	return digits && digits == key.len && digits <= 10 && number < UINT32_MAX;
}

static int bad_key(const struct walker_record *record, struct err *err)
{
	char text[33] = "";

	for (size_t i = 0; i < record->key_len && i < sizeof(text) - 1; i++)
		text[i] =
			record->key[i] > ' ' && record->key[i] < 0x7f ? (char)record->key[i] : '?';
	return err_set(err, -EOPNOTSUPP, "the key '%s' is not the number of a record", text);
}

static int collect(struct numbered *numbered, struct err *err)
{
	struct walker *walker = numbered->source->walker;
	struct walker_record record;
	int r = walker_first(walker, &record, err);

	for (; r == 0; r = walker_next(walker, &record, err)) {
		struct numbered_record one = {.offset = record.offset, .size = record.size};

		if (is_special(&record))
			continue;
		if (!key_number(&record, &one.number))
			return bad_key(&record, err);
		if (buf_add(&numbered->records, &one, sizeof(one)) < 0)
			return -ENOMEM;
	}
	return r < 0 ? r : 0;
}

/* --- records ---------------------------------------------------------------------------------- */

/* With a label the path is a name in the class */
static void take_texts(struct numbered *numbered, const struct sample *sample,
		       struct foreign_file *file)
{
	bool labelled = sample->class.data || sample->label != FOREIGN_NO_LABEL;

	file->class = sample->class;
	if (labelled && sample->path.data)
		file->name = foreign_text_after(sample->path, '/');
	else
		file->path = sample->path;
	numbered->others += sample->others;
}

static int add_record(struct numbered *numbered, const struct numbered_record *record,
		      struct err *err)
{
	struct sample sample;
	struct foreign_pixels pixels;
	struct foreign_file file = {.record = record->number};
	const char *key = foreign_asked_key(numbered->source->settings);
	int r = sample_read(numbered->pickle, numbered->source, record->offset, record->size,
			    &sample, err);

	if (r == 0 && sample.dimensions > 1) {
		file.pixels = &pixels;
		if (!sample_pixels(&sample, &pixels))
			r = sample_add_other("an array of another shape", err);
	}
	if (r == 0 && key && !sample.dict)
		r = err_set(err, -EINVAL, "'%s' chooses a field of a dict, and it is none", key);
	if (r < 0)
		return err_set(err, r, "record %" PRIu32 ": %s", record->number, err_text(err, r));
	take_texts(numbered, &sample, &file);
	file.label = sample.label;
	file.offset = sample.offset;
	file.size = sample.size;
	if (numbered->names)
		name_file(numbered->names, &file);
	return foreign_add(numbered->tree, &file, err);
}

/* A disk reads the head of the next one with it. */
static void ask_for(const struct numbered *numbered, const struct numbered_record *record)
{
	uint64_t end = record->offset + record->size;
	uint64_t tail = record->size < TAIL ? record->offset : end - TAIL;

	if (numbered->far) {
		foreign_will_get(numbered->source, record->offset, min(record->size, HEAD_FAR));
		foreign_will_get(numbered->source, tail, end - tail);
	} else {
		foreign_will_get(numbered->source, tail, end - tail + HEAD);
	}
}

static int add_records(struct numbered *numbered, struct err *err)
{
	struct numbered_record *records = BUF_ITEMS(&numbered->records, struct numbered_record);
	size_t count = BUF_COUNT(&numbered->records, *records), asked = 0;
	size_t ahead = numbered->far ? AHEAD_FAR : AHEAD;
	int r = 0;

	buf_sort(&numbered->records, sizeof(*records), search_compare64);
	for (size_t i = 0; r == 0 && i < count; i++) {
		for (; asked < count && asked <= i + ahead; asked++)
			ask_for(numbered, &records[asked]);
		r = add_record(numbered, &records[i], err);
	}
	return r;
}

static int numbered_scan(struct foreign_source *source, struct foreign_tree *tree,
			 struct image_names *names, struct err *err)
{
	SCOPE(pickle_release) struct pickle *pickle = NULL;
	struct numbered numbered = {.source = source, .tree = tree, .names = names};
	int r;

	numbered.far = reader_hints(source->reader).far;
	r = pickle_new(&pickle);
	if (r < 0)
		return r;
	numbered.pickle = pickle;
	r = collect(&numbered, err);
	if (r == 0)
		r = add_records(&numbered, err);
	buf_release(&numbered.records);
	return r < 0 ? r
		     : foreign_tree_note_count(tree, numbered.others,
					       "%" PRIu64
					       " records have more than an image, its label and "
					       "its path, which is left out");
}

/* --- recognising ------------------------------------------------------------------------------ */

static enum numbered_kind kind_of(const struct sample *sample)
{
	if (sample->dimensions > 0)
		return NUMBERED_ARRAY;
	return sample->label == FOREIGN_NO_LABEL && !sample->class.data && !sample->path.data
		       ? NUMBERED_PLAIN
		       : NUMBERED_LABELED;
}

/* Whether it has a key as all these writers add: __keys__ or __len__. */
static int has_special(struct foreign_source *source)
{
	struct walker_record record;
	int r = walker_seek(source->walker, "__", 2, &record, NULL);

	return r == 0 ? is_special(&record) : r < 0 ? r : 0;
}

/* By the first record. Returns enum numbered_kind, or the error of a read. */
static int numbered_kind(struct foreign_source *source)
{
	const struct walker_record first = source->first;
	SCOPE(pickle_release) struct pickle *pickle = NULL;
	struct sample sample;
	const uint8_t *head;
	uint32_t number;
	size_t len;
	int r;

	if (!first.key || !key_number(&first, &number))
		return NUMBERED_NONE;
	r = foreign_peek(source, first.offset, (size_t)min(first.size, 16), &head, &len);
	if (r < 0 || sample_encoding(head, len) == SAMPLE_UNKNOWN)
		return r < 0 ? r : NUMBERED_NONE;
	r = pickle_new(&pickle);
	if (r == 0)
		r = sample_read(pickle, source, first.offset, first.size, &sample, NULL);
	if (r == 0)
		return (int)kind_of(&sample);
	if (r != -EOPNOTSUPP && r != -EBADMSG)
		return r;
	r = has_special(source);
	return r > 0 ? NUMBERED_OTHER : r;
}

/* --- the formats ------------------------------------------------------------------------------ */

static int folder2lmdb_probe(struct foreign_source *source)
{
	int kind = numbered_kind(source);

	return kind < 0 ? kind : kind == NUMBERED_LABELED || kind == NUMBERED_OTHER;
}

static int tensorpack_probe(struct foreign_source *source)
{
	int kind = numbered_kind(source);

	return kind < 0 ? kind : kind == NUMBERED_ARRAY;
}

static int scan_labelled(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	return numbered_scan(source, tree, NULL, err);
}

const struct foreign_format folder2lmdb_format = {
	.name = "folder2lmdb",
	.takes = FOREIGN_TAKES_KEYS,
	.lmdb = true,
	.probe = folder2lmdb_probe,
	.scan = scan_labelled,
};

const struct foreign_format tensorpack_format = {
	.name = "tensorpack",
	.takes = FOREIGN_TAKES_KEYS,
	.lmdb = true,
	.probe = tensorpack_probe,
	.scan = scan_labelled,
};

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

	return r < 0 ? r : numbered_scan(source, tree, &names, err);
}

const struct foreign_format image2lmdb_format = {
	.name = "image2lmdb",
	.lmdb = true,
	.probe = image2lmdb_probe,
	.scan = image2lmdb_scan,
};
