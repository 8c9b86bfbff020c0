#include "pack/tool/import/slices.h"

#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include <string.h>
#include <xxhash.h>

#define PAGE	   4096
#define LEAF_BYTES (PAGE - 16)
#define NODE_MOST  2038	       /* of a record in a leaf; longer ones have pages of their own */
#define ROW_BYTES  48	       /* most that an entry takes in the index besides its name */
#define PACK_BYTES (256 * KIB) /* of a pack besides its files: meta pages, the superblock */
#define NO_SLICE   UINT32_MAX

struct slices {
	struct builder *entries; /* of the whole folder */
	struct scan_counts counts;
	uint32_t *files;  /* in their order */
	uint32_t *of;	  /* the slice of each entry; of a folder: NO_SLICE */
	uint64_t *hashes; /* of the paths and sizes of all files before each slice; the last: of all
			     files */
	uint64_t *bytes;  /* of each slice */
	uint32_t count;
};

void slices_free(struct slices *slices)
{
	if (!slices)
		return;
	builder_free(slices->entries);
	free(slices->files);
	free(slices->of);
	free(slices->hashes);
	free(slices->bytes);
	free(slices);
}

uint32_t slices_count(const struct slices *slices)
{
	return slices->count;
}

uint64_t slices_bytes(const struct slices *slices, uint32_t slice)
{
	return slices->bytes[slice];
}

struct shard slices_shard(const struct slices *slices, uint32_t slice)
{
	return (struct shard){.number = slice,
			      .of = slices->count,
			      .before = slices->hashes[slice],
			      .after = slices->hashes[slice + 1]};
}

const struct builder *slices_entries(const struct slices *slices)
{
	return slices->entries;
}

static uint64_t slice_file_size(const struct slices *slices, uint32_t id)
{
	return builder_entry(slices->entries, id).size;
}

/* --- where the cuts are ----------------------------------------------------------------------- */

/* The file that an entry goes with: itself; of a hard link its file; of a symbolic link the file
 * before it, which *before keeps from one entry to the next. PACK_ROOT: a folder, or a link before
 * all files. */
static uint32_t file_with(const struct slices *slices, uint32_t id, uint32_t *before)
{
	enum format_kind kind = builder_kind(slices->entries, id);

	if (kind == FORMAT_DIRECTORY)
		return PACK_ROOT;
	if (kind == FORMAT_HARDLINK)
		return builder_file(slices->entries, id);
	if (kind != FORMAT_SYMLINK)
		*before = id;
	return *before;
}

/* Pages that a file takes. An empty one counts too, so that parts get their share of those. */
static uint64_t pages_of(uint64_t size)
{
	return (size + 16 + PAGE - 1) / PAGE;
}

/* A file belongs to the part in which its middle lies. */
static void cut_into_parts(struct slices *slices, uint32_t parts)
{
	uint64_t total = 0, before = 0;

	for (uint64_t i = 0; i < slices->counts.files; i++)
		total += pages_of(slice_file_size(slices, slices->files[i]));
	for (uint64_t i = 0; i < slices->counts.files; i++) {
		uint64_t pages = pages_of(slice_file_size(slices, slices->files[i]));

		slices->of[slices->files[i]] =
			(uint32_t)((__uint128_t)(2 * before + pages) * parts / (2 * total));
		before += pages;
	}
	slices->count = parts;
}

/* The most that the record of a file takes: pages of its own, and its share of leaves. `sorted`:
 * each record comes behind all others. Then two leaves are more than one leaf full. Else one that
 * has room for n of a size keeps n / 2 when it is split, of three perhaps one beside which a larger
 * one was. */
