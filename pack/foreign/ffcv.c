/* FFCV's .beton: images as JPEG files, or as pixels, and labels.
 *
 *	header   u16 version, u16 fields, u32 page, u64 samples, u64 offset of the table
 *	field    u8 type, 16 bytes of name, 1024 of arguments; as many as there are fields
 *	sample   what each field says of it, aligned as C does; as many as there are samples
 *	         image: u8 mode (0: JPEG, 1: pixels), u16 width, u16 height, u64 offset; not aligned
 *	table    u64 sample, u64 offset, u64 bytes: of all that is stored, in any order, to the end
 *
 * The size of a JPEG file stands in the table alone. */
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/format.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 24, FIELD = 1041, NAME_AT = 1, NAME_LEN = 16, ROW = 24 };
enum { VERSION = 2, FIELDS_MOST = 256, PAGE_LEAST = 4096, IMAGE_LEN = 13 };
enum { MODE_JPEG, MODE_PIXELS };

#define BLOCK (64 * KIB) /* of the table that is read at once: about */

enum { TYPE_FLOAT, TYPE_INT, TYPE_IMAGE, TYPE_BYTES, TYPE_ARRAY, TYPE_JSON, TYPE_TENSOR, TYPES };

/* What a sample has of a field. */
static const struct {
	uint8_t size, align;
} shapes[TYPES] = {
	[TYPE_FLOAT] = {8, 8},	[TYPE_INT] = {8, 8},   [TYPE_IMAGE] = {IMAGE_LEN, 1},
	[TYPE_BYTES] = {16, 1}, [TYPE_ARRAY] = {8, 8}, [TYPE_JSON] = {16, 1},
	[TYPE_TENSOR] = {8, 8},
};

struct beton {
	struct foreign_source *source;
	uint16_t fields;
	uint64_t samples, table;
	uint64_t first;	      /* sample's offset */
	uint32_t sample;      /* bytes of one */
	int64_t image, label; /* where in a sample; -1: there is none */
	unsigned others;      /* fields that are left out */
	struct buf places;    /* struct place, by offset */
};

struct place {
	uint64_t offset, size;
};

static void beton_release(struct beton *b)
{
	buf_release(&b->places);
}

/* --- header and fields ------------------------------------------------------------------------ */

static bool header_fits(const uint8_t *p, uint64_t size)
{
	uint32_t page = le_get32(p + 4);
	uint64_t table = le_get64(p + 16);

	return le_get16(p) == VERSION && le_get16(p + 2) >= 1 && le_get16(p + 2) <= FIELDS_MOST &&
	       page >= PAGE_LEAST && (page & (page - 1)) == 0 && table >= HEADER && table <= size &&
	       p[HEADER] < TYPES;
}

static int probe_ffcv(struct foreign_source *source)
{
	const uint8_t *p;
	size_t len;
	int r = foreign_peek(source, 0, HEADER + 1, &p, &len);

	return r < 0 ? r : len == HEADER + 1 && header_fits(p, source->size);
}

/* The field of that name, or, where no name is asked for, the one of the usual name, or the first.
 */
static bool is_wanted(const uint8_t *field, const char *asked, const char *usual, int64_t found)
{
	const char *name = (const char *)field + NAME_AT;

	if (asked)
		return strlen(asked) <= NAME_LEN && strncmp(name, asked, NAME_LEN) == 0;
	return found < 0 || strncmp(name, usual, NAME_LEN) == 0;
}

static int read_field(struct beton *b, unsigned i, uint64_t *end, uint8_t *align, struct err *err)
{
	const struct foreign_settings *settings = b->source->settings;
	const uint8_t *p;
	int r = foreign_get(b->source, HEADER + (uint64_t)i * FIELD, FIELD, &p, err);
	int64_t at;

	if (r < 0)
		return r;
	if (p[0] >= TYPES)
		return err_set(err, -EOPNOTSUPP, "field %u ('%.16s') is of a type of its own, %u",
			       i, (const char *)p + NAME_AT, p[0]);
	at = (int64_t)((*end + shapes[p[0]].align - 1) & ~(uint64_t)(shapes[p[0]].align - 1));
	*end = (uint64_t)at + shapes[p[0]].size;
	*align = (uint8_t)max(*align, shapes[p[0]].align);
	if (p[0] == TYPE_IMAGE && is_wanted(p, settings->image_key, "image", b->image))
		b->image = at;
	else if (p[0] == TYPE_INT && is_wanted(p, settings->label_key, "label", b->label))
		b->label = at;
	return 0;
}

