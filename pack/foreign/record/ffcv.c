/* FFCV's .beton: images as JPEG files, or as pixels, and labels.
 *
 *	header   u16 version, u16 fields, u32 page, u64 samples, u64 offset of the table
 *	field    u8 type, 16 bytes of name, 1024 of arguments; as many as there are fields
 *	sample   what each field says of it, aligned as C does; as many as there are samples
 *	image    of a sample: u8 mode (0: JPEG, 1: pixels), u16 width, u16 height, u64 offset
 *	table    u64 sample, u64 offset, u64 bytes: of all that is stored, in any order, to the end
 *
 * The size of a JPEG file stands in the table alone. */
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include "base/size.h"
#include "pack/foreign/format.h"
#include <inttypes.h>
#include <string.h>

enum { HEADER = 24, FIELD = 1041, NAME_AT = 1, NAME_LEN = 16 };
enum { VERSION = 2, FIELDS_MOST = 256, PAGE_LEAST = 4096, IMAGE_LEN = 13 };

enum { TYPE_FLOAT, TYPE_INT, TYPE_IMAGE, TYPE_BYTES, TYPE_ARRAY, TYPE_JSON, TYPE_TENSOR, TYPES };

/* What a sample has of a field. */
static const struct {
	uint8_t size, align;
} shapes[TYPES] = {
	[TYPE_FLOAT] = {8, 8},	[TYPE_INT] = {8, 8},   [TYPE_IMAGE] = {IMAGE_LEN, 1},
	[TYPE_BYTES] = {16, 1}, [TYPE_ARRAY] = {8, 8}, [TYPE_JSON] = {16, 1},
	[TYPE_TENSOR] = {8, 8},
};

enum { ROW = 24 };
enum { MODE_JPEG, MODE_PIXELS };

#define HEADS		 64
#define HEAD_BYTES	 16
#define BLOCK		 (64 * KIB) /* of the table that is read at once: about */
#define FFCV_SAMPLE_MOST 4104	    /* bytes of a sample */

struct ffcv_header {
	uint64_t samples;     /* which lie in front of the table */
	uint64_t first;	      /* sample's offset */
	uint32_t sample;      /* bytes of one */
	uint64_t table;	      /* its offset, within the source */
	int64_t image, label; /* where in a sample; label -1: there is none */
	unsigned others;      /* fields that are neither */
};

/* --- the header ------------------------------------------------------------------------------- */

static bool header_fits(const uint8_t *p, uint64_t size)
{
	uint32_t page = le_get32(p + 4);
	uint64_t table = le_get64(p + 16);

	return le_get16(p) == VERSION && le_get16(p + 2) >= 1 && le_get16(p + 2) <= FIELDS_MOST &&
	       page >= PAGE_LEAST && (page & (page - 1)) == 0 && table >= HEADER && table <= size &&
	       p[HEADER] < TYPES;
}

static int ffcv_header_probe(struct foreign_source *source)
{
	const uint8_t *p;
	size_t len;
	int r = foreign_peek(source, 0, HEADER + 1, &p, &len);

	return r < 0 ? r : len == HEADER + 1 && header_fits(p, source->size);
}

/* The field of that name. Without one, the field of the usual name, or else the first. */
static bool is_wanted_field(const uint8_t *field, const char *asked, const char *usual,
			    int64_t found)
{
	const char *name = (const char *)field + NAME_AT;

	if (asked)
		return strlen(asked) <= NAME_LEN && strncmp(name, asked, NAME_LEN) == 0;
	return found < 0 || strncmp(name, usual, NAME_LEN) == 0;
}

static int read_ffcv_field(struct foreign_source *source, struct ffcv_header *header, unsigned i,
			   uint64_t *end, uint8_t *align, struct err *err)
{
	const struct foreign_settings *settings = source->settings;
	const uint8_t *p;
	int r = foreign_get(source, HEADER + (uint64_t)i * FIELD, FIELD, &p, err);
	int64_t at;

	if (r < 0)
		return r;
	if (p[0] >= TYPES)
		return err_set(err, -EOPNOTSUPP, "field %u ('%.16s') is of a type of its own, %u",
			       i, (const char *)p + NAME_AT, p[0]);
	at = (int64_t)((*end + shapes[p[0]].align - 1) & ~(uint64_t)(shapes[p[0]].align - 1));
	*end = (uint64_t)at + shapes[p[0]].size;
	*align = (uint8_t)max(*align, shapes[p[0]].align);
	if (p[0] == TYPE_IMAGE && is_wanted_field(p, settings->image_key, "image", header->image))
		header->image = at;
	else if (p[0] == TYPE_INT &&
		 is_wanted_field(p, settings->label_key, "label", header->label))
		header->label = at;
	return 0;
}

static int read_fields(struct foreign_source *source, unsigned count, struct ffcv_header *header,
		       struct err *err)
{
	uint8_t align = 1;
	uint64_t end = 0;
	int r = 0;