static uint64_t record_bytes(uint64_t size, size_t path_len, bool sorted)
{
	uint64_t key = min(path_len, FORMAT_KEY_MAX), node = 8 + key + size, pages = 0;

	if (node > NODE_MOST) {
		pages = pages_of(size) + 2 * format_parts(size);
		node += 8 - size;
	}
	node += 2 + node % 2; /* and where it is */
	return pages * PAGE + (sorted && path_len <= FORMAT_KEY_MAX
				       ? 2 * node
				       : (PAGE + 4 * key) / (LEAF_BYTES / node / 2));
}

/* Of an entry and the folders above it. */
static uint64_t rows_bytes(const struct slices *slices, uint32_t id)
{
	uint64_t rows = 0;

	for (; id != PACK_ROOT; id = builder_parent(slices->entries, id))
		rows += ROW_BYTES;
	return rows;
}

static bool is_empty_folder(const struct slices *slices, uint32_t id)
{
	return builder_kind(slices->entries, id) == FORMAT_DIRECTORY &&
	       (id + 1 == slices->counts.entries || builder_parent(slices->entries, id + 1) != id);
}

/* Finds the most that each file takes of its pack, with the links that go with it; of the root:
 * what goes into the first pack. The record of a hard link comes last, and may split a leaf. */
static int find_costs(const struct slices *slices, bool sorted, uint64_t *costs)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	uint32_t before = PACK_ROOT;
	int r = 0;

	for (uint32_t id = 1; r == 0 && id < slices->counts.entries; id++) {
		struct pack_entry entry = builder_entry(slices->entries, id);
		uint32_t file = file_with(slices, id, &before);
		uint64_t cost;

		r = builder_path(slices->entries, id, &path);
		cost = rows_bytes(slices, id) + path.len;
		if (entry.kind == FORMAT_FILE)
			cost += record_bytes(entry.size, path.len, sorted) +
				8 * format_extents(entry.size);
		else if (entry.kind == FORMAT_SYMLINK)
			cost += entry.target_len;
		else if (entry.kind == FORMAT_HARDLINK && r == 0) {
			r = builder_path(slices->entries, file, &path);
			cost += PAGE + 3 * path.len;
		} else if (!is_empty_folder(slices, id))
			continue;
		costs[file] += cost;
	}
	return r;
}

static int cut_slices(struct slices *slices, uint64_t most, bool sorted, struct err *err)
{
	SCOPE_FREE uint64_t *costs = calloc(slices->counts.entries, sizeof(*costs));
	uint64_t taken;
	uint32_t slice = 0;
	int r = costs ? find_costs(slices, sorted, costs) : -ENOMEM;

	if (r < 0)
		return r;
	taken = min(PACK_BYTES + costs[PACK_ROOT], most);
	for (uint64_t i = 0; i < slices->counts.files; i++) {
		uint32_t id = slices->files[i];

		if (i && costs[id] > most - taken) {
			taken = PACK_BYTES;
			slice++;
		}
		if (slice == SLICES_MOST)
			return err_set(err, -E2BIG, "more than %u packs", SLICES_MOST);
		taken += min(costs[id], most - taken);
		slices->of[id] = slice;
	}
	slices->count = slice + 1;
	return 0;
}

static void place_links(struct slices *slices)
{
	uint32_t before = PACK_ROOT;

	for (uint32_t id = 0; id < slices->counts.entries; id++) {
		uint32_t file = file_with(slices, id, &before);

		if (builder_kind(slices->entries, id) == FORMAT_DIRECTORY)
			slices->of[id] = NO_SLICE;
		else
			slices->of[id] = file == PACK_ROOT ? 0 : slices->of[file];
	}
}

static int add_up_costs(struct slices *slices, uint64_t hash)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	uint32_t slice = 0;

	slices->hashes = calloc((size_t)slices->count + 1, sizeof(*slices->hashes));
	slices->bytes = calloc(slices->count, sizeof(*slices->bytes));
	if (!slices->hashes || !slices->bytes)
		return -ENOMEM;
	slices->hashes[0] = hash;
	for (uint64_t i = 0; i < slices->counts.files; i++) {
		uint32_t id = slices->files[i];
		uint64_t size = slice_file_size(slices, id);
		int r = builder_path(slices->entries, id, &path);

		if (r < 0)
			return r;
		while (slice < slices->of[id])
			slices->hashes[++slice] = hash;
		hash = XXH3_64bits_withSeed(path.data, path.len, hash + size);
		slices->bytes[slice] += size;
	}
	while (slice < slices->count)
		slices->hashes[++slice] = hash;
	return 0;
}

