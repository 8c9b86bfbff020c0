#include "pack/tool/image/tiff.h"

#include "base/math.h"

enum { TIFF_BYTE = 1, TIFF_SHORT = 3, TIFF_LONG = 4, TIFF_LONG8 = 16 };

enum {
	TIFF_BITS = 258,
	TIFF_COMPRESSION = 259,
	TIFF_STRIPS = 273,
	TIFF_SAMPLES = 277,
	TIFF_STRIP_ROWS = 278,
	TIFF_STRIP_BYTES = 279,
	TIFF_PLANES = 284,
	TIFF_TILES = 324,
	TIFF_TILE_BYTES = 325,
	TIFF_JPEG = 513, /* all of the pixels, in old files */
	TIFF_JPEG_BYTES = 514,
};

/* libtiff and PIL take both orders of the number behind the letters. */
bool tiff_begins(const struct bytes *file, struct tiff *ret)
{
	struct tiff tiff = {.file = *file};
	uint32_t version;

	tiff.file.big = bytes_are(file, 0, "MM", 2);
	if (!tiff.file.big && !bytes_are(file, 0, "II", 2))
		return false;
	version = bytes_get(&tiff.file, 2, 2);
	tiff.wide = version == 43 && bytes_get(&tiff.file, 4, 4) == (tiff.file.big ? 8u << 16 : 8);
	*ret = tiff;
	return version == 42 || version == 42 << 8 || tiff.wide;
}

/* A number as wide as offsets and counts are. */
static uint64_t get_wide(const struct tiff *tiff, uint64_t at)
{
	uint64_t first = bytes_get(&tiff->file, at, 4), second;

	if (!tiff->wide)
		return first;
	second = bytes_get(&tiff->file, at + 4, 4);
	return tiff->file.big ? first << 32 | second : second << 32 | first;
}

uint64_t tiff_directory(const struct tiff *tiff)
{
	return get_wide(tiff, tiff->wide ? 8 : 4);
}

/* The bytes of a field; of the count of fields in front of the first; and where a field has its
 * value. */
static unsigned field_size(const struct tiff *tiff)
{
	return tiff->wide ? 20 : 12;
}

static unsigned count_size(const struct tiff *tiff)
{
	return tiff->wide ? 8 : 2;
}

static uint64_t field_count(const struct tiff *tiff, uint64_t directory)
{
	return tiff->wide ? get_wide(tiff, directory) : bytes_get(&tiff->file, directory, 2);
}

/* The numbers of a field; count 0: there is none. */
struct tiff_values {
	uint64_t at, count;
	unsigned size; /* of each */
};

static struct tiff_values values_at(const struct tiff *tiff, uint64_t field)
{
	struct tiff_values values = {.count = get_wide(tiff, field + 4), .size = 4};
	unsigned inlined = tiff->wide ? 8 : 4;

	switch (bytes_get(&tiff->file, field + 2, 2)) {
	case TIFF_BYTE:
		values.size = 1;
		break;
	case TIFF_SHORT:
		values.size = 2;
		break;
	case TIFF_LONG:
		break;
	case TIFF_LONG8:
		values.size = 8;
		break;
	default: /* text, fractions */
		return (struct tiff_values){0};
	}
	values.at = field + 4 + inlined;
	if (values.count > inlined / values.size)
		values.at = get_wide(tiff, values.at);
	return values;
}

static struct tiff_values find_values(const struct tiff *tiff, uint64_t directory, uint32_t tag)
{
	uint64_t field = directory + count_size(tiff), left = field_count(tiff, directory);

	for (; left > 0 && bytes_have(&tiff->file, field, field_size(tiff));
	     left--, field += field_size(tiff))
		if (bytes_get(&tiff->file, field, 2) == tag)
			return values_at(tiff, field);
	return (struct tiff_values){0};
}

static uint64_t field_value(const struct tiff *tiff, const struct tiff_values *values, uint64_t i)
{
	uint64_t at = values->at + i * values->size;

	return values->size == 8 ? get_wide(tiff, at) : bytes_get(&tiff->file, at, values->size);
}

uint64_t tiff_number(const struct tiff *tiff, uint64_t directory, uint32_t tag)
{
	struct tiff_values values = find_values(tiff, directory, tag);

	return values.count ? field_value(tiff, &values, 0) : 0;
}

/* --- the check ---------------------------------------------------------------------------- */