static int read_fields(struct beton *b, struct err *err)
{
	uint8_t align = 1;
	uint64_t end = 0;
	int r = 0;

	b->image = b->label = -1;
	for (unsigned i = 0; r == 0 && i < b->fields; i++)
		r = read_field(b, i, &end, &align, err);
	if (r < 0)
		return r;
	if (b->image < 0)
		return err_set(err, -EOPNOTSUPP, "no field of images%s%s in it",
			       b->source->settings->image_key ? " called " : "",
			       b->source->settings->image_key ? b->source->settings->image_key
							      : "");
	if (b->source->settings->label_key && b->label < 0)
		return err_set(err, -EINVAL, "no field of integers called %s in it",
			       b->source->settings->label_key);
	b->others = b->fields - 1u - (b->label >= 0);
	b->sample = (uint32_t)((end + align - 1) & ~(uint64_t)(align - 1));
	return 0;
}

static int read_header(struct beton *b, struct err *err)
{
	const uint8_t *p;
	int r = foreign_get(b->source, 0, HEADER + 1, &p, err);

	if (r < 0)
		return r;
	if (!header_fits(p, b->source->size))
		return err_set(err, -EBADMSG, "no header of FFCV, version 2");
	b->fields = le_get16(p + 2);
	b->samples = le_get64(p + 8);
	b->table = le_get64(p + 16);
	b->first = HEADER + (uint64_t)b->fields * FIELD;
	r = read_fields(b, err);
	if (r < 0)
		return r;
	if (b->first > b->table || b->samples > (b->table - b->first) / b->sample)
		return err_set(err, -EBADMSG,
			       "%" PRIu64 " samples do not fit in front of the table at %" PRIu64,
			       b->samples, b->table);
	return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int read_table(struct beton *b, struct err *err)
{
	uint64_t count = (b->source->size - b->table) / ROW;
	struct place *places;
	int r = 0;

	for (uint64_t i = 0, n; r == 0 && i < count; i += n) {
		const uint8_t *p;

		n = min(count - i, BLOCK / ROW);
		r = foreign_get(b->source, b->table + i * ROW, n * ROW, &p, err);
		for (uint64_t j = 0; r == 0 && j < n; j++) {
			const struct place place = {le_get64(p + j * ROW + 8),
						    le_get64(p + j * ROW + 16)};

			r = buf_add(&b->places, &place, sizeof(place));
		}
	}
	places = (void *)b->places.data;
	if (r == 0 && count)
		qsort(places, count, sizeof(*places), compare_places);
	return r;
}

static const struct place *find_place(const struct beton *b, uint64_t offset)
{
	const struct place wanted = {.offset = offset};

	return b->places.len ? bsearch(&wanted, b->places.data, b->places.len / sizeof(wanted),
				       sizeof(wanted), compare_places)
			     : NULL;
}

/* --- samples ---------------------------------------------------------------------------------- */

static int add_sample(const struct beton *b, struct foreign_tree *tree, uint64_t i,
		      const uint8_t *p, struct err *err)
{
	const uint8_t *image = p + b->image;
	struct foreign_pixels pixels = {
		.width = le_get16(image + 1), .height = le_get16(image + 3), .layout = FOREIGN_RGB};
	struct foreign_file file = {.record = i,
				    .label = b->label < 0 ? FOREIGN_NO_LABEL
							  : (int64_t)le_get64(p + b->label),
				    .offset = le_get64(image + 5)};
	const struct place *place = find_place(b, file.offset);

	if (image[0] == MODE_PIXELS)
		file.pixels = &pixels;
	else if (image[0] != MODE_JPEG)
		return err_set(err, -EBADMSG,
			       "record %" PRIu64
			       ": an image of mode %u, which is neither JPEG nor pixels",
			       i, image[0]);
	if (!place)
		return err_set(err, -EBADMSG,
			       "record %" PRIu64 ": its image at %" PRIu64 " is not in the table",
			       i, file.offset);
	file.size = place->size;
	return foreign_add(tree, &file, err);
}

static int scan_ffcv(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(beton_release) struct beton b = {.source = source};
	int r = read_header(&b, err);

	if (r == 0)
		r = read_table(&b, err);
	for (uint64_t i = 0; r == 0 && i < b.samples; i++) {
		uint8_t sample[FIELDS_MOST * 16 + 8];
		const uint8_t *p;

		r = foreign_get(source, b.first + i * b.sample, b.sample, &p, err);
		if (r < 0)
			break;
		memcpy(sample, p, b.sample);
		r = add_sample(&b, tree, i, sample, err);
	}
	if (r == 0 && b.others)
		r = foreign_tree_note(tree, "left out: %u further fields of each sample", b.others);
	return r;
}

const struct foreign_format ffcv_format = {
	.name = "ffcv",
	.about = "a .beton of FFCV",
	.probe = probe_ffcv,
	.scan = scan_ffcv,
};
