/* From the keys of the LMDB to rows of the index. The rows that have a record are brought into the
 * order of their keys (format.h), and a walk over the LMDB goes along with them. A visitor gets
 * each record with its row. There are two: index_locate() finds offsets, dataset_check_keys()
 * verifies. */
#include "base/bytes.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include <stdio.h>
#include <string.h>

/* An entry whose keys are hashes: a split file, or a path over FORMAT_KEY_MAX bytes. */
struct hashed {
	char hash[FORMAT_HASH_DIGITS + 1];
	bool split;
	uint32_t entry;
};

/* A row that must have a record. */
struct keys_row {
	enum format_section section; /* START: `row` is an entry; PARTS: a row there */
	uint64_t row;
	uint32_t entry;
	uint64_t part; /* of a split file */
	uint64_t size; /* that its value must have */
	bool link;     /* the value names another path: a hard link or alias */
};

/* Returns 0 to go on. `record` is NULL for a row that has none, `row` for a key that the index does
 * not know. */
typedef int keys_visit_fn(void *context, const struct walker_record *record,
			  const struct keys_row *row, struct err *err);

struct keys {
	const struct index *index;
	struct buf hashed; /* struct hashed, by their keys, */
	struct buf others; /* and uint32_t, after these: entries whose keys are paths */
	struct path_walk walk;
	/* The row that the walk is at, and its key: */
	bool there; /* else it has passed all */
	struct keys_row row;
	struct format_key key;
	size_t next;   /* among both: the entry that comes then, */
	uint64_t part; /* and the part of it */
};

static void keys_release(struct keys *keys)
{
	buf_release(&keys->hashed);
	buf_release(&keys->others);
	buf_release(&keys->walk.path);
}

/* --- the order of keys ------------------------------------------------------------------------ */

/* Parts come before other hashes. */
static int compare_hashed(const void *left, const void *right)
{
	const struct hashed *a = left, *b = right;

	return a->split != b->split ? b->split - a->split : strcmp(a->hash, b->hash);
}

/* Siblings, the last first, as if the names of directories ended in '/'. */
static int compare_siblings(const void *left, const void *right, void *context)
{
	const struct index *index = context;
	uint32_t a = *(const uint32_t *)right, b = *(const uint32_t *)left;
	size_t a_len, b_len, len;
	const char *x = index_name(index, a, &a_len), *y = index_name(index, b, &b_len);
	int order;

	len = min(a_len, b_len);
	order = memcmp(x, y, len);
	if (order)
		return order;
	return (a_len > len				   ? (uint8_t)x[len]
		: index_kind(index, a) == FORMAT_DIRECTORY ? '/'
							   : 0) -
	       (b_len > len				   ? (uint8_t)y[len]
		: index_kind(index, b) == FORMAT_DIRECTORY ? '/'
							   : 0);
}

/* Puts the children of a directory on a stack, the one with the smallest key on top. */
static int push_children(const struct index *index, uint32_t directory, struct buf *stack)
{
	uint32_t first = (uint32_t)index_get(index, SECTION_START, directory);
	uint32_t count = (uint32_t)index_get(index, SECTION_SIZE, directory);
	size_t before = stack->len;
	bool nested = false;
	int r = 0;

	for (uint32_t e = first + count; r == 0 && e-- > first;) {
		nested |= index_kind(index, e) == FORMAT_DIRECTORY;
		r = buf_add(stack, &e, sizeof(e));
	}
	if (r == 0 && nested)
		qsort_r(stack->data + before, count, sizeof(first), compare_siblings,
			(void *)index);
	return r;
}

/* Whether an entry has a record under its path: a file that is not split, or a link to one whose
 * bytes are not in the base of a delta. */
static bool has_record(const struct index *index, uint32_t entry)
{
	switch (index_kind(index, entry)) {
	case FORMAT_FILE:
	case FORMAT_ALIAS:
		return true;
	case FORMAT_HARDLINK:
		return index_kind(index, index_inode(index, entry)) != FORMAT_BASE;
	default:
		return false;
	}
}

static int add_entry(struct keys *keys, uint32_t entry)
{
	struct hashed hashed = {.split = index_kind(keys->index, entry) == FORMAT_SPLIT,
				.entry = entry};
	const struct buf *path = &keys->walk.path;
	int r;

	if (!hashed.split && !has_record(keys->index, entry))
		return 0;
	r = index_walk_path(keys->index, entry, &keys->walk);
	if (r < 0)
		return r;
	if (!hashed.split && path->len <= FORMAT_KEY_MAX)
		return buf_add(&keys->others, &entry, sizeof(entry));
	format_path_hash(path->data, path->len, hashed.hash);
	return buf_add(&keys->hashed, &hashed, sizeof(hashed));
}

