/* What the content of an index is known by. */
#include "pack/index.h"
#include "pack/xxh3.h"

/* --- the content id --------------------------------------------------------------------------- */

/* The content id is a sum, modulo 2^128, of one XXH3-128 for each entry, of
 *
 *	path | NUL | kind | a file: size and the checksums of its extents; a symbolic link: target
 *
 * It is a sum so that it depends on no order, and so that the ids of packs without a common entry
 * add up to the id of all of them together. For the same reason a directory counts only if it is
 * empty: the paths in any other directory tell of it.
 *
 * It does not count how a file is stored, nor whether it shares its bytes with another one (hard
 * link, alias): a copy of a tree may differ there. */
struct content_pass {
	const struct index *index;
	XXH128_hash_t sum;
	uint64_t extent; /* the first of the entry, if it has any */
	struct buf entry;
	uint64_t parent; /* of the entry; `entry` begins with its path, and a slash if it has one */
	size_t parent_len;
};

/* Siblings come in blocks, so most entries have the same parent as the one before. */
static int begin_with_parent(struct content_pass *pass, uint32_t entry)
{
	uint64_t parent = index_get(pass->index, SECTION_PARENT, entry);

	pass->entry.len = pass->parent_len;
	if (parent == pass->parent)
		return 0;
	pass->entry.len = 0;
	index_path(pass->index, (uint32_t)parent, &pass->entry);
	if (parent)
		buf_add(&pass->entry, "/", 1);
	pass->parent = parent;
	pass->parent_len = pass->entry.len;
	return buf_error(&pass->entry);
}

static int add_u64(struct buf *to, uint64_t number)
{
	uint8_t bytes[8];

	le_put64(bytes, number);
	return buf_add(to, bytes, sizeof(bytes));
}

static int add_file(struct content_pass *pass, uint32_t entry)
{
	const struct index *index = pass->index;
	const uint8_t *sums = index->sections[SECTION_CHECKSUMS].data;
	uint64_t size = index_get(index, SECTION_SIZE, index_inode(index, entry));
	uint64_t first = pass->extent;
	int r = add_u64(&pass->entry, size);

	if (index_kind(index, entry) == FORMAT_HARDLINK)
		first = index_first_extent(index, index_inode(index, entry));
	else
		pass->extent += format_extents(size);
	return r < 0 ? r : buf_add(&pass->entry, sums + 8 * first, 8 * format_extents(size));
}

static int add_link_text(struct content_pass *pass, uint32_t entry)
{
	const struct index *index = pass->index;
	const uint8_t *target = index->sections[SECTION_TARGETS].data;

	return buf_add(&pass->entry, target + index_get(index, SECTION_START, entry),
		       index_get(index, SECTION_SIZE, entry));
}

static int add_content(struct content_pass *pass, uint32_t entry)
{
	switch (index_kind(pass->index, entry)) {
	case FORMAT_DIRECTORY:
		return 0;
	case FORMAT_SYMLINK:
		return add_link_text(pass, entry);
	default:
		return add_file(pass, entry);
	}
}

static int digest_entry(struct content_pass *pass, uint32_t entry)
{
	const struct index *index = pass->index;
	enum format_kind kind = index_kind(index, entry);
	bool as_is = kind == FORMAT_DIRECTORY || kind == FORMAT_SYMLINK;
	uint8_t type[2] = {0, (uint8_t)(as_is ? kind : FORMAT_FILE)};
	XXH128_hash_t hash;
	size_t len;
	const char *name = index_name(index, entry, &len);
	int r;

	if (kind == FORMAT_DIRECTORY && index_get(index, SECTION_SIZE, entry) > 0)
		return 0;
	r = begin_with_parent(pass, entry);
	if (r == 0)
		r = buf_add(&pass->entry, name, len);
	if (r == 0)
		r = buf_add(&pass->entry, type, sizeof(type));
	if (r == 0)
		r = add_content(pass, entry);
	if (r < 0)
		return r;
	hash = XXH3_128bits(pass->entry.data, pass->entry.len);
	pass->sum.low64 += hash.low64;
	pass->sum.high64 += hash.high64 + (pass->sum.low64 < hash.low64);
	return 0;
}

int index_content_id(const struct index *index, uint8_t ret[static FORMAT_ID_BYTES])
{
	struct content_pass pass = {.index = index};
	XXH128_canonical_t id;
	int r = 0;

	for (uint32_t e = 0; r == 0 && e < index->entries; e++)
		r = digest_entry(&pass, e);
	buf_release(&pass.entry);
	if (r < 0)
		return r;
	XXH128_canonicalFromHash(&id, pass.sum);
	memcpy(ret, id.digest, FORMAT_ID_BYTES);
	return 0;
}

/* --- the id ----------------------------------------------------------------------------------- */

/* It covers what is in the tree, not where it lies. Of all offsets and references, only the targets
 * of hard links count. */
const bool index_id_sections[SECTION_COUNT] = {
	[SECTION_NAMES] = true, [SECTION_NAME_END] = true, [SECTION_PARENT] = true,
	[SECTION_KIND] = true,	[SECTION_SIZE] = true,	   [SECTION_TARGETS] = true,
	[SECTION_MODE] = true,	[SECTION_MTIME] = true,	   [SECTION_CHECKSUMS] = true,
};

static void digest_kinds(const struct index *index, XXH3_state_t *state)
{
	for (uint32_t e = 0; e < index->entries; e++) {
		uint8_t kind = (uint8_t)index_id_kind(index_kind(index, e),
						      index_get(index, SECTION_SIZE, e));

		XXH3_128bits_update(state, &kind, 1);
	}
}

static void digest_links(const struct index *index, XXH3_state_t *state)
{
	for (uint32_t e = 0; index->link_count && e < index->entries; e++) {
		uint8_t link[8];

		if (index_kind(index, e) != FORMAT_HARDLINK)
			continue;
		le_put64(link, index_inode(index, e));
		XXH3_128bits_update(state, link, sizeof(link));
	}
}

void index_id(const struct index *index, uint8_t ret[static FORMAT_ID_BYTES])
{
	XXH128_canonical_t id;
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		const struct index_section *section = &index->sections[i];

		if (i == SECTION_KIND)
			digest_kinds(index, &state);
		else if (index_id_sections[i])
			XXH3_128bits_update(&state, section->data, section->bytes);
	}
	digest_links(index, &state);
	XXH128_canonicalFromHash(&id, XXH3_128bits_digest(&state));
	memcpy(ret, id.digest, FORMAT_ID_BYTES);
}
