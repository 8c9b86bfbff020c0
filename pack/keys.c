#include "pack/keys.h"
#include "base/scope.h"

/* Entries whose keys are hashes: paths over FORMAT_KEY_MAX bytes, and split files. */
struct hashed {
	char hash[FORMAT_HASH_DIGITS + 1];
	uint32_t entry;
};

#define HASH_AT 6 /* in a key: after "\0part." and "\0path." */

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

static bool is_next(const struct resolver *resolver, const char *name, size_t len)
{
	const struct index *index = resolver->index;
	size_t other_len;
	const char *other;

	if (resolver->next >= index->entries ||
	    index_get(index, SECTION_PARENT, resolver->next) != resolver->directory_entry)
		return false;
	other = index_name(index, resolver->next, &other_len);
	return other_len == len && memcmp(other, name, len) == 0;
}

static int resolve_path(struct resolver *resolver, const char *path, size_t len, uint32_t *ret)
{
	const char *slash = memrchr(path, '/', len);
	size_t directory_len = slash ? (size_t)(slash - path) : 0;
	const char *name = slash ? slash + 1 : path;
	size_t name_len = len - (size_t)(name - path);
	int r;

	/* index_find() ignores such slashes, but only one key may stand for a path. */
	if (slash == path || memmem(path, len, "//", 2))
		return -ENOENT;
	if (directory_len != resolver->directory_len ||
	    memcmp(path, resolver->directory, directory_len) != 0) {
		r = index_find(resolver->index, path, directory_len, &resolver->directory_entry);
		if (r < 0)
			return r;
		memcpy(resolver->directory, path, directory_len);
		resolver->directory_len = directory_len;
	}
	if (is_next(resolver, name, name_len)) {
		*ret = resolver->next++;
		return 0;
	}
	r = index_lookup(resolver->index, resolver->directory_entry, name, name_len, ret);
	if (r == 0)
		resolver->next = *ret + 1;
	return r;
}

bool keys_has_record(const struct index *index, uint32_t entry)
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

/* The row of a record that holds a whole file or a reference. */
static int file_row(const struct index *index, uint32_t entry, struct keys_row *ret)
{
	enum format_kind kind = index_kind(index, entry);

	if (!keys_has_record(index, entry))
		return -ENOENT;
	*ret = (struct keys_row){.section = SECTION_START,
				 .row = entry,
				 .entry = entry,
				 .size = index_get(index, SECTION_SIZE, entry),
				 .link = kind != FORMAT_FILE};
	return 0;
}

/* "NNNNNNNN" as format_key_part() writes it: 0 or -ENOENT. */
static int part_number(const uint8_t *digits, uint64_t *ret)
{
	static const char hex[] = "0123456789abcdef";
	uint64_t number = 0;

	for (int i = 0; i < 8; i++) {
		const char *at = memchr(hex, digits[i], 16);

		if (!at)
			return -ENOENT;
		number = number << 4 | (uint64_t)(at - hex);
	}
	*ret = number;
	return 0;
}

/* "\0part.HASH.NNNNNNNN": the classifier has checked lengths, not digits. */
static int part_row(struct resolver *resolver, const uint8_t *key, struct keys_row *ret)
{
	const struct index *index = resolver->index;
	uint64_t part = 0, size;
	uint32_t entry;
	int r = resolve_hash(resolver, key + HASH_AT, &entry);

	if (r == 0)
		r = part_number(key + HASH_AT + FORMAT_HASH_DIGITS + 1, &part);
	if (r < 0)
		return r;
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
	return r < 0 ? r : file_row(resolver->index, entry, ret);
}

static int visit_key(struct resolver *resolver, const struct walker_record *record,
		     keys_visit_fn *visit, void *context, struct err *err)
{
	enum format_key_kind kind = format_key_classify(record->key, record->key_len);
	struct keys_row row;
	int r;

	if (kind == KEY_SUPER || kind == KEY_SECTION || kind == KEY_RESERVED)
		return 0;
	r = resolve_key(resolver, kind, record->key, record->key_len, &row);
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		return r;
	return visit(context, record, r == 0 ? &row : NULL, err);
}

int keys_walk(const struct index *index, struct walker *walker, keys_visit_fn *visit, void *context,
	      struct err *err)
{
	struct resolver resolver = {.index = index, .next = 1};
	struct walker_record record;
	int r = walker_first(walker, &record, err);

	while (r == 0) {
		r = visit_key(&resolver, &record, visit, context, err);
		if (r == 0)
			r = walker_next(walker, &record, err);
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

/* "'a', 'b'" */
static int name_lost(const struct index *index, struct buf *names)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	unsigned named = 0;
	int r = 0;

	for (uint32_t e = 1; r == 0 && e < index->entries; e++) {
		if (!is_lost(index, e))
			continue;
		if (named++ == LOST_NAMED)
			return buf_adds(names, ", ...");
		path.len = 0;
		r = index_path(index, e, &path);
		if (r == 0)
			r = buf_addf(names, "%s'%.*s'", named > 1 ? ", " : "", (int)path.len,
				     path.data);
	}
	return r;
}

static int refuse_lost(const struct index *index, uint64_t found, struct err *err)
{
	SCOPE(buf_release) struct buf names = BUF_INIT;
	uint64_t expected = rows_expected(index);
	int r = name_lost(index, &names);

	if (r < 0)
		return r;
	return err_set(err, -EBADMSG, "%llu of %llu files have no record%s%s",
		       (unsigned long long)(expected - found), (unsigned long long)expected,
		       names.len ? ": " : "", names.len ? names.data : "");
}

int index_locate(struct index *index, struct walker *walker, struct err *err)
{
	struct locating locating = {.index = index};
	int r = keys_walk(index, walker, locate_record, &locating, err);

	if (r == 0 && locating.rows != rows_expected(index))
		return refuse_lost(index, locating.rows, err);
	return r;
}
