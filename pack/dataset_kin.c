/* Files that belong together by where they lie and what they are called.
 *
 * The namesake of D/b.jpg, by the example of F/a.jpg and T/a.txt. F and T differ in one place,
 * which is what is left when what they begin with and what they end with in common is taken off:
 *
 *	F = images/train/x	images -> labels, at depth 0
 *	T = labels/train/x
 *	D = images/val/z	labels/val/z/b.txt
 *
 * Either side may be empty: masks/ within each directory, or both files in the same. What comes
 * before that place need only be as deep: rgb/ and flow/ of each of many videos are one example. */
#include "pack/dataset_internal.h"
#include <errno.h>
#include <xxhash.h>

#define DEPTH_MAX  32  /* deeper trees have no namesakes */
#define NAME_BYTES 512 /* nor have longer names */

/* The directories that lead to a file, without the root, outermost first. */
struct way {
	unsigned depth;
	uint32_t entries[DEPTH_MAX];
};

static uint32_t parent_of(const struct index *index, uint32_t entry)
{
	return (uint32_t)index_get(index, SECTION_PARENT, entry);
}

static int way_to(const struct index *index, uint32_t file, struct way *ret)
{
	unsigned depth = 0, at;

	for (uint32_t e = parent_of(index, file); e; e = parent_of(index, e))
		if (++depth > DEPTH_MAX)
			return -ENOENT;
	at = depth;
	for (uint32_t e = parent_of(index, file); e; e = parent_of(index, e))
		ret->entries[--at] = e;
	ret->depth = depth;
	return 0;
}

static bool same_name(const struct index *index, uint32_t a, uint32_t b)
{
	size_t a_len, b_len;
	const char *a_name = index_name(index, a, &a_len), *b_name = index_name(index, b, &b_len);

	return a == b || (a_len == b_len && memcmp(a_name, b_name, a_len) == 0);
}

/* Where two ways differ: behind `begin` directories, as far as the ends of both but `rest`. */
struct difference {
	unsigned begin, rest;
};

static struct difference difference_of(const struct index *index, const struct way *from,
				       const struct way *to)
{
	unsigned most = from->depth < to->depth ? from->depth : to->depth;
	struct difference d = {0};

	while (d.begin < most && from->entries[d.begin] == to->entries[d.begin])
		d.begin++;
	while (d.rest < most - d.begin && same_name(index, from->entries[from->depth - 1 - d.rest],
						    to->entries[to->depth - 1 - d.rest]))
		d.rest++;
	return d;
}

/* Goes from *directory to the directories of the same names as way's from `begin` to `end`. */
static int descend(const struct index *index, const struct way *way, unsigned begin, unsigned end,
		   uint32_t *directory)
{
	int r = 0;

	for (unsigned i = begin; i < end && r == 0; i++) {
		size_t len;
		const char *name = index_name(index, way->entries[i], &len);

		r = index_lookup(index, *directory, name, len, directory);
	}
	return r;
}

/* Whether the way leads through what `from` has where it differs. */
static bool leads_through(const struct index *index, const struct way *way, const struct way *from,
			  struct difference d)
{
	unsigned end = from->depth - d.rest;

	if (way->depth < end)
		return false;
	for (unsigned i = d.begin; i < end; i++)
		if (!same_name(index, way->entries[i], from->entries[i]))
			return false;
	return true;
}

/* The directory that is to the way's as that of `to` is to that of `from`. */
static int exchange(const struct index *index, const struct way *way, const struct way *from,
		    const struct way *to, uint32_t *ret)
{
	struct difference d = difference_of(index, from, to);
	uint32_t directory;
	int r;

	if (!leads_through(index, way, from, d))
		return -ENOENT;
	directory = d.begin ? way->entries[d.begin - 1] : DATASET_ROOT;
	r = descend(index, to, d.begin, to->depth - d.rest, &directory);
	if (r == 0)
		r = descend(index, way, from->depth - d.rest, way->depth, &directory);
	if (r == 0)
		*ret = directory;
	return r;
}

/* The dot of .bashrc begins no suffix. */
static size_t stem_len(const char *name, size_t len)
{
	const char *dot = len > 1 ? memrchr(name + 1, '.', len - 1) : NULL;

	return dot ? (size_t)(dot - name) : len;
}

static int file_namesake(const struct index *index, uint32_t directory, uint32_t file,
			 uint32_t like, uint32_t *ret)
{
	size_t len, like_len, stem, like_stem;
	const char *name = index_name(index, file, &len);
	const char *like_name = index_name(index, like, &like_len);
	char wanted[NAME_BYTES];

	stem = stem_len(name, len);
	like_stem = stem_len(like_name, like_len);
	if (stem + like_len - like_stem > sizeof(wanted))
		return -ENOENT;
	memcpy(wanted, name, stem);
	memcpy(wanted + stem, like_name + like_stem, like_len - like_stem);
	return index_lookup(index, directory, wanted, stem + like_len - like_stem, ret);
}

int dataset_namesake(const struct dataset *dataset, uint64_t extent, uint64_t from, uint64_t to,
		     uint64_t *ret)
{
	const struct index *index = &dataset->index;
	uint64_t unused;
	uint32_t file = index_extent_entry(index, extent, &unused), directory, found;
	uint32_t from_file = index_extent_entry(index, from, &unused);
	uint32_t to_file = index_extent_entry(index, to, &unused);
	struct way way, from_way, to_way;
	int r = way_to(index, file, &way);

	if (r == 0)
		r = way_to(index, from_file, &from_way);
	if (r == 0)
		r = way_to(index, to_file, &to_way);
	if (r == 0)
		r = exchange(index, &way, &from_way, &to_way, &directory);
	if (r == 0)
		r = file_namesake(index, directory, file, to_file, &found);
	if (r < 0)
		return -ENOENT;
	found = index_inode(index, found);
	if (index_own_extents(index, found) == 0)
		return -ENOENT;
	*ret = index_first_extent(index, found);
	return 0;
}

void dataset_kin(const struct dataset *dataset, uint64_t extent, struct dataset_kin *ret)
{
	const struct index *index = &dataset->index;
	uint64_t number;
	uint32_t file = index_extent_entry(index, extent, &number);
	uint32_t directory = parent_of(index, file);
	uint32_t first = (uint32_t)index_get(index, SECTION_START, directory);
	uint32_t last = first + (uint32_t)index_get(index, SECTION_SIZE, directory) - 1;
	size_t len, stem;
	const char *name = index_name(index, file, &len);

	stem = stem_len(name, len);
	ret->file = extent - number;
	ret->file_end = ret->file + index_own_extents(index, file);
	ret->directory = index_first_extent(index, first);
	ret->directory_end = index_first_extent(index, last) + index_own_extents(index, last);
	ret->stem = XXH3_64bits(name, stem);
	ret->suffix = XXH3_64bits(name + stem, len - stem);
}
