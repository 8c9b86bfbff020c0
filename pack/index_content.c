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
	uint64_t extent;       /* the first of the entry, if it has any */
	struct path_walk walk; /* its path; then what else counts follows */
};

static int digest_entry(struct content_pass *pass, uint32_t entry)
{
	const struct index *index = pass->index;
	enum format_kind kind = index_kind(index, entry);
	bool as_is = kind == FORMAT_DIRECTORY || kind == FORMAT_SYMLINK;
	uint8_t type[2] = {0, (uint8_t)(as_is ? kind : FORMAT_FILE)};
	uint32_t inode = index_inode(index, entry);
	uint64_t size = index_get(index, SECTION_SIZE, inode), first = pass->extent;
	XXH128_hash_t hash;
	struct buf *text = &pass->walk.path;
	uint8_t bytes[8];
	int r;

	if (kind == FORMAT_DIRECTORY && size > 0)
		return 0;
	r = index_walk_path(index, entry, &pass->walk);
	if (r == 0)
		r = buf_add(text, type, sizeof(type));
	if (r == 0 && kind == FORMAT_SYMLINK)
		r = buf_add(text,
			    index->sections[SECTION_TARGETS].data +
				    index_get(index, SECTION_START, entry),
			    size);
	if (r == 0 && !as_is) {
		if (kind == FORMAT_HARDLINK)
			first = index_first_extent(index, inode);
		else
			pass->extent += format_extents(size);
		le_put64(bytes, size);
		buf_add(text, bytes, sizeof(bytes));
		r = buf_add(text, index->sections[SECTION_CHECKSUMS].data + 8 * first,
			    8 * format_extents(size));
	}
	if (r < 0)
		return r;
	hash = XXH3_128bits(text->data, text->len);
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
	buf_release(&pass.walk.path);
	if (r < 0)
		return r;
	XXH128_canonicalFromHash(&id, pass.sum);
	memcpy(ret, id.digest, FORMAT_ID_BYTES);
	return 0;
}

/* --- the id ----------------------------------------------------------------------------------- */

/* The digest of these sections and, for each hard link, its start as 8 bytes: it covers what is in
 * the tree, not where it lies. A file counts as of the kind that it would be with bytes of its own.
 */
static const bool id_sections[SECTION_COUNT] = {
	[SECTION_NAMES] = true, [SECTION_NAME_END] = true,  [SECTION_PARENT] = true,
	[SECTION_SIZE] = true,	[SECTION_TARGETS] = true,   [SECTION_MODE] = true,
	[SECTION_MTIME] = true, [SECTION_CHECKSUMS] = true,
};

static void digest_kinds(const struct index *index, XXH3_state_t *state)
{
	for (uint32_t e = 0; e < index->entries; e++) {
		uint8_t kind = (uint8_t)index_kind(index, e);

		if (format_is_file((enum format_kind)kind))
			kind = format_parts(index_get(index, SECTION_SIZE, e)) ? FORMAT_SPLIT
									       : FORMAT_FILE;
		XXH3_128bits_update(state, &kind, 1);
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
		else if (id_sections[i])
			XXH3_128bits_update(&state, section->data, section->bytes);
	}
	for (uint32_t e = 0; index->link_count && e < index->entries; e++) {
		uint8_t link[8];

		if (index_kind(index, e) != FORMAT_HARDLINK)
			continue;
		le_put64(link, index_inode(index, e));
		XXH3_128bits_update(&state, link, sizeof(link));
	}
	XXH128_canonicalFromHash(&id, XXH3_128bits_digest(&state));
	memcpy(ret, id.digest, FORMAT_ID_BYTES);
}
