/* From the keys of the LMDB to rows of the index. A path becomes a key in one of three ways
 * (format.h). A walk over all keys calls a visitor with each record and its row. There are two:
 * index_locate() finds offsets, dataset_check_keys() verifies. */
#include "base/bits.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include <stdio.h>

/* Entries whose keys are hashes: paths over FORMAT_KEY_MAX bytes, and split files. */
struct hashed {
	char hash[FORMAT_HASH_DIGITS + 1];
	uint32_t entry;
};

#define HASH_AT 6 /* in a key: after "\0part." and "\0path." */

/* The row that a key belongs to. */
struct keys_row {
	enum format_section section; /* START: `row` is an entry; PARTS: a row there */
	uint64_t row;
	uint32_t entry;
	uint64_t size; /* that its value must have */
	bool link;     /* the value names another path: a hard link or alias */
};

/* Returns 0 to go on. `row` is NULL for a key that the index does not know. */
typedef int keys_visit_fn(void *context, const struct walker_record *record,
			  const struct keys_row *row, struct err *err);

struct resolver {
	const struct index *index;
	struct buf hashed; /* struct hashed, sorted; made when the first hashed key is met */
	bool hashed_made;  /* there may be none */
	/* Keys come sorted, so most are in the directory of the key before. */
	char directory[FORMAT_KEY_MAX];
	size_t directory_len;
	uint32_t directory_entry;
	uint32_t next; /* where the next key is likely to be */
};

static int compare_hashed(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((struct hashed *)0)->hash) - 1);
}

static int resolver_hash_all(struct resolver *resolver)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct hashed one;

	for (uint32_t e = 1; e < resolver->index->entries; e++) {
		int r;

		path.len = 0;
		r = index_path(resolver->index, e, &path);
		if (r < 0)
			return r;
		if (path.len <= FORMAT_KEY_MAX && index_kind(resolver->index, e) != FORMAT_SPLIT)
			continue;
		format_path_hash(path.data, path.len, one.hash);
		one.entry = e;
		r = buf_add(&resolver->hashed, &one, sizeof(one));
		if (r < 0)
			return r;
	}
	buf_sort(&resolver->hashed, sizeof(one), compare_hashed);
	resolver->hashed_made = true;
	return 0;
}

/* The entry whose path has the hash at `digits`: 0, -ENOENT or -ENOMEM. */
static int resolve_hash(struct resolver *resolver, const uint8_t *digits, uint32_t *ret)
{
	struct hashed wanted = {0};
	const struct hashed *found;

	if (!resolver->hashed_made) {
		int r = resolver_hash_all(resolver);

		if (r < 0)
			return r;
	}
	memcpy(wanted.hash, digits, sizeof(wanted.hash) - 1);
	found = buf_find(&resolver->hashed, &wanted, sizeof(wanted), compare_hashed);
	if (!found)
		return -ENOENT;
	*ret = found->entry;
	return 0;
}

static int resolve_path(struct resolver *resolver, const char *path, size_t len, uint32_t *ret)
{
	const char *slash = memrchr(path, '/', len);
	size_t directory_len = slash ? (size_t)(slash - path) : 0;
	const char *name = slash ? slash + 1 : path;
	size_t name_len = len - (size_t)(name - path), other_len;
	const struct index *index = resolver->index;
	int r;

	/* index_find() ignores such slashes, but only one key may stand for a path. */
	if (slash == path || memmem(path, len, "//", 2))
		return -ENOENT;
	if (directory_len != resolver->directory_len ||
	    memcmp(path, resolver->directory, directory_len) != 0) {
		r = index_find(index, path, directory_len, &resolver->directory_entry);
		if (r < 0)
			return r;
		memcpy(resolver->directory, path, directory_len);
		resolver->directory_len = directory_len;
	}
	if (resolver->next < index->entries &&
	    index_get(index, SECTION_PARENT, resolver->next) == resolver->directory_entry) {
		const char *other = index_name(index, resolver->next, &other_len);

		if (other_len == name_len && memcmp(other, name, name_len) == 0) {
			*ret = resolver->next++;
			return 0;
		}
	}
	r = index_lookup(index, resolver->directory_entry, name, name_len, ret);
	if (r == 0)
		resolver->next = *ret + 1;
	return r;
}

