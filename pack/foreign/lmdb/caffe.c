/* LMDB of Caffe's convert_imageset: key "%08d_PATH" or "%08d", value a Datum (caffe.proto), which
 * has the image as a file, or as pixels, in OpenCV's order of channels, a plane after the other. */
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/encoding/protobuf.h"
#include "pack/foreign/format.h"
#include "pack/foreign/source.h"
#include <inttypes.h>
#include <string.h>

#define HEAD  256 /* bytes of a Datum in front of the data, at most, */
#define TAIL  64  /* and what is behind it */
#define AHEAD 512 /* records of which these are asked for from far */

/* --- a Datum ---------------------------------------------------------------------------------- */

enum {
	DATUM_CHANNELS = 1,
	DATUM_HEIGHT,
	DATUM_WIDTH,
	DATUM_DATA,
	DATUM_LABEL,
	DATUM_FLOATS,
	DATUM_ENCODED,
	DATUM_FIELDS,
};

struct datum {
	uint64_t number[DATUM_FIELDS]; /* by field; of data, its size */
	bool has[DATUM_FIELDS];
	uint64_t offset; /* of the data in the file */
};

static bool is_number(uint32_t field)
{
	return field != DATUM_DATA && field != DATUM_FLOATS;
}

static int take(const struct protobuf_field *field, struct datum *datum, struct err *err)
{
	enum protobuf_type type = is_number(field->number) ? PROTOBUF_VARINT : PROTOBUF_BYTES;
	bool floats = field->number == DATUM_FLOATS && field->type == PROTOBUF_FIXED32;

	if (field->number >= DATUM_FIELDS || (field->type != type && !floats))
		return err_set(err, -EBADMSG, "field %" PRIu32 " of type %d is not one of a Datum",
			       field->number, field->type);
	datum->has[field->number] = true;
	datum->number[field->number] = type == PROTOBUF_VARINT ? field->value : field->size;
	if (field->number == DATUM_DATA)
		datum->offset = field->offset;
	return 0;
}

static int datum_get(struct foreign_source *source, const struct walker_record *record,
		     struct datum *ret, struct err *err)
{
	struct protobuf message = protobuf_at(source, record->offset, record->size);
	struct protobuf_field field;
	int r;

	*ret = (struct datum){0};
	while ((r = protobuf_next(&message, &field, err)) == 0) {
		r = take(&field, ret, err);
		if (r < 0)
			break;
	}
	return r < 0 ? r : 0;
}

static int caffe_probe(struct foreign_source *source)
{
	struct datum datum;
	int r;

	if (!source->first.key || source->first.size == 0)
		return 0;
	r = datum_get(source, &source->first, &datum, NULL);
	if (r == -EBADMSG)
		return 0;
	return r < 0 ? r : datum.has[DATUM_DATA] || datum.has[DATUM_FLOATS];
}

/* --- names ------------------------------------------------------------------------------------ */

/* What follows the number: the path in the list that was converted; without a folder, a name. */
static struct foreign_text listed(const struct walker_record *record)
{
	const struct foreign_text key = {(const char *)record->key, record->key_len};
	uint64_t number;
	size_t digits = foreign_text_number(key, &number);

	if (digits == 0 || digits + 1 >= key.len || key.data[digits] != '_')
		return (struct foreign_text){0};
	return (struct foreign_text){key.data + digits + 1, key.len - digits - 1};
}

/* A key that is only a number says which record it is: those without zeros in front are in another
 * order. */
static uint64_t number_of(const struct walker_record *record, uint64_t walked)
{
	const struct foreign_text key = {(const char *)record->key, record->key_len};
	uint64_t number;
	size_t digits = foreign_text_number(key, &number);

	return digits == key.len && number <= UINT32_MAX ? number : walked;
}

static void name_file(const struct walker_record *record, struct foreign_file *file)
{
	struct foreign_text path = listed(record);

	file->name = foreign_text_after(path, '/');
	file->class_is_path = true;
	if (path.len > file->name.len + 1)
		file->class = (struct foreign_text){path.data, path.len - file->name.len - 1};
}

/* The suffix of the name is that of the file before it became pixels. */
static void drop_suffix(struct foreign_file *file)
{
	const char *dot = file->name.data ? memrchr(file->name.data, '.', file->name.len) : NULL;

	if (dot && dot > file->name.data)
		file->name.len = (size_t)(dot - file->name.data);
	file->plain = true;
}

/* --- images ----------------------------------------------------------------------------------- */

