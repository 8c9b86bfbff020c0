#include "pack/foreign/record/ffcv_header.h"
#include "base/le.h"
#include "base/math.h"
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

static bool header_fits(const uint8_t *p, uint64_t size)
{
	uint32_t page = le_get32(p + 4);
	uint64_t table = le_get64(p + 16);

	return le_get16(p) == VERSION && le_get16(p + 2) >= 1 && le_get16(p + 2) <= FIELDS_MOST &&
	       page >= PAGE_LEAST && (page & (page - 1)) == 0 && table >= HEADER && table <= size &&
	       p[HEADER] < TYPES;
}

int ffcv_header_probe(struct foreign_source *source)
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

int ffcv_header_read(struct foreign_source *source, struct ffcv_header *ret, struct err *err)
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
