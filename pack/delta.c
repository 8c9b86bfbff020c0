#include "pack/delta.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include "pack/options.h"
#include <stdio.h>
#include <string.h>

#define ID_DIGITS (FORMAT_ID_TEXT - 1)

/* --- its name --------------------------------------------------------------------------------- */

static const char base_line[] = "base", set_line[] = "base-set";

int delta_name_base(struct dataset *base, char ret[static DELTA_LINES])
{
	char id[FORMAT_ID_TEXT];
	int r = dataset_whole_id(base, id), len;

	if (r < 0)
		return r;
	len = snprintf(ret, DELTA_LINES, "%s=%s\n", base_line, id);
	if (base->packs)
		snprintf(ret + len, DELTA_LINES - (size_t)len, "%s=%s\n", set_line,
			 dataset_info(base)->id);
	return 0;
}

static bool find_id(const struct dataset *delta, const char *name, char ret[static FORMAT_ID_TEXT])
{
	const struct dataset_info *info = dataset_info(delta);
	size_t len;
	const char *id = options_find(info->options, info->options_len, name, &len);

	if (!id || len != ID_DIGITS)
		return false;
	memcpy(ret, id, ID_DIGITS);
	ret[ID_DIGITS] = '\0';
	return true;
}

int delta_since(const struct dataset *delta, char ret[static FORMAT_ID_TEXT], struct err *err)
{
	if (find_id(delta, set_line, ret) || find_id(delta, base_line, ret))
		return 0;
	return err_set(err, -EBADMSG, "damaged index: a delta that does not name its base");
}

int delta_fits(const struct dataset *delta, struct dataset *base, struct err *err)
{
	char since[FORMAT_ID_TEXT], wanted[FORMAT_ID_TEXT], whole[FORMAT_ID_TEXT];
	const char *have = dataset_info(base)->id;
	int r = delta_since(delta, since, err);

	if (r < 0 || strcmp(since, have) == 0)
		return r;
	/* What is not the base as it was named may still be the same as one pack. */
	r = dataset_whole_id(base, whole);
	if (r == -ENODATA)
		return err_set(err, -ENOENT,
			       "a delta since the id %s, not of a file of another format", since);
	if (r < 0 || (find_id(delta, base_line, wanted) && strcmp(wanted, whole) == 0))
		return r;
	return err_set(err, -ENOENT, "a delta since the id %s, but before it comes %s", since,
		       have);
}

/* --- where the bytes are ---------------------------------------------------------------------- */

/* The file of the base that has the bytes of an entry: 0 or -EBADMSG. */
static int find_in_base(const struct index *index, uint32_t entry, const struct index *base,
			uint32_t *ret, struct err *err)
{
	const uint64_t named = index_get(index, SECTION_START, entry);
	uint32_t holder = named < base->entries ? index_holder(base, (uint32_t)named) : 0;

	if (!format_is_file(index_kind(base, holder)) ||
	    index_get(base, SECTION_SIZE, holder) != index_get(index, SECTION_SIZE, entry))
		return err_set(err, -EBADMSG, "damaged index: entry %u is not in the base", entry);
	*ret = holder;
	return 0;
}

/* `start`: of the delta's own file among the bytes of both. */
static int place_all(struct index *index, const struct index *base, uint64_t start, struct err *err)
{
	const struct index_section *own_parts = &index->sections[SECTION_PARTS];
	const struct index_section *before = &base->sections[SECTION_PARTS];
	struct index_section parts;
	int r = index_section_alloc(&parts, before->count + own_parts->count, 8);

	if (r < 0)
		return r;
	/* The parts of the base come first, and those of the delta after them. So no size that the
	 * delta says asks for memory. */
	if (before->bytes)
		memcpy(parts.data, before->data, before->bytes);
	for (uint64_t i = 0; i < own_parts->count; i++)
		le_put64(parts.data + before->bytes + 8 * i,
			 start + index_get(index, SECTION_PARTS, i));
	free(own_parts->data);
	index->sections[SECTION_PARTS] = parts;
	for (uint32_t e = 0; r == 0 && e < index->entries; e++) {
		enum format_kind kind = index_kind(index, e);
		uint64_t own = index_get(index, SECTION_START, e);
		uint32_t holder;

		if (kind == FORMAT_FILE || kind == FORMAT_SPLIT)
			index_put(index, SECTION_START, e,
				  own + (kind == FORMAT_FILE ? start : before->count));
		if (kind != FORMAT_BASE)
			continue;
		r = find_in_base(index, e, base, &holder, err);
		if (r < 0)
			break;
		index_put(index, SECTION_KIND, e, index_kind(base, holder));
		index_put(index, SECTION_START, e, index_get(base, SECTION_START, holder));
	}
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
	int r = delta_fits(delta, base, err);

	if (r == 0)
		r = reader_volumes_new(both, 2, &reader);
	if (r < 0)
		return r;
	r = place_all(&delta->index, &base->index, reader_volumes_start(reader, 1), err);
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

/* --- its checksums ---------------------------------------------------------------------------- */

int delta_check(struct dataset *delta, struct dataset *base, dataset_fault_fn *found, void *context)
{
	const struct index *index = &delta->index;
	int r = dataset_load(delta, DATASET_CHECKSUMS, NULL);

	if (r == 0)
		r = dataset_load(base, DATASET_CHECKSUMS, NULL);
	for (uint32_t e = 0; r == 0 && e < index->entries; e++) {
		const char *wrong = NULL;
		uint32_t holder;

		if (index_kind(index, e) != FORMAT_BASE)
			continue;
		if (find_in_base(index, e, &base->index, &holder, NULL) < 0)
			wrong = "its base has no such file";
		else if (!index_same_checksums(index, e, &base->index, holder))
			wrong = "its base has other bytes for it";
		if (wrong)
			r = dataset_say_fault(delta, e, "wrong-base", wrong, found, context);
	}
	return r;
}