int slices_new(const struct scan_params *scan, const struct order *order,
	       const struct slices_cut *how, struct slices **ret, struct err *err)
{
	struct slices *slices = calloc(1, sizeof(*slices));
	int r = slices ? builder_new_entries(&slices->entries) : -ENOMEM;

	if (r == 0)
		r = order_scan(scan, order, slices->entries, &slices->counts, &slices->files, err);
	if (r == 0) {
		slices->of = calloc(slices->counts.entries, sizeof(*slices->of));
		r = slices->of ? 0 : -ENOMEM;
	}
	if (r == 0 && how->parts)
		cut_into_parts(slices, how->parts);
	else if (r == 0)
		r = cut_slices(slices, how->size, order->kind == ORDER_PATH, err);
	if (r == 0) {
		place_links(slices);
		r = add_up_costs(slices, how->seed);
	}
	if (r < 0)
		slices_free(slices);
	else
		*ret = slices;
	return r;
}

/* --- the entries of one ----------------------------------------------------------------------- */

/* Marks what a slice has and the folders above that; for the first slice also the empty folders.
 * Parents come before what is in them. */
static void mark_entries(const struct slices *slices, uint32_t slice, bool *has)
{
	bool *filled = has + slices->counts.entries;

	for (uint32_t id = (uint32_t)slices->counts.entries; id-- > 0;) {
		uint32_t parent = builder_parent(slices->entries, id);

		if (slices->of[id] == slice ||
		    (slices->of[id] == NO_SLICE && slice == 0 && !filled[id]))
			has[id] = true;
		filled[parent] = true;
		has[parent] |= has[id];
	}
	has[PACK_ROOT] = true;
}

int slices_add(const struct slices *slices, uint32_t slice, struct builder *builder,
	       struct scan_counts *ret, uint32_t **ret_files, struct err *err)
{
	uint64_t entries = slices->counts.entries;
	SCOPE_FREE bool *has = calloc(2 * entries, sizeof(*has));
	SCOPE_FREE uint32_t *copies = calloc(entries, sizeof(*copies));
	SCOPE_FREE uint32_t *files = calloc(slices->counts.files + 1, sizeof(*files));
	struct pack_entry entry = builder_entry(slices->entries, PACK_ROOT);
	struct scan_counts counts = {0};
	char name[FORMAT_NAME_MAX + 1];
	int r = 0;

	if (!has || !copies || !files)
		return -ENOMEM;
	mark_entries(slices, slice, has);
	builder_attr(builder, PACK_ROOT, entry.mode, entry.mtime);
	for (uint32_t id = 1; r == 0 && id < entries; id++) {
		if (!has[id])
			continue;
		entry = builder_entry(slices->entries, id);
		builder_name(slices->entries, id, name);
		entry.name = name;
		entry.name_len = strlen(name);
		entry.parent = copies[entry.parent];
		if (entry.kind == FORMAT_HARDLINK)
			entry.link_to = copies[entry.link_to];
		r = builder_add(builder, &entry, &copies[id], err);
	}
	for (uint64_t i = 0; i < slices->counts.files; i++) {
		uint32_t id = slices->files[i];

		if (slices->of[id] != slice)
			continue;
		files[counts.files++] = copies[id];
		counts.bytes += slice_file_size(slices, id);
	}
	if (r < 0)
		return r;
	counts.entries = builder_entries(builder);
	*ret = counts;
	*ret_files = steal_ptr(&files);
	return 0;
}