/* Whether an entry has a record under its path: a file that is not split, or a link to one whose
 * bytes are not in the base of a delta. */
static bool keys_has_record(const struct index *index, uint32_t entry)
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

/* "\0part.HASH.NNNNNNNN": the classifier has checked lengths, not digits. */
static int part_row(struct resolver *resolver, const uint8_t *key, struct keys_row *ret)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *digits = key + HASH_AT + FORMAT_HASH_DIGITS + 1;
	const struct index *index = resolver->index;
	uint64_t part = 0, size;
	uint32_t entry;
	int r = resolve_hash(resolver, key + HASH_AT, &entry);

	if (r < 0)
		return r;
	for (int i = 0; i < 8; i++) {
		const char *at = memchr(hex, digits[i], 16);

		if (!at)
			return -ENOENT;
		part = part << 4 | (uint64_t)(at - hex);
	}
	if (index_kind(index, entry) != FORMAT_SPLIT)
		return -ENOENT;
	size = index_get(index, SECTION_SIZE, entry);
	if (part >= format_parts(size))
		return -ENOENT;
	*ret = (struct keys_row){.section = SECTION_PARTS,
				 .row = index_get(index, SECTION_START, entry) + part,
				 .entry = entry,
				 .size = part + 1 < format_parts(size) ? FORMAT_PART
								       : size - part * FORMAT_PART};
	return 0;
}

/* The row of a key: 0, -ENOENT (the index knows no such thing) or -ENOMEM. */
static int resolve_key(struct resolver *resolver, enum format_key_kind kind, const uint8_t *key,
		       size_t len, struct keys_row *ret)
{
	uint32_t entry;
	int r = -ENOENT;

	if (kind == KEY_PART)
		return part_row(resolver, key, ret);
	if (kind == KEY_HASHED)
		r = resolve_hash(resolver, key + HASH_AT, &entry);
	else if (kind == KEY_PATH)
		r = resolve_path(resolver, (const char *)key, len, &entry);
	if (r < 0)
		return r;
	if (!keys_has_record(resolver->index, entry))
		return -ENOENT;
	*ret = (struct keys_row){.section = SECTION_START,
				 .row = entry,
				 .entry = entry,
				 .size = index_get(resolver->index, SECTION_SIZE, entry),
				 .link = index_kind(resolver->index, entry) != FORMAT_FILE};
	return 0;
}

/* Visits all records in key order, except the superblock, sections and other reserved keys. Returns
 * 0, what `visit` returned, -EBADMSG, -EIO or -ENOMEM. */
static int keys_walk(const struct index *index, struct walker *walker, keys_visit_fn *visit,
		     void *context, struct err *err)
{
	struct resolver resolver = {.index = index, .next = 1};
	struct walker_record record;
	struct keys_row row;
	int r, known;

	for (r = walker_first(walker, &record, err); r == 0;
	     r = r == 0 ? walker_next(walker, &record, err) : r) {
		enum format_key_kind kind = format_key_classify(record.key, record.key_len);

		if (kind == KEY_SUPER || kind == KEY_SECTION || kind == KEY_RESERVED)
			continue;
		known = resolve_key(&resolver, kind, record.key, record.key_len, &row);
		if (known < 0 && known != -ENOENT && known != -ENOTDIR)
			r = known;
		else
			r = visit(context, &record, known == 0 ? &row : NULL, err);
	}
	buf_release(&resolver.hashed);
	return r == 1 ? 0 : r;
}

struct locating {
	struct index *index;
	uint64_t rows; /* files and parts found */
};

static int locate_record(void *context, const struct walker_record *record,
			 const struct keys_row *row, struct err *err)
{
	struct locating *locating = context;

	if (!row || row->link)
		return 0;
	if (record->size != row->size)
		return err_set(err, -EBADMSG, "'%.*s': %llu bytes stored, %llu in the index",
			       (int)record->key_len, (const char *)record->key,
			       (unsigned long long)record->size, (unsigned long long)row->size);
	index_put(locating->index, row->section, row->row, record->offset);
	locating->rows++;
	return 0;
}

static uint64_t rows_expected(const struct index *index)
{
	uint64_t rows = index->sections[SECTION_PARTS].count;

	for (uint32_t e = 0; e < index->entries; e++)
		rows += index_kind(index, e) == FORMAT_FILE;
	return rows;
}