static int keys_sort(struct keys *keys)
{
	SCOPE(buf_release) struct buf stack = BUF_INIT;
	uint32_t entry = 0;
	int r = buf_add(&stack, &entry, sizeof(entry));

	while (r == 0 && stack.len) {
		stack.len -= sizeof(entry);
		memcpy(&entry, stack.data + stack.len, sizeof(entry));
		r = index_kind(keys->index, entry) == FORMAT_DIRECTORY
			    ? push_children(keys->index, entry, &stack)
			    : add_entry(keys, entry);
	}
	buf_sort(&keys->hashed, sizeof(struct hashed), compare_hashed);
	return r;
}

/* Goes on to the next row. */
static int keys_next(struct keys *keys)
{
	const struct index *index = keys->index;
	size_t hashed = BUF_COUNT(&keys->hashed, struct hashed);
	size_t others = BUF_COUNT(&keys->others, uint32_t);
	struct keys_row *row = &keys->row;
	const struct buf *path = &keys->walk.path;
	uint64_t parts;
	int r;

	keys->there = keys->next < hashed + others;
	if (!keys->there)
		return 0;
	*row = (struct keys_row){
		.section = SECTION_START,
		.entry = keys->next < hashed
				 ? BUF_ITEMS(&keys->hashed, struct hashed)[keys->next].entry
				 : BUF_ITEMS(&keys->others, uint32_t)[keys->next - hashed]};
	row->row = row->entry;
	row->size = index_get(index, SECTION_SIZE, row->entry);
	row->link = index_kind(index, row->entry) == FORMAT_ALIAS ||
		    index_kind(index, row->entry) == FORMAT_HARDLINK;
	r = index_walk_path(index, row->entry, &keys->walk);
	if (r < 0)
		return r;
	if (index_kind(index, row->entry) != FORMAT_SPLIT) {
		format_key_path(path->data, path->len, &keys->key);
		keys->next++;
		return 0;
	}
	parts = format_parts(row->size);
	row->section = SECTION_PARTS;
	row->part = keys->part;
	row->row = index_get(index, SECTION_START, row->entry) + row->part;
	row->size = min(row->size - row->part * FORMAT_PART, FORMAT_PART);
	format_key_part(path->data, path->len, (uint32_t)row->part, &keys->key);
	keys->part = row->part + 1 < parts ? row->part + 1 : 0;
	keys->next += keys->part == 0;
	return 0;
}

/* --- the walk --------------------------------------------------------------------------------- */

/* Visits the record, after the rows that have smaller keys; NULL: what is left of the rows. */
static int visit_up_to(struct keys *keys, const struct walker_record *record, keys_visit_fn *visit,
		       void *context, struct err *err)
{
	while (keys->there) {
		int order = record ? bytes_compare(keys->key.data, keys->key.len, record->key,
						   record->key_len)
				   : -1;
		int r;

		if (order > 0)
			break;
		r = visit(context, order == 0 ? record : NULL, &keys->row, err);
		if (r == 0)
			r = keys_next(keys);
		if (r < 0 || order == 0)
			return r;
	}
	return record ? visit(context, record, NULL, err) : 0;
}

/* Visits all rows and records in key order, except the superblock, sections and other reserved
 * keys. Returns 0, what `visit` returned, -EBADMSG, -EIO or -ENOMEM. */
static int keys_walk(const struct index *index, struct walker *walker, keys_visit_fn *visit,
		     void *context, struct err *err)
{
	SCOPE(keys_release) struct keys keys = {.index = index};
	struct walker_record record;
	int r = keys_sort(&keys);

	if (r == 0)
		r = keys_next(&keys);
	if (r == 0)
		r = walker_first(walker, &record, err);
	while (r == 0) {
		enum format_key_kind kind = format_key_classify(record.key, record.key_len);

		if (kind != KEY_SUPER && kind != KEY_SECTION && kind != KEY_RESERVED)
			r = visit_up_to(&keys, &record, visit, context, err);
		if (r == 0)
			r = walker_next(walker, &record, err);
	}
	return r == 1 ? visit_up_to(&keys, NULL, visit, context, err) : r;
}

/* --- finding offsets -------------------------------------------------------------------------- */

#define LOST_NAMED 3

struct locating {
	struct index *index;
	uint64_t rows, lost; /* files and parts; of these, without a record: */
	uint32_t last;
	unsigned named;
	struct buf names; /* ": 'a', 'b'" */
};

