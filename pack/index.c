#include "pack/index.h"
#include "base/bytes.h"
#include "base/huge.h"
#include "base/scope.h"
#include "base/search.h"
#include <string.h>
#include <sys/mman.h>

#define BASE_STEP (1u << INDEX_BASE_SHIFT)

void index_release(struct index *index)
{
	for (size_t i = 0; i < SECTION_COUNT; i++)
		free(index->sections[i].data);
	free(index->extent_base);
	free(index->links);
	*index = (struct index){0};
}

uint32_t index_width(uint64_t max)
{
	if (max <= UINT8_MAX)
		return 1;
	if (max <= UINT16_MAX)
		return 2;
	return max <= UINT32_MAX ? 4 : 8;
}

/* Large sections use huge pages: opening a mount touches all of a hot section, and page faults
 * would cost more than reading it. */
int index_section_alloc(struct index_section *section, uint64_t count, uint32_t width)
{
	uint64_t bytes = count * (width ? width : 1);
	void *data;

	if (bytes < HUGE_PAGE) {
		data = malloc(bytes ? bytes : 1);
		if (!data)
			return -ENOMEM;
	} else {
		uint64_t room = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);

		if (posix_memalign(&data, HUGE_PAGE, room) != 0)
			return -ENOMEM;
		madvise(data, room, MADV_HUGEPAGE);
	}
	*section = (struct index_section){
		.data = data, .bytes = bytes, .count = width ? count : 0, .width = width};
	return 0;
}

void index_put(struct index *index, enum format_section section, uint64_t row, uint64_t value)
{
	const struct index_section *s = &index->sections[section];

	le_put(s->data + s->width * row, s->width, value);
}

struct format_lmdb_state index_lmdb_state(const struct walker_info *info)
{
	return (struct format_lmdb_state){
		.txnid = info->txnid,
		.root = info->root,
		.last_page = info->last_page,
		.branch_pages = info->branch_pages,
		.leaf_pages = info->leaf_pages,
		.overflow_pages = info->overflow_pages,
		.entries = info->entries,
	};
}

const char *index_name(const struct index *index, uint32_t entry, size_t *ret_len)
{
	uint64_t start = entry ? index_get(index, SECTION_NAME_END, entry - 1) : 0;

	*ret_len = index_get(index, SECTION_NAME_END, entry) - start;
	return (const char *)index->sections[SECTION_NAMES].data + start;
}

int index_lookup(const struct index *index, uint32_t directory, const char *name, size_t len,
		 uint32_t *ret)
{
	uint32_t low, high;

	if (index_kind(index, directory) != FORMAT_DIRECTORY)
		return -ENOTDIR;
	low = (uint32_t)index_get(index, SECTION_START, directory);
	high = low + (uint32_t)index_get(index, SECTION_SIZE, directory);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		size_t other_len;
		const char *other = index_name(index, middle, &other_len);
		int order = bytes_compare(other, other_len, name, len);

		if (order == 0) {
			*ret = middle;
			return 0;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -ENOENT;
}

int index_find(const struct index *index, const char *path, size_t len, uint32_t *ret)
{
	const char *end = path + len;
	uint32_t entry = 0;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t name_len = (size_t)((slash ? slash : end) - path);
		int r = name_len ? index_lookup(index, entry, path, name_len, &entry) : 0;

		if (r < 0)
			return r;
		path += name_len + (slash != NULL);
	}
	*ret = entry;
	return 0;
}

static struct path_part part_of(const void *index, uint32_t entry)
{
	struct path_part part = {.parent = (uint32_t)index_get(index, SECTION_PARENT, entry)};

	part.name = index_name(index, entry, &part.len);
	return part;
}

int index_path(const struct index *index, uint32_t entry, struct buf *path)
{
	return path_add(path, entry, part_of, index);
}

int index_walk_path(const struct index *index, uint32_t entry, struct path_walk *walk)
{
	return path_walk(walk, entry, part_of, index);
}

uint32_t index_inode(const struct index *index, uint32_t entry)
{
	if (index_kind(index, entry) != FORMAT_HARDLINK)
		return entry;
	return (uint32_t)index_get(index, SECTION_START, entry);
}

uint32_t index_holder(const struct index *index, uint32_t entry)
{
	entry = index_inode(index, entry);
	if (index_kind(index, entry) != FORMAT_ALIAS)
		return entry;
	return (uint32_t)index_get(index, SECTION_START, entry);
}