static bool is_whole_tiff(const struct tiff *tiff, const struct tiff_values *values)
{
	return values->count <= tiff->file.len &&
	       bytes_have(&tiff->file, values->at, values->count * values->size);
}

/* How a picture that is not compressed is cut into strips. */
struct tiff_strips {
	uint64_t row_bytes; /* 0: its strips may have any size */
	uint64_t height, rows;
};

static struct tiff_strips strips_of(const struct tiff *tiff, uint64_t directory)
{
	struct tiff_strips strips = {.height = tiff_number(tiff, directory, TIFF_HEIGHT),
				     .rows = tiff_number(tiff, directory, TIFF_STRIP_ROWS)};
	uint64_t width = tiff_number(tiff, directory, TIFF_WIDTH);
	uint64_t bits = tiff_number(tiff, directory, TIFF_BITS), samples = 1;

	if (tiff_number(tiff, directory, TIFF_PLANES) != 2)
		samples = max(tiff_number(tiff, directory, TIFF_SAMPLES), (uint64_t)1);
	if (tiff_number(tiff, directory, TIFF_COMPRESSION) == 1 && width <= INT32_MAX &&
	    strips.height <= INT32_MAX && bits <= 64 && samples <= UINT16_MAX)
		strips.row_bytes = (width * max(bits, (uint64_t)1) * samples + 7) / 8;
	if (strips.rows == 0 || strips.rows > strips.height)
		strips.rows = max(strips.height, (uint64_t)1);
	return strips;
}

/* Each strip or tile must lie in the file. */
static int check_parts(const struct tiff *tiff, const struct tiff_strips *strips,
		       const struct tiff_values *from, const struct tiff_values *bytes,
		       struct check_finding *ret)
{
	uint64_t a_plane = max((strips->height + strips->rows - 1) / strips->rows, (uint64_t)1);

	if (!is_whole_tiff(tiff, from) || !is_whole_tiff(tiff, bytes))
		return check_found(ret, DAMAGE_TRUNCATED, false, "TIFF: ends in its directory");
	for (uint64_t i = 0; i < from->count; i++) {
		uint64_t at = field_value(tiff, from, i), first = i % a_plane * strips->rows;
		uint64_t need = i < bytes->count ? field_value(tiff, bytes, i) : 1;

		/* Some writers say more than there are; readers only take what pixels need. */
		if (strips->row_bytes && first < strips->height)
			need = min(need,
				   strips->row_bytes * min(strips->rows, strips->height - first));
		if (!bytes_have(&tiff->file, at, need))
			return check_found(ret, DAMAGE_TRUNCATED, false,
					   "TIFF: its pixels would end at byte %lu, the file ends "
					   "at %zu",
					   at + need, tiff->file.len);
	}
	return 0;
}

static int check_strips(const struct tiff *tiff, uint64_t directory, struct check_finding *ret)
{
	static const uint32_t tags[][2] = {{TIFF_TILES, TIFF_TILE_BYTES},
					   {TIFF_STRIPS, TIFF_STRIP_BYTES},
					   {TIFF_JPEG, TIFF_JPEG_BYTES}};
	struct tiff_strips strips = {.height = 1, .rows = 1};

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		struct tiff_values from = find_values(tiff, directory, tags[i][0]);
		struct tiff_values bytes = find_values(tiff, directory, tags[i][1]);

		if (from.count == 0)
			continue;
		if (tags[i][0] == TIFF_STRIPS)
			strips = strips_of(tiff, directory);
		return check_parts(tiff, &strips, &from, &bytes, ret);
	}
	return check_found(ret, DAMAGE_CORRUPT, false, "TIFF: has no pixels");
}

int check_tiff(enum check_level level, const struct bytes *file, struct check_finding *ret)
{
	struct tiff tiff;
	uint64_t directory, count;

	(void)level;
	if (file->len < 8 || !tiff_begins(file, &tiff) || (tiff.wide && file->len < 16))
		return check_found(ret, DAMAGE_TRUNCATED, false, "TIFF: ends in its header");
	directory = tiff_directory(&tiff);
	if (directory < (tiff.wide ? 16 : 8))
		return check_found(ret, DAMAGE_CORRUPT, false,
				   "TIFF: its directory would lie in its header");
	count = field_count(&tiff, directory);
	if (count > file->len ||
	    !bytes_have(file, directory, count_size(&tiff) + count * field_size(&tiff)))
		return check_found(ret, DAMAGE_TRUNCATED, false,
				   "TIFF: ends in front of its directory");
	return check_strips(&tiff, directory, ret);
}
