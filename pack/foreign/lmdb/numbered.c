#include "pack/foreign/lmdb/numbered.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include <inttypes.h>
#include <string.h>

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
	numbered_name_fn *name;
	void *context;
	uint64_t others; /* records that have more than what is taken */
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
	int r = sample_read(numbered->pickle, numbered->source, record->offset, record->size,
			    &sample, err);

	if (r == 0 && sample.dimensions > 1) {
		file.pixels = &pixels;
		if (!sample_pixels(&sample, &pixels))
			r = sample_add_other("an array of another shape", err);
	}
	if (r < 0)
		return err_set(err, r, "record %" PRIu32 ": %s", record->number, err_text(err, r));
	take_texts(numbered, &sample, &file);
	file.label = sample.label;
	file.offset = sample.offset;
	file.size = sample.size;
	if (numbered->name)
		numbered->name(numbered->context, &file);
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

int numbered_scan(struct foreign_source *source, struct foreign_tree *tree, numbered_name_fn *name,
		  void *context, struct err *err)
{
	SCOPE(pickle_release) struct pickle *pickle = NULL;
	struct numbered numbered = {.source = source, .tree = tree, .name = name};
	int r;

	numbered.context = context;
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

int numbered_kind(struct foreign_source *source)
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