static uint32_t links_below(const struct index *index, uint64_t entry)
{
	uint32_t low = 0, high = index->link_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (index->links[middle] < entry)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t index_link_count(const struct index *index, uint32_t entry)
{
	return links_below(index, (uint64_t)entry + 1) - links_below(index, entry);
}

/* The extents that belong to an entry. Only files have some; a hard link has none. */
static inline uint64_t own_extents(const struct index *index, uint32_t entry)
{
	if (!format_is_file(index_kind(index, entry)))
		return 0;
	return format_extents(index_get(index, SECTION_SIZE, entry));
}

uint64_t index_first_extent(const struct index *index, uint32_t entry)
{
	uint64_t extent = index->extent_base[entry >> INDEX_BASE_SHIFT];

	for (uint32_t e = entry & ~(BASE_STEP - 1); e < entry; e++)
		extent += own_extents(index, e);
	return extent;
}

uint32_t index_extent_entry(const struct index *index, uint64_t extent, uint64_t *ret_number)
{
	size_t bases = ((index->entries - 1) >> INDEX_BASE_SHIFT) + (size_t)1;
	size_t base = search_last(index->extent_base, bases, sizeof(*index->extent_base), extent);
	uint32_t entry = (uint32_t)base << INDEX_BASE_SHIFT;
	uint64_t left = extent - index->extent_base[base];

	for (uint64_t have; left >= (have = own_extents(index, entry)); entry++)
		left -= have;
	*ret_number = left;
	return entry;
}

bool index_same_checksums(const struct index *a, uint32_t x, const struct index *b, uint32_t y)
{
	uint64_t count = format_extents(index_get(a, SECTION_SIZE, x));
	uint64_t at = index_first_extent(a, x), other = index_first_extent(b, y);

	for (uint64_t i = 0; i < count; i++) {
		uint64_t checksum = index_get(a, SECTION_CHECKSUMS, at + i);

		if (checksum != index_get(b, SECTION_CHECKSUMS, other + i) ||
		    checksum == 0 /* none: see FORMAT_UNCHECKED */)
			return false;
	}
	return true;
}

void index_count(const struct index *index, struct format_super *super)
{
	super->entries = index->entries;
	for (uint32_t e = 0; e < index->entries; e++) {
		enum format_kind kind = index_kind(index, e);

		super->directories += kind == FORMAT_DIRECTORY;
		super->symlinks += kind == FORMAT_SYMLINK;
		super->hardlinks += kind == FORMAT_HARDLINK;
		if (kind == FORMAT_ALIAS)
			super->incompat |= FORMAT_ALIASES;
		if (!format_is_file(kind))
			continue;
		super->files++;
		super->bytes += index_get(index, SECTION_SIZE, e);
	}
}

/* --- paths ----------------------------------------------------------------------------------- */

/* Filled from the end: one climb to the root gives the length, a second one the bytes. */
int path_add(struct buf *path, uint32_t entry,
	     struct path_part (*part)(const void *tree, uint32_t entry), const void *tree)
{
	size_t total = 0;
	char *at;
	int r;

	for (uint32_t e = entry; e; e = part(tree, e).parent)
		total += part(tree, e).len + 1;
	r = buf_reserve(path, total + 1);
	if (r < 0)
		return r;
	path->len += total ? total - 1 : 0;
	at = path->data + path->len;
	*at = '\0';
	while (entry) {
		const struct path_part p = part(tree, entry);

		at -= p.len;
		memcpy(at, p.name, p.len);
		if (p.parent)
			*--at = '/';
		entry = p.parent;
	}
	return 0;
}

int path_walk(struct path_walk *walk, uint32_t entry,
	      struct path_part (*part)(const void *tree, uint32_t entry), const void *tree)
{
	const struct path_part p = part(tree, entry);
	struct buf *path = &walk->path;
	int r = 0;

	path->len = walk->above;
	if (p.parent != walk->parent) {
		path->len = 0;
		r = path_add(path, p.parent, part, tree);
		if (r == 0 && p.parent)
			r = buf_add(path, "/", 1);
		walk->parent = p.parent;
		walk->above = path->len;
	}
	if (r == 0)
		r = buf_reserve(path, p.len + 1);
	if (r < 0)
		return r;
	memcpy(path->data + path->len, p.name, p.len);
	path->len += p.len;
	path->data[path->len] = '\0';
	return 0;
}