static int note_lost(struct locating *locating, uint32_t entry)
{
	locating->lost++;
	if (entry == locating->last || locating->named > LOST_NAMED)
		return 0;
	locating->last = entry;
	if (locating->named++ == LOST_NAMED)
		return buf_adds(&locating->names, ", ...");
	buf_adds(&locating->names, locating->names.len ? ", '" : ": '");
	index_path(locating->index, entry, &locating->names);
	return buf_adds(&locating->names, "'");
}

static int locate_record(void *context, const struct walker_record *record,
			 const struct keys_row *row, struct err *err)
{
	struct locating *locating = context;

	if (!row || row->link)
		return 0;
	locating->rows++;
	if (!record)
		return note_lost(locating, row->entry);
	if (record->size != row->size)
		return err_set(err, -EBADMSG, "'%.*s': %llu bytes stored, %llu in the index",
			       (int)record->key_len, (const char *)record->key,
			       (unsigned long long)record->size, (unsigned long long)row->size);
	index_put(locating->index, row->section, row->row, record->offset);
	return 0;
}

int index_locate(struct index *index, struct walker *walker, struct err *err)
{
	struct locating locating = {.index = index};
	int r = keys_walk(index, walker, locate_record, &locating, err);

	if (r == 0 && locating.lost)
		r = err_set(err, -EBADMSG, "%llu of %llu files have no record%s",
			    (unsigned long long)locating.lost, (unsigned long long)locating.rows,
			    locating.names.data);
	buf_release(&locating.names);
	return r;
}

/* --- verifying: each record must belong to a row and lie where it says ------------------------ */

struct checking {
	const struct dataset *dataset;
	dataset_fault_fn *found;
	void *context;
};

static int fault_in(const struct checking *checking, uint32_t entry, const char *damage,
		    const char *text)
{
	return dataset_say_fault(checking->dataset, entry, damage, text, checking->found,
				 checking->context);
}

static int say_missing(const struct checking *checking, const struct keys_row *row)
{
	uint64_t size = index_get(&checking->dataset->index, SECTION_SIZE, row->entry);
	char text[80] = "has no record";

	if (row->section == SECTION_PARTS)
		snprintf(text, sizeof(text), "part %llu of %llu has no record",
			 (unsigned long long)row->part + 1, (unsigned long long)format_parts(size));
	return fault_in(checking, row->entry, "no-record", text);
}

/* The record of a hard link or alias names the path that its bytes are under. */
static int check_link(const struct checking *checking, const struct walker_record *record,
		      uint32_t entry)
{
	const struct dataset *dataset = checking->dataset;
	SCOPE(buf_release) struct buf want = BUF_INIT, path = BUF_INIT;
	SCOPE_FREE char *have = NULL;
	int r = dataset_path(dataset, index_holder(&dataset->index, entry), &path);

	buf_add(&want, FORMAT_LINK_MAGIC, sizeof(FORMAT_LINK_MAGIC) - 1);
	if (r == 0)
		r = buf_add(&want, path.data, path.len);
	if (r < 0)
		return r;
	if (record->size == want.len) {
		have = malloc(want.len);
		if (!have)
			return -ENOMEM;
		r = reader_get_full(dataset->reader, have, want.len, record->offset);
		if (r < 0)
			return r;
	}
	if (!have || memcmp(have, want.data, want.len) != 0)
		return fault_in(checking, entry, "wrong-link",
				"its record names another file than the index says");
	return 0;
}

static int check_record(void *context, const struct walker_record *record,
			const struct keys_row *row, struct err *err)
{
	struct checking *checking = context;

	(void)err;
	if (!row) {
		const struct dataset_fault fault = {.damage = "unknown-record",
						    .text = "a record that the index does not know",
						    .path = (const char *)record->key,
						    .len = record->key_len};

		return checking->found(checking->context, &fault);
	}
	if (!record)
		return say_missing(checking, row);
	if (row->link)
		return check_link(checking, record, row->entry);
	if (record->size != row->size)
		return fault_in(checking, row->entry, "wrong-size",
				"its record has another size than the index says");
	if (record->offset != index_get(&checking->dataset->index, row->section, row->row))
		return fault_in(checking, row->entry, "wrong-place",
				"its record lies elsewhere than the index says");
	return 0;
}

int dataset_check_keys(struct dataset *dataset, dataset_fault_fn *found, void *context,
		       struct err *err)
{
	struct checking checking = {.dataset = dataset, .found = found, .context = context};
	SCOPE(walker_release) struct walker *walker = NULL;
	int r = walker_new(dataset->reader, &walker, err);

	return r < 0 ? r : keys_walk(&dataset->index, walker, check_record, &checking, err);
}
