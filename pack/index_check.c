/* Checks once everything that a hostile or damaged index could say, so that all other code may
 * trust its numbers. */
#include "base/bytes.h"
#include "base/scope.h"
#include "base/search.h"
#include "pack/index.h"

/* What a section must look like: rows and width, or a blob. */
enum shape { SHAPE_BLOB, SHAPE_ENTRIES, SHAPE_ROWS };

static const struct {
	enum shape shape;
	uint32_t width; /* 0: any */
} shapes[SECTION_COUNT] = {
	[SECTION_NAMES] = {SHAPE_BLOB, 0},     [SECTION_NAME_END] = {SHAPE_ENTRIES, 0},
	[SECTION_PARENT] = {SHAPE_ENTRIES, 0}, [SECTION_KIND] = {SHAPE_ENTRIES, 1},
	[SECTION_START] = {SHAPE_ENTRIES, 8},  [SECTION_SIZE] = {SHAPE_ENTRIES, 0},
	[SECTION_PARTS] = {SHAPE_ROWS, 8},     [SECTION_TARGETS] = {SHAPE_BLOB, 0},
	[SECTION_CHECKSUMS] = {SHAPE_ROWS, 8}, [SECTION_MODE] = {SHAPE_ENTRIES, 0},
	[SECTION_MTIME] = {SHAPE_ENTRIES, 8},  [SECTION_IMAGE] = {SHAPE_ENTRIES, 1},
	[SECTION_WIDTH] = {SHAPE_ENTRIES, 0},  [SECTION_HEIGHT] = {SHAPE_ENTRIES, 0},
	[SECTION_OPTIONS] = {SHAPE_BLOB, 0},
};

struct format_section_ref index_shape(enum format_section section, uint64_t entries, uint64_t most)
{
	enum shape shape = shapes[section].shape;
	uint64_t count = shape == SHAPE_ENTRIES ? entries : most;
	uint32_t width = shapes[section].width ? shapes[section].width : index_width(most);

	if (shape == SHAPE_BLOB)
		return (struct format_section_ref){.bytes = most};
	return (struct format_section_ref){.bytes = count * width, .count = count, .width = width};
}

static bool shape_right(const struct format_section_ref *ref, size_t section, uint64_t entries)
{
	if (shapes[section].shape == SHAPE_BLOB)
		return ref->width == 0 && ref->count == 0;
	if (ref->width == 0 || ref->width > 8 || ref->width & (ref->width - 1) ||
	    ref->count > UINT64_MAX / 8)
		return false;
	if (shapes[section].width && ref->width != shapes[section].width)
		return false;
	if (shapes[section].shape == SHAPE_ENTRIES && ref->count != entries)
		return false;
	return ref->bytes == ref->count * ref->width;
}

int index_check_shape(const struct format_super *super, struct err *err)
{
	if (super->entries == 0 || super->entries > UINT32_MAX)
		return err_set(err, -EBADMSG, "damaged superblock: %llu entries",
			       (unsigned long long)super->entries);
	for (size_t i = 0; i < SECTION_COUNT; i++)
		if (!shape_right(&super->sections[i], i, super->entries))
			return err_set(err, -EBADMSG,
				       "damaged superblock: section %s has a wrong shape",
				       format_section_name((enum format_section)i));
	return 0;
}

/* Whether start..start + size lies in 0..limit. */
static bool within(uint64_t start, uint64_t size, uint64_t limit)
{
	return start <= limit && size <= limit - start;
}

/* The state of one pass over the entries. Siblings come in blocks, so most entries have the same
 * parent as the one before. */
struct check_pass {
	const struct index *index;
	uint64_t pack_bytes;
	uint64_t name_end; /* of the entry before */
	uint64_t parent, first,
		last; /* the parent of the entry before; its children: [first, last) */
	uint64_t children, extents, parts;
	uint32_t links;
	uint16_t *depths; /* of directories, but not of all that are empty */
};

static bool name_right(struct check_pass *pass, uint32_t entry)
{
	const struct index_section *names = &pass->index->sections[SECTION_NAMES];
	uint64_t start = pass->name_end;
	uint64_t end = index_get(pass->index, SECTION_NAME_END, entry);
	const uint8_t *name = names->data + start;

	pass->name_end = end;
	if (end < start || end > names->bytes)
		return false;
	if (entry == 0)
		return end == 0;
	/* index_check() looks for NULs and slashes in all names at once. */
	return end > start && end - start <= FORMAT_NAME_MAX &&
	       !(name[0] == '.' && (end - start == 1 || (end - start == 2 && name[1] == '.')));
}

/* Parents come before their children, so the tree has no cycles. And it is not deep: what lists
 * paths would take time and room without bound. Siblings are sorted by name, and have each name
 * once: lookups and merges go by that. */
static bool parent_right(struct check_pass *pass, uint32_t entry)
{
	const struct index *index = pass->index;
	uint64_t parent = index_get(index, SECTION_PARENT, entry);
	size_t len, before_len;
	const char *name, *before;

	if (entry == 0)
		return parent == 0 && index_kind(index, 0) == FORMAT_DIRECTORY;
	if (parent != pass->parent || entry == 1) {
		if (parent >= entry || index_kind(index, (uint32_t)parent) != FORMAT_DIRECTORY)
			return false;
		if (parent)
			pass->depths[parent] =
				(uint16_t)(pass->depths[index_get(index, SECTION_PARENT, parent)] +
					   1);
		if (pass->depths[parent] > FORMAT_DEPTH_MAX)
			return false;
		pass->parent = parent;
		pass->first = index_get(index, SECTION_START, parent);
		pass->last = pass->first + index_get(index, SECTION_SIZE, parent);
	}
	if (entry < pass->first || entry >= pass->last)
		return false;
	if (entry == pass->first)
		return true;
	before = index_name(index, entry - 1, &before_len);
	name = index_name(index, entry, &len);
	return bytes_compare(before, before_len, name, len) < 0;
}

