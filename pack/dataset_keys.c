/* Verifies the keys of the LMDB against the index. Each record must belong to a row and lie where
 * that row says. Each row with bytes must have a record. */
#include "base/bits.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include "pack/keys.h"
#include <stdio.h>

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
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct dataset_fault fault = {.damage = damage, .text = text, .entry = entry};
	int r = dataset_path(checking->dataset, entry, &path);

	if (r < 0)
		return r;
	fault.path = path.data;
	fault.len = path.len;
	return checking->found(checking->context, &fault);
}

static int unknown_record(const struct checking *checking, const struct walker_record *record)
{
	const struct dataset_fault fault = {.damage = "unknown-record",
					    .text = "a record that the index does not know",
					    .path = (const char *)record->key,
					    .len = record->key_len};

	return checking->found(checking->context, &fault);
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

static int check_record_place(const struct checking *checking, const struct walker_record *record,
			      const struct keys_row *row)
{
	if (record->size != row->size)
		return fault_in(checking, row->entry, "wrong-size",
				"its record has another size than the index says");
	if (record->offset != index_get(&checking->dataset->index, row->section, row->row))
		return fault_in(checking, row->entry, "wrong-place",
				"its record lies elsewhere than the index says");
	return 0;
}

static int check_record(void *context, const struct walker_record *record,
			const struct keys_row *row, struct err *err)
{
	struct checking *checking = context;

	(void)err;
	if (!row)
		return unknown_record(checking, record);
	if (row->section == SECTION_PARTS)
		bit_set(checking->parts_seen, row->row);
	else
		bit_set(checking->entries_seen, row->entry);
	if (row->link)
		return check_link(checking, record, row->entry);
	return check_record_place(checking, record, row);
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

static int check_missing(const struct checking *checking)
{
	const struct index *index = &checking->dataset->index;
	int r = 0;

	for (uint32_t e = 0; r == 0 && e < index->entries; e++) {
		if (index_kind(index, e) == FORMAT_SPLIT)
			r = check_parts_seen(checking, e);
		else if (keys_has_record(index, e) && !bit_get(checking->entries_seen, e))
			r = fault_in(checking, e, "no-record", "has no record");
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
	return r == 0 ? check_missing(&checking) : r;
}
