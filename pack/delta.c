#include "pack/delta.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include <string.h>

#define ID_DIGITS (FORMAT_ID_TEXT - 1)

int delta_since(const struct dataset *delta, char ret[static FORMAT_ID_TEXT], struct err *err)
{
	const struct dataset_info *info = dataset_info(delta);
	const size_t name = strlen(DELTA_SINCE);
	const char *end = info->options + info->options_len, *next;

	for (const char *line = info->options; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));

		next = newline ? newline + 1 : end;
		if (!newline || (size_t)(newline - line) != name + ID_DIGITS ||
		    memcmp(line, DELTA_SINCE, name) != 0)
			continue;
		memcpy(ret, line + name, ID_DIGITS);
		ret[ID_DIGITS] = '\0';
		return 0;
	}
	return err_set(err, -EBADMSG, "damaged index: a delta that does not name its base");
}

/* --- the right base --------------------------------------------------------------------------- */

/* The ids of packs without a common path add up to that of all together. That spares loading the
 * checksums of a set of shards. */
static bool add_up(const struct dataset *base, const char *since)
{
	__uint128_t sum = 0;
	char text[FORMAT_ID_TEXT];
	uint8_t id[FORMAT_ID_BYTES];

	if (!base->packs)
		return false;
	for (unsigned i = 0; i < base->packs->count; i++) {
		const struct format_super *super = dataset_info(base->packs->all[i])->super;
		__uint128_t one = 0;

		for (unsigned byte = 0; byte < FORMAT_ID_BYTES; byte++)
			one = one << 8 | super->content_id[byte];
		sum += one;
	}
	for (unsigned byte = FORMAT_ID_BYTES; byte-- > 0; sum >>= 8)
		id[byte] = (uint8_t)sum;
	format_id_text(id, text);
	return strcmp(text, since) == 0;
}

static int check_base(const struct dataset *delta, struct dataset *base, struct err *err)
{
	char since[FORMAT_ID_TEXT], have[FORMAT_ID_TEXT];
	int r = delta_since(delta, since, err);

	if (r < 0 || add_up(base, since))
		return r;
	r = dataset_content_id(base, have);
	if (r == -ENODATA)
		return err_set(err, -ENOENT,
			       "a delta since the content id %s, not of a file of "
			       "another format",
			       since);
	if (r == 0 && strcmp(since, have) != 0)
		return err_set(err, -ENOENT,
			       "a delta since the content id %s, but before it comes %s", since,
			       have);
	return r;
}

/* --- where the bytes are ---------------------------------------------------------------------- */

/* The parts of all files over 1 GiB, the base's too. */
struct placing {
	struct index *index;
	const struct index *base;
	struct index_section parts;
	uint64_t start, next; /* of the delta's own file; the row of `parts` to fill */
};

static void place_parts(struct placing *p, uint32_t entry, const struct index *from, uint64_t first,
			uint64_t start)
{
	uint64_t count = format_parts(index_get(p->index, SECTION_SIZE, entry));

	index_put(p->index, SECTION_START, entry, p->next);
	for (uint64_t i = 0; i < count; i++)
		le_put64(p->parts.data + 8 * p->next++,
			 start + index_get(from, SECTION_PARTS, first + i));
}

static int place_in_base(struct placing *p, uint32_t entry, struct err *err)
{
	const uint64_t named = index_get(p->index, SECTION_START, entry);
	uint32_t holder = named < p->base->entries ? index_holder(p->base, (uint32_t)named) : 0;
	enum format_kind kind = index_kind(p->base, holder);

	if ((kind != FORMAT_FILE && kind != FORMAT_SPLIT) ||
	    index_get(p->base, SECTION_SIZE, holder) != index_get(p->index, SECTION_SIZE, entry))
		return err_set(err, -EBADMSG, "damaged index: entry %u is not in the base", entry);
	p->index->sections[SECTION_KIND].data[entry] = (uint8_t)kind;
	if (kind == FORMAT_SPLIT)
		place_parts(p, entry, p->base, index_get(p->base, SECTION_START, holder), 0);
	else
		index_put(p->index, SECTION_START, entry,
			  index_get(p->base, SECTION_START, holder));
	return 0;
}

static int place_entry(struct placing *p, uint32_t entry, struct err *err)
{
	uint64_t start = index_get(p->index, SECTION_START, entry);

	switch (index_kind(p->index, entry)) {
	case FORMAT_BASE:
		return place_in_base(p, entry, err);
	case FORMAT_FILE:
		index_put(p->index, SECTION_START, entry, p->start + start);
		return 0;
	case FORMAT_SPLIT:
		place_parts(p, entry, p->index, start, p->start);
		return 0;
	default:
		return 0;
	}
}

static uint64_t count_parts(const struct index *index)
{
	uint64_t parts = 0;

	for (uint32_t e = 0; e < index->entries; e++)
		if (index_kind(index, e) == FORMAT_SPLIT || index_kind(index, e) == FORMAT_BASE)
			parts += format_parts(index_get(index, SECTION_SIZE, e));
	return parts;
}

/* `start`: of the delta's own file among the bytes of both. */
static int place_all(struct dataset *delta, const struct dataset *base, uint64_t start,
		     struct err *err)
{
	struct placing p = {.index = &delta->index, .base = &base->index, .start = start};
	int r = index_section_alloc(&p.parts, count_parts(p.index), 8);

	if (r < 0)
		return r;
	for (uint32_t e = 0; r == 0 && e < p.index->entries; e++)
		r = place_entry(&p, e, err);
	free(p.index->sections[SECTION_PARTS].data);
	p.index->sections[SECTION_PARTS] = p.parts;
	return r;
}

/* --- both as one ------------------------------------------------------------------------------ */

/* Nobody asks the base for entries any more. */
static void keep_bytes_only(struct dataset *base)
{
	index_release(&base->index);
	for (unsigned i = 0; base->packs && i < base->packs->count; i++)
		keep_bytes_only(base->packs->all[i]);
}

int delta_apply(struct dataset *delta, struct dataset *base, struct err *err)
{
	struct reader *const both[] = {base->reader, delta->reader};
	struct reader *reader = NULL;
	int r = check_base(delta, base, err);

	if (r == 0)
		r = reader_volumes_new(both, 2, &reader);
	if (r < 0)
		return r;
	r = place_all(delta, base, reader_volumes_start(reader, 1), err);
	if (r < 0) {
		reader_free(reader);
		return r;
	}
	delta->reader = reader;
	delta->base = base;
	delta->info.pack_bytes += base->info.pack_bytes;
	delta->info.relocated |= base->info.relocated;
	keep_bytes_only(base);
	return 0;
}
