/* The index of a pack in memory: its sections, and the tree that they describe.
 *
 * Entry e is row e of every column; see enum format_section and enum format_kind. Sections that
 * come from a file must pass index_check() before any other call. After that, no number in the hot
 * sections leads outside. The index does not change then, except for the offsets in START and
 * PARTS, which index_locate() sets before the index is shared. Internal to pack/. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/le.h"
#include "pack/format_keys.h"
#include "pack/walker.h"

struct index_section {
	uint8_t *data; /* owned, by malloc; NULL: not loaded */
	uint64_t bytes;
	uint64_t count; /* rows */
	uint32_t width; /* bytes a row; 0: a blob */
};

#define INDEX_BASE_SHIFT 6 /* extent numbers are kept for every 64th entry, the rest counted */

struct index {
	uint32_t entries;
	struct index_section sections[SECTION_COUNT];
	uint64_t *extent_base; /* number of the first extent of entry i << INDEX_BASE_SHIFT */
	uint64_t extents;
	uint32_t *links; /* the targets of all hard links, sorted */
	uint32_t link_count;
};

void index_release(struct index *index);

/* The narrowest width whose integers hold max. */
uint32_t index_width(uint64_t max);
/* Allocates the bytes of a section: `count` rows of `width`, or a blob of `count` bytes where
 * width is 0. Returns 0 or -ENOMEM. */
int index_section_alloc(struct index_section *section, uint64_t count, uint32_t width);

static inline uint64_t index_get(const struct index *index, enum format_section section,
				 uint64_t row)
{
	const struct index_section *s = &index->sections[section];

	switch (s->width) {
	case 1:
		return s->data[row];
	case 2:
		return le_get16(s->data + 2 * row);
	case 4:
		return le_get32(s->data + 4 * row);
	default:
		return le_get64(s->data + 8 * row);
	}
}

void index_put(struct index *index, enum format_section section, uint64_t row, uint64_t value);

/* The state of the LMDB, to which the offsets of a pack belong. */
struct format_lmdb_state index_lmdb_state(const struct walker_info *info);

/* The shape of a section that is to be written. A blob has `most` bytes, a list has `most` rows,
 * and a column has a row for each entry, as narrow as its largest value `most` allows. */
struct format_section_ref index_shape(enum format_section section, uint64_t entries, uint64_t most);
/* Checks the rows and width of every section in the superblock. */
int index_check_shape(const struct format_super *super, struct err *err);

/* The record of the superblock. Returns 0, -ENOMSG (there is none), or as walker_seek(). */
int index_find_super(struct walker *walker, struct walker_record *ret, struct err *err);
/* Reads the superblock, and checks the shapes of its sections. Returns 0, or as dataset_open(). */
int index_read_super(struct reader *reader, struct walker *walker, struct format_super *ret,
		     struct err *err);
/* The same without a walk: reads where builders put their first record. */
int index_guess_super(struct reader *reader, uint32_t page_size, struct format_super *ret,
		      struct err *err);
/* Right after index_read_super(): takes the offsets of the sections from their records. Some have
 * moved where another tool has rewritten the LMDB. Returns 0, -EBADMSG (one is missing), or as
 * walker_next(). */
int index_find_sections(struct walker *walker, struct format_super *super, bool *ret_moved,
			struct err *err);
/* Reads a section without comparing its checksum. Returns 0, -EBADMSG (the file ends before it),
 * -ENOMEM, or what reading returned. */
int index_load_section(struct reader *reader, const struct format_super *super,
		       enum format_section section, struct index_section *ret, struct err *err);

/* Sets the offsets of all files and parts to zero. START and PARTS then have the checksums they
 * were written with. */
void index_forget_offsets(struct index *index);
/* Finds them again, by the keys. Returns 0, -ENOMEM, or -EBADMSG (records are missing, or one has
 * the wrong size; err names the first paths). */
int index_locate(struct index *index, struct walker *walker, struct err *err);

/* Checks the hot sections against each other and against the size of the pack, and prepares extents
 * and links. Returns 0, -EBADMSG with a sentence, or -ENOMEM. */
int index_check(struct index *index, uint64_t pack_bytes, struct err *err);

/* Adds the counts of a superblock whose counts are zero, and the features that its entries need. */
void index_count(const struct index *index, struct format_super *super);
/* The content id, from the hot sections and SECTION_CHECKSUMS, after index_check(). 0 or -ENOMEM.
 */
int index_content_id(const struct index *index, uint8_t ret[static FORMAT_ID_BYTES]);
/* The id: of the index of one pack or of several, from the hot sections, SECTION_CHECKSUMS,
 * SECTION_MODE and SECTION_MTIME. */
void index_id(const struct index *index, uint8_t ret[static FORMAT_ID_BYTES]);

static inline enum format_kind index_kind(const struct index *index, uint32_t entry)
{
	return (enum format_kind)index->sections[SECTION_KIND].data[entry];
}

/* The name of an entry: not NUL-ended, empty for the root. */
const char *index_name(const struct index *index, uint32_t entry, size_t *ret_len);

/* As dataset_lookup(), dataset_find() and dataset_path(). */
int index_lookup(const struct index *index, uint32_t directory, const char *name, size_t len,
		 uint32_t *ret);
int index_find(const struct index *index, const char *path, size_t len, uint32_t *ret);
int index_path(const struct index *index, uint32_t entry, struct buf *path);

/* The same of any tree whose entries know their names and parents; 0 is the root. */
struct path_part {
	const char *name; /* not NUL-ended */
	size_t len;
	uint32_t parent;
};
int path_add(struct buf *path, uint32_t entry,
	     struct path_part (*part)(const void *tree, uint32_t entry), const void *tree);

/* The path of one entry after the other. Siblings come in blocks, so most have the same parent as
 * the one before: its path is not made again. */
struct path_walk {
	struct buf path; /* of the entry, with a NUL that its len does not count */
	uint32_t parent;
	size_t above; /* bytes of the parent's path, with its slash */
};
int path_walk(struct path_walk *walk, uint32_t entry,
	      struct path_part (*part)(const void *tree, uint32_t entry), const void *tree);
int index_walk_path(const struct index *index, uint32_t entry, struct path_walk *walk);

/* The entry of a hard link's inode; any other entry itself. */
uint32_t index_inode(const struct index *index, uint32_t entry);
/* The file that has the bytes of a hard link or alias; any other entry itself. */
uint32_t index_holder(const struct index *index, uint32_t entry);
/* How many hard links point at an entry. */
uint32_t index_link_count(const struct index *index, uint32_t entry);

/* The first extent of a file, or where it would be. */
uint64_t index_first_extent(const struct index *index, uint32_t entry);
/* Whether two files of one size, with checksums of all extents, have the same ones. */
bool index_same_checksums(const struct index *a, uint32_t x, const struct index *b, uint32_t y);
/* The file of an extent, and the number of the extent within it. */
uint32_t index_extent_entry(const struct index *index, uint64_t extent, uint64_t *ret_number);