/* 0: there is no such entry. */
static enum format_kind kind_at(const struct index *index, uint64_t entry)
{
	return entry < index->entries ? index_kind(index, (uint32_t)entry) : (enum format_kind)0;
}

/* Of files whose bytes are elsewhere: those could be more than 64 bits can count. */
static bool count_extents(struct check_pass *pass, uint64_t size)
{
	return !__builtin_add_overflow(pass->extents, format_extents(size), &pass->extents);
}

/* The parts of all split files come in the order of the entries. */
static bool split_right(struct check_pass *pass, uint64_t first, uint64_t size)
{
	const struct index *index = pass->index;
	uint64_t parts = format_parts(size);

	if (size <= FORMAT_SPLIT_OVER || size > pass->pack_bytes || first != pass->parts ||
	    !within(first, parts, index->sections[SECTION_PARTS].count))
		return false;
	pass->parts += parts;
	for (uint64_t i = 0; i < parts; i++) {
		uint64_t left = size - i * FORMAT_PART;

		if (!within(index_get(index, SECTION_PARTS, first + i),
			    left < FORMAT_PART ? left : FORMAT_PART, pass->pack_bytes))
			return false;
	}
	return true;
}

/* Start and size, by kind; counts them. */
static bool place_right(struct check_pass *pass, uint32_t entry)
{
	const struct index *index = pass->index;
	uint64_t start = index_get(index, SECTION_START, entry);
	uint64_t size = index_get(index, SECTION_SIZE, entry);

	switch (index_kind(index, entry)) {
	case FORMAT_FILE:
		pass->extents += format_extents(size);
		return size <= FORMAT_SPLIT_OVER && within(start, size, pass->pack_bytes);
	case FORMAT_DIRECTORY:
		pass->children += size;
		return (size == 0 || start > entry) && within(start, size, index->entries);
	case FORMAT_SYMLINK:
		return size > 0 && within(start, size, index->sections[SECTION_TARGETS].bytes);
	case FORMAT_HARDLINK:
		pass->links++;
		return size == 0 && format_is_file(kind_at(index, start));
	case FORMAT_SPLIT:
		pass->extents += format_extents(size);
		return split_right(pass, start, size);
	case FORMAT_ALIAS: /* of an alias could lead in a circle */
		return (kind_at(index, start) == FORMAT_FILE ||
			kind_at(index, start) == FORMAT_SPLIT) &&
		       index_get(index, SECTION_SIZE, start) == size && count_extents(pass, size);
	case FORMAT_BASE:
		return start <= UINT32_MAX && count_extents(pass, size);
	}
	return false;
}

void index_forget_offsets(struct index *index)
{
	for (uint32_t e = 0; e < index->entries; e++)
		if (index_kind(index, e) == FORMAT_FILE)
			index_put(index, SECTION_START, e, 0);
	for (uint64_t i = 0; i < index->sections[SECTION_PARTS].count; i++)
		index_put(index, SECTION_PARTS, i, 0);
}

int index_check(struct index *index, uint64_t pack_bytes, struct err *err)
{
	const struct index_section *names = &index->sections[SECTION_NAMES];
	SCOPE_FREE uint16_t *depths = calloc(index->entries, sizeof(*depths));
	struct check_pass pass = {.index = index, .pack_bytes = pack_bytes, .depths = depths};

	if (memchr(names->data, '\0', names->bytes) || memchr(names->data, '/', names->bytes))
		return err_set(err, -EBADMSG, "damaged index: a name holds a slash or NUL");
	index->extent_base =
		calloc((index->entries >> INDEX_BASE_SHIFT) + 1, sizeof(*index->extent_base));
	if (!index->extent_base || !depths)
		return -ENOMEM;
	for (uint32_t e = 0; e < index->entries; e++) {
		if ((e & ((1u << INDEX_BASE_SHIFT) - 1)) == 0)
			index->extent_base[e >> INDEX_BASE_SHIFT] = pass.extents;
		if (!name_right(&pass, e) || !place_right(&pass, e) || !parent_right(&pass, e))
			return err_set(err, -EBADMSG, "damaged index: entry %u", e);
	}
	/* Each entry is in the range of its parent. If the ranges together hold no more than all
	 * entries, they do not overlap. */
	if (pass.children != index->entries - 1)
		return err_set(err, -EBADMSG, "damaged index: folders overlap");
	index->extents = pass.extents;
	if (pass.links == 0)
		return 0;
	index->links = calloc(pass.links, sizeof(*index->links));
	if (!index->links)
		return -ENOMEM;
	for (uint32_t e = 0; e < index->entries; e++)
		if (index_kind(index, e) == FORMAT_HARDLINK)
			index->links[index->link_count++] = index_inode(index, e);
	qsort(index->links, pass.links, sizeof(*index->links), search_compare32);
	return 0;
}