static int pixels_of(const struct datum *datum, struct foreign_pixels *ret, struct err *err)
{
	uint64_t channels = datum->number[DATUM_CHANNELS];
	uint64_t width = datum->number[DATUM_WIDTH], height = datum->number[DATUM_HEIGHT];

	if (!datum->has[DATUM_DATA] && datum->has[DATUM_FLOATS])
		return err_set(err, -EOPNOTSUPP, "a Datum of floats is no image");
	if (channels != 1 && channels != 3)
		return err_set(err, -EOPNOTSUPP, "a Datum of %" PRIu64 " channels is no image",
			       channels);
	*ret = (struct foreign_pixels){.width = (uint32_t)min(width, UINT32_MAX),
				       .height = (uint32_t)min(height, UINT32_MAX),
				       .layout = channels == 3 ? FOREIGN_PLANAR_BGR : FOREIGN_GRAY};
	return 0;
}

static int describe(const struct walker_record *record, const struct datum *datum,
		    struct foreign_pixels *pixels, struct foreign_file *file, struct err *err)
{
	bool encoded = datum->number[DATUM_ENCODED] != 0;
	int r = encoded ? 0 : pixels_of(datum, pixels, err);

	if (r < 0)
		return r;
	if (datum->number[DATUM_DATA] == 0)
		return err_set(err, -EBADMSG, "a Datum without data");
	if (datum->has[DATUM_LABEL])
		file->label = (int32_t)datum->number[DATUM_LABEL];
	file->offset = datum->offset;
	file->size = datum->number[DATUM_DATA];
	file->pixels = encoded ? NULL : pixels;
	name_file(record, file);
	if (!encoded)
		drop_suffix(file);
	return 0;
}

static int add(struct foreign_source *source, struct foreign_tree *tree,
	       const struct walker_record *record, uint64_t walked, struct err *err)
{
	uint64_t number = number_of(record, walked);
	struct foreign_file file = {.record = number, .label = FOREIGN_NO_LABEL};
	struct foreign_pixels pixels;
	struct datum datum;
	int r = datum_get(source, record, &datum, err);

	if (r == 0)
		r = describe(record, &datum, &pixels, &file, err);
	if (r < 0)
		return err_set(err, r, "record %" PRIu64 ": %s", number, err_text(err, r));
	if (source->settings->classes && datum.has[DATUM_LABEL])
		file.class = (struct foreign_text){0};
	return foreign_add(tree, &file, err);
}

/* --- records ----------------------------------------------------------------------------------
 *
 * In the order of their keys. */

struct record_kept {
	uint64_t offset, size;
	size_t key, key_len; /* in the keys */
};

/* The scan reads the beginning and the end of each value, where a label is. From far the walk is
 * done first, so that these can be asked for ahead. */
struct kept {
	struct buf records; /* struct record_kept */
	struct buf keys;
};

static void kept_release(struct kept *kept)
{
	buf_release(&kept->records);
	buf_release(&kept->keys);
}

static int keep(struct kept *kept, const struct walker_record *record)
{
	const struct record_kept one = {.offset = record->offset,
					.size = record->size,
					.key = kept->keys.len,
					.key_len = record->key_len};
	int r = buf_add(&kept->keys, record->key, record->key_len);

	return r < 0 ? r : buf_add(&kept->records, &one, sizeof(one));
}

static void ask_for(struct foreign_source *source, const struct record_kept *record)
{
	uint64_t tail = min(record->size, TAIL);

	foreign_will_get(source, record->offset, (size_t)min(record->size, HEAD));
	foreign_will_get(source, record->offset + record->size - tail, (size_t)tail);
}

static int add_kept(struct foreign_source *source, struct foreign_tree *tree,
		    const struct kept *kept, struct err *err)
{
	const struct record_kept *records = BUF_ITEMS(&kept->records, const struct record_kept);
	size_t count = BUF_COUNT(&kept->records, *records), asked = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct walker_record record = {.key = (const uint8_t *)kept->keys.data +
							    records[i].key,
						     .key_len = records[i].key_len,
						     .offset = records[i].offset,
						     .size = records[i].size};

		for (; asked < count && asked < i + AHEAD; asked++)
			ask_for(source, &records[asked]);
		r = add(source, tree, &record, i, err);
	}
	return r;
}

static int caffe_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(kept_release) struct kept kept = {0};
	bool far = source->window.far;
	struct walker_record record;
	int r = walker_first(source->walker, &record, err);

	for (uint64_t walked = 0; r == 0; walked++) {
		r = far ? keep(&kept, &record) : add(source, tree, &record, walked, err);
		if (r == 0)
			r = walker_next(source->walker, &record, err);
	}
	return r < 0 ? r : add_kept(source, tree, &kept, err);
}

const struct foreign_format caffe_format = {
	.name = "caffe",
	.lmdb = true,
	.probe = caffe_probe,
	.scan = caffe_scan,
};
