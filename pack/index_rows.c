#include "pack/index_rows.h"
#include "base/math.h"
#include <string.h>

void index_rows_shape(const struct index_rows *rows, struct format_section_ref ret[SECTION_COUNT])
{
	uint64_t most[SECTION_COUNT] = {[SECTION_MODE] = 07777}; /* as index_shape() wants it */

	for (uint32_t e = 0; e < rows->count; e++) {
		const struct index_row row = rows->row(rows->context, e);

		most[SECTION_NAMES] += row.name_len;
		most[SECTION_PARENT] = max(most[SECTION_PARENT], row.parent);
		most[SECTION_SIZE] = max(most[SECTION_SIZE], row.size);
		most[SECTION_WIDTH] = max(most[SECTION_WIDTH], row.width);
		most[SECTION_HEIGHT] = max(most[SECTION_HEIGHT], row.height);
		if (row.kind == FORMAT_SPLIT)
			most[SECTION_PARTS] += format_parts(row.size);
		if (row.kind == FORMAT_SYMLINK)
			most[SECTION_TARGETS] += row.size;
		if (format_is_file(row.kind))
			most[SECTION_CHECKSUMS] += format_extents(row.size);
	}
	most[SECTION_NAME_END] = most[SECTION_NAMES];
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		ret[i] = index_shape((enum format_section)i, rows->count, most[i]);
}

/* --- contents --------------------------------------------------------------------------------- */

struct filled {
	uint64_t names, targets, parts, extents; /* so far */
};

static void put(struct index *index, enum format_section section, uint64_t row, uint64_t value)
{
	if (index->sections[section].data)
		index_put(index, section, row, value);
}

static void put_bytes(struct index *index, enum format_section section, uint64_t at,
		      const char *bytes, size_t len)
{
	if (index->sections[section].data && len)
		memcpy(index->sections[section].data + at, bytes, len);
}

void index_rows_fill(const struct index_rows *rows, struct index *index)
{
	struct filled filled = {0};

	for (uint32_t e = 0; e < rows->count; e++) {
		const struct index_row row = rows->row(rows->context, e);

		put_bytes(index, SECTION_NAMES, filled.names, row.name, row.name_len);
		put(index, SECTION_NAME_END, e, filled.names += row.name_len);
		put(index, SECTION_PARENT, e, row.parent);
		put(index, SECTION_KIND, e, row.kind);
		put(index, SECTION_START, e,
		    row.kind == FORMAT_SYMLINK ? filled.targets
		    : row.kind == FORMAT_SPLIT ? filled.parts
					       : row.start);
		if (row.kind == FORMAT_SYMLINK) {
			put_bytes(index, SECTION_TARGETS, filled.targets, row.target, row.size);
			filled.targets += row.size;
		}
		for (uint64_t i = 0; row.kind == FORMAT_SPLIT && i < format_parts(row.size); i++)
			put(index, SECTION_PARTS, filled.parts++,
			    row.start +
				    (row.parts ? le_get64(row.parts + 8 * i) : i * FORMAT_PART));
		put(index, SECTION_SIZE, e, row.size);
		put(index, SECTION_MODE, e, row.mode);
		put(index, SECTION_MTIME, e, (uint64_t)row.mtime);
		put(index, SECTION_IMAGE, e, row.image);
		put(index, SECTION_WIDTH, e, row.width);
		put(index, SECTION_HEIGHT, e, row.height);
		if (!format_is_file(row.kind) || !index->sections[SECTION_CHECKSUMS].data)
			continue;
		for (uint64_t i = 0; i < format_extents(row.size); i++)
			index_put(index, SECTION_CHECKSUMS, filled.extents++,
				  row.checksums ? row.checksums[i] : 0);
	}
}

int index_rows_make(const struct index_rows *rows, enum format_section end, struct index *ret)
{
	struct format_section_ref shapes[SECTION_COUNT];
	int r = 0;

	index_rows_shape(rows, shapes);
	for (unsigned i = 0; r == 0 && i < end; i++)
		r = index_section_alloc(&ret->sections[i],
					shapes[i].width ? shapes[i].count : shapes[i].bytes,
					shapes[i].width);
	if (r < 0)
		return r;
	ret->entries = rows->count;
	index_rows_fill(rows, ret);
	return 0;
}