/* No record begins at offset 0, so 0 means that no offset was found. */
static bool is_lost(const struct index *index, uint32_t entry)
{
	enum format_kind kind = index_kind(index, entry);
	uint64_t start = index_get(index, SECTION_START, entry), parts;

	if (kind != FORMAT_SPLIT)
		return kind == FORMAT_FILE && start == 0;
	parts = format_parts(index_get(index, SECTION_SIZE, entry));
	for (uint64_t part = 0; part < parts; part++)
		if (index_get(index, SECTION_PARTS, start + part) == 0)
			return true;
	return false;
}

#define LOST_NAMED 3

int index_locate(struct index *index, struct walker *walker, struct err *err)
{
	struct locating locating = {.index = index};
	int r = keys_walk(index, walker, locate_record, &locating, err);

	if (r == 0 && locating.rows != rows_expected(index)) {
		SCOPE(buf_release) struct buf names = BUF_INIT; /* ": 'a', 'b'" */
		uint64_t expected = rows_expected(index);
		unsigned named = 0;

		for (uint32_t e = 1; e < index->entries && named <= LOST_NAMED; e++) {
			if (!is_lost(index, e))
				continue;
			buf_adds(&names, named == LOST_NAMED ? ", ..." : named ? ", '" : ": '");
			if (named++ == LOST_NAMED)
				break;
			index_path(index, e, &names);
			buf_adds(&names, "'");
		}
		r = buf_error(&names);
		if (r == 0)
			r = err_set(err, -EBADMSG, "%llu of %llu files have no record%s",
				    (unsigned long long)(expected - locating.rows),
				    (unsigned long long)expected, names.len ? names.data : "");
	}
	return r;
}

/* --- verifying: each record must belong to a row and lie where it says
 * ---------------------------- */

struct checking {
	const struct dataset *dataset;
	uint8_t *entries_seen; /* a bit for each entry whose record was seen; unused for split files
				*/
	uint8_t *parts_seen;   /* a bit for each row of the section parts */
	dataset_fault_fn *found;
	void *context;
};

static int fault_in(const struct checking *checking, uint32_t entry, const char *damage,
		    const char *text)
{
	return dataset_say_fault(checking->dataset, entry, damage, text, checking->found,
				 checking->context);
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
	if (row->section == SECTION_PARTS)
		bit_set(checking->parts_seen, row->row);
	else
		bit_set(checking->entries_seen, row->entry);
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

static int check_parts_seen(const struct checking *checking, uint32_t entry)
{
	const struct index *index = &checking->dataset->index;
	uint64_t parts = format_parts(index_get(index, SECTION_SIZE, entry));
	uint64_t first = index_get(index, SECTION_START, entry);
	char text[80];
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < parts; i++) {
		if (bit_get(checking->parts_seen, first + i))
			continue;
		snprintf(text, sizeof(text), "part %llu of %llu has no record",
			 (unsigned long long)i + 1, (unsigned long long)parts);
		r = fault_in(checking, entry, "no-record", text);
	}
	return r;
}

int dataset_check_keys(struct dataset *dataset, dataset_fault_fn *found, void *context,
		       struct err *err)
{
	const struct index *index = &dataset->index;
	SCOPE_FREE uint8_t *entries_seen = calloc(1, index->entries / 8 + 1);
	SCOPE_FREE uint8_t *parts_seen = calloc(1, index->sections[SECTION_PARTS].count / 8 + 1);
	struct checking checking = {.dataset = dataset,
				    .entries_seen = entries_seen,
				    .parts_seen = parts_seen,
				    .found = found,
				    .context = context};
	SCOPE(walker_release) struct walker *walker = NULL;
	int r;

	if (!entries_seen || !parts_seen)
		return -ENOMEM;
	r = walker_new(dataset->reader, &walker, err);
	if (r == 0)
		r = keys_walk(index, walker, check_record, &checking, err);
	for (uint32_t e = 0; r == 0 && e < index->entries; e++) {
		if (index_kind(index, e) == FORMAT_SPLIT)
			r = check_parts_seen(&checking, e);
		else if (keys_has_record(index, e) && !bit_get(entries_seen, e))
			r = fault_in(&checking, e, "no-record", "has no record");
	}
	return r;
}