	header->image = header->label = -1;
	for (unsigned i = 0; r == 0 && i < count; i++)
		r = read_ffcv_field(source, header, i, &end, &align, err);
	if (r < 0)
		return r;
	if (header->image < 0)
		return err_set(err, -EOPNOTSUPP, "no field of images%s%s in it",
			       source->settings->image_key ? " called " : "",
			       source->settings->image_key ? source->settings->image_key : "");
	if (source->settings->label_key && header->label < 0)
		return err_set(err, -EINVAL, "no field of integers called %s in it",
			       source->settings->label_key);
	header->others = count - 1u - (header->label >= 0);
	header->sample = (uint32_t)((end + align - 1) & ~(uint64_t)(align - 1));
	return 0;
}

/* The image and the label are the fields that the settings name, or those called "image" and
 * "label", or the first of their types. */
static int ffcv_header_read(struct foreign_source *source, struct ffcv_header *ret, struct err *err)
{
	struct ffcv_header header = {0};
	const uint8_t *p;
	unsigned fields;
	int r = foreign_get(source, 0, HEADER + 1, &p, err);

	if (r < 0)
		return r;
	if (!header_fits(p, source->size))
		return err_set(err, -EBADMSG, "no header of FFCV, version 2");
	fields = le_get16(p + 2);
	header.samples = le_get64(p + 8);
	header.table = le_get64(p + 16);
	header.first = HEADER + (uint64_t)fields * FIELD;
	r = read_fields(source, fields, &header, err);
	if (r < 0)
		return r;
	if (header.first > header.table ||
	    header.samples > (header.table - header.first) / header.sample)
		return err_set(err, -EBADMSG,
			       "%" PRIu64 " samples do not fit in front of the table at %" PRIu64,
			       header.samples, header.table);
	*ret = header;
	return 0;
}

struct beton {
	struct foreign_source *source;
	struct ffcv_header header;
	struct buf places; /* struct place, by offset */
};

struct place {
	uint64_t offset, size;
};

static void beton_release(struct beton *b)
{
	buf_release(&b->places);
}

/* --- the table -------------------------------------------------------------------------------- */

static int read_table(struct beton *b, struct err *err)
{
	uint64_t count = (b->source->size - b->header.table) / ROW;
	int r = 0;

	for (uint64_t i = 0, n; r == 0 && i < count; i += n) {
		const uint8_t *p;

		n = min(count - i, BLOCK / ROW);
		r = foreign_get(b->source, b->header.table + i * ROW, n * ROW, &p, err);
		for (uint64_t j = 0; r == 0 && j < n; j++) {
			const struct place place = {le_get64(p + j * ROW + 8),
						    le_get64(p + j * ROW + 16)};

			r = buf_add(&b->places, &place, sizeof(place));
		}
	}
	buf_sort(&b->places, sizeof(struct place), search_compare64);
	return r;
}

static const struct place *find_beton_place(const struct beton *b, uint64_t offset)
{
	const struct place wanted = {.offset = offset};

	return buf_find(&b->places, &wanted, sizeof(wanted), search_compare64);
}

/* --- samples ---------------------------------------------------------------------------------- */

static int add_sample(const struct beton *b, struct foreign_tree *tree, uint64_t i,
		      const uint8_t *p, struct err *err)
{
	const uint8_t *image = p + b->header.image;
	struct foreign_pixels pixels = {
		.width = le_get16(image + 1), .height = le_get16(image + 3), .layout = FOREIGN_RGB};
	struct foreign_file file = {.record = i,
				    .label = b->header.label < 0
						     ? FOREIGN_NO_LABEL
						     : (int64_t)le_get64(p + b->header.label),
				    .offset = le_get64(image + 5)};
	const struct place *place = find_beton_place(b, file.offset);

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

/* foreign_add() reads the beginning of the first images. */
static int ask_for_heads(const struct beton *b, struct err *err)
{
	uint64_t count = min(b->header.samples, HEADS);
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		const uint8_t *p;

		r = foreign_get(b->source, b->header.first + i * b->header.sample, b->header.sample,
				&p, err);
		if (r == 0)
			foreign_will_get(b->source, le_get64(p + b->header.image + 5), HEAD_BYTES);
	}
	return r;
}

static int scan_ffcv(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(beton_release) struct beton b = {.source = source};
	int r = ffcv_header_read(source, &b.header, err);

	if (r == 0)
		r = read_table(&b, err);
	if (r == 0)
		r = ask_for_heads(&b, err);
	for (uint64_t i = 0; r == 0 && i < b.header.samples; i++) {
		uint8_t sample[FFCV_SAMPLE_MOST];
		const uint8_t *p;

		r = foreign_get(source, b.header.first + i * b.header.sample, b.header.sample, &p,
				err);
		if (r < 0)
			break;
		memcpy(sample, p, b.header.sample);
		r = add_sample(&b, tree, i, sample, err);
	}
	return r < 0 ? r
		     : foreign_tree_note_count(tree, b.header.others,
					       "left out: %" PRIu64
					       " further fields of each sample");
}

const struct foreign_format ffcv_format = {
	.name = "ffcv",
	.takes = FOREIGN_TAKES_IMAGE_KEY | FOREIGN_TAKES_LABEL_KEY,
	.probe = ffcv_header_probe,
	.scan = scan_ffcv,
};
