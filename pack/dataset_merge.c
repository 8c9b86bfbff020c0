#include "pack/dataset_merge.h"
#include "base/math.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include "pack/labels_join.h"
#include "pack/made_names.h"
#include "pack/merge.h"
#include "pack/options.h"
#include "pack/xxh3.h"
#include <stdlib.h>
#include <string.h>

int dataset_set_name(struct dataset *dataset, const char *name)
{
	free(dataset->name);
	dataset->name = strdup(name);
	return dataset->name ? 0 : -ENOMEM;
}

static int compare_packs(const struct dataset_pack *a, const struct dataset_pack *b)
{
	int order = strcmp(dataset_info(a->dataset)->id, dataset_info(b->dataset)->id);

	return order ? order : strcmp(a->below, b->below);
}

/* Equal ones stay in the order of the words. */
static int compare_places(const void *left, const void *right)
{
	const struct dataset_pack *const *a = left, *const *b = right;
	int order = compare_packs(*a, *b);

	return order ? order : (*a > *b) - (*a < *b);
}

int dataset_merge_check(const struct dataset_pack *packs, unsigned count, struct err *err)
{
	SCOPE_FREE const struct dataset_pack **sorted = calloc(count, sizeof(*sorted));
	size_t some = 0;

	if (!sorted)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++)
		if (dataset_info(packs[i].dataset)->super->files &&
		    !dataset_lacks_base(packs[i].dataset))
			sorted[some++] = &packs[i];
	qsort(sorted, some, sizeof(*sorted), compare_places);
	for (size_t i = 1; i < some; i++)
		if (compare_packs(sorted[i - 1], sorted[i]) == 0)
			return err_set(err, -EEXIST, "%s and %s are the same pack: leave one out",
				       sorted[i - 1]->name, sorted[i]->name);
	return 0;
}

/* --- sections that are loaded later ----------------------------------------------------------- */

/* Drops a section: it will be loaded again when it is needed. */
static void forget_section(struct dataset *dataset, enum format_section section)
{
	free(dataset->index.sections[section].data);
	dataset->index.sections[section] = (struct index_section){0};
	atomic_store(&dataset->loaded[section], false);
}

/* The rows come from the packs: one an entry, or of checksums one an extent. */
static void gather_rows(struct dataset *dataset, enum format_section section)
{
	const struct dataset_packs *packs = dataset->packs;
	uint64_t row = 0;

	for (uint32_t e = 0; e < dataset->index.entries; e++) {
		uint32_t entry;
		unsigned pack = merge_pack_of(packs, packs->origins[e], &entry);
		const struct index *index = &packs->all[pack]->index;
		uint64_t first = entry, count = 1;

		if (section == SECTION_CHECKSUMS) {
			count = format_is_file(index_kind(&dataset->index, e))
					? format_extents(index_get(index, SECTION_SIZE, entry))
					: 0;
			first = count ? index_first_extent(index, entry) : 0;
		}
		for (uint64_t i = 0; i < count; i++)
			index_put(&dataset->index, section, row++,
				  index_get(index, section, first + i));
	}
}

static int gather_section(struct dataset *dataset, enum format_section section, struct err *err)
{
	struct dataset_packs *packs = dataset->packs;
	uint64_t width = 1;
	int r = 0;

	for (unsigned i = 0; i < packs->count; i++)
		dataset_will_load(packs->all[i], section);
	for (unsigned i = 0; r == 0 && i < packs->count; i++)
		r = merge_need_section(packs, i, section, err);
	for (unsigned i = 0; r == 0 && i < packs->count; i++)
		width = max(width, packs->all[i]->index.sections[section].width);
	if (r == 0)
		r = index_section_alloc(&dataset->index.sections[section],
					section == SECTION_CHECKSUMS ? dataset->index.extents
								     : dataset->index.entries,
					(uint32_t)width);
	if (r == 0)
		gather_rows(dataset, section);
	for (unsigned i = 0; i < packs->count; i++)
		forget_section(packs->all[i], section);
	return r;
}

/* --- merging ---------------------------------------------------------------------------------- */

/* Takes the packs, and joins their readers. */
static int take_packs(struct dataset *dataset, const struct dataset_merge_params *params)
{
	SCOPE_FREE struct reader **readers = calloc(params->count, sizeof(struct reader *));
	struct dataset_packs *made =
		calloc(1, sizeof(*made) + params->count * sizeof(made->all[0]));
	int r;

	dataset->packs = made;
	if (!made || !readers)
		return -ENOMEM;
	made->gather = gather_section;
	for (; made->count < params->count; made->count++) {
		const struct dataset_pack *pack = &params->packs[made->count];

		if (dataset_set_name(pack->dataset, pack->name) < 0)
			return -ENOMEM;
		made->all[made->count] = pack->dataset;
		readers[made->count] = pack->dataset->reader;
	}
	r = reader_volumes_new(readers, made->count, &dataset->reader);
	dataset->index_reader = dataset->reader;
	return r;
}

/* --- what describes the whole ----------------------------------------------------------------- */

/* The options that all packs were made with, and of each those that changed bytes: so some files of
 * the whole are not what they were. The labels are the last line. */
static int make_options(struct dataset *dataset, struct labels *labels)
{
	const struct dataset_packs *packs = dataset->packs;
	struct index_section *section = &dataset->index.sections[SECTION_OPTIONS];
	SCOPE(buf_release) struct buf text = BUF_INIT;
	struct option_line line;
	int r = 0;

	for (unsigned i = 0; i < packs->count; i++) {
		const struct dataset_info *info = dataset_info(packs->all[i]);
		const char *at = info->options, *end = at + info->options_len;

		while (r == 0 && options_next(&at, end, &line)) {
			bool common = i == 0;

			for (unsigned j = 1; common && j < packs->count; j++) {
				const struct dataset_info *other = dataset_info(packs->all[j]);

				common = options_have(other->options, other->options_len, &line);
			}
			if ((common || option_changes_bytes(&line)) &&
			    !options_have(text.data, text.len, &line))
				r = buf_addf(&text, "%.*s\n", (int)line.len, line.text);
		}
	}
	if (r == 0)
		r = labels_write(labels, &text);
	if (r == 0)
		r = index_section_alloc(section, text.len, 0);
	if (r == 0 && text.len)
		memcpy(section->data, text.data, text.len);
	return r;
}

static int describe_merged(struct dataset *dataset, const struct dataset_merge_params *params,
			   struct labels *labels)
{
	struct dataset_info *info = &dataset->info;
	XXH128_canonical_t id;
	XXH3_state_t state;
	int r;

	dataset->super.version = FORMAT_VERSION;
	index_count(&dataset->index, &dataset->super);
	XXH3_128bits_reset(&state);
	for (unsigned i = 0; i < params->count; i++) {
		const struct dataset_info *one = dataset_info(params->packs[i].dataset);
		const char *below = params->packs[i].below;

		XXH3_128bits_update(&state, one->super->id, FORMAT_ID_BYTES);
		XXH3_128bits_update(&state, below, strlen(below) + 1);
		info->pack_bytes += one->pack_bytes;
		info->relocated |= one->relocated;
		dataset->super.incompat |= one->super->incompat & FORMAT_UNCHECKED;
		dataset->super.left_out += dataset_left_out(params->packs[i].dataset);
	}
	for (size_t i = 0; i < params->select_count; i++)
		XXH3_128bits_update(&state, params->select[i], strlen(params->select[i]) + 1);
	XXH128_canonicalFromHash(&id, XXH3_128bits_digest(&state));
	memcpy(dataset->super.id, id.digest, FORMAT_ID_BYTES);
	r = make_options(dataset, labels);
	if (r == 0)
		dataset_fill_info(dataset);
	return r;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* What classes and files are called follows from all packs. */
static int merge_datasets(struct dataset *dataset, const struct dataset_merge_params *params,
			  struct renames *renames, struct err *err)
{
	static const enum format_section merged[] = {
		SECTION_NAMES, SECTION_NAME_END, SECTION_PARENT,   SECTION_START,
		SECTION_PARTS, SECTION_TARGETS,	 SECTION_CHECKSUMS};
	SCOPE(select_release) struct select *select = NULL;
	SCOPE(labels_release) struct labels labels = {0};
	SCOPE(buf_release) struct buf notes = BUF_INIT; /* lines that end with NUL */
	int r = take_packs(dataset, params);

	if (r == 0 && params->select_count)
		r = select_new(params->select, params->select_count, &select);
	if (r == 0)
		r = labels_join(params->packs, params->count, renames, &labels, &notes, err);
	if (r == 0)
		r = made_names_part(params->packs, params->count, renames);
	for (unsigned i = 0; r == 0 && i < params->count; i++)
		r = renames_sort(&renames[i]);
	if (r == 0)
		r = merge_indexes(dataset, params, renames, select, err);
	if (r < 0)
		return r;
	r = describe_merged(dataset, params, &labels);
	/* The merged index replaces these. Gathering checksums still needs the kinds and sizes of
	 * each pack. */
	for (unsigned i = 0; i < params->count; i++)
		for (size_t j = 0; j < sizeof(merged) / sizeof(merged[0]); j++)
			forget_section(params->packs[i].dataset, merged[j]);
	for (size_t at = 0; r == 0 && params->notice && at < notes.len;
	     at += strlen(notes.data + at) + 1)
		params->notice(notes.data + at);
	return r;
}

int dataset_merge(const struct dataset_merge_params *params, struct dataset **ret, struct err *err)
{
	SCOPE_FREE struct renames *renames = calloc(params->count, sizeof(*renames));
	struct dataset *dataset = dataset_new(NULL);
	int r;

	if (!dataset)
		return -ENOMEM;
	r = renames ? merge_datasets(dataset, params, renames, err) : -ENOMEM;
	for (unsigned i = 0; renames && i < params->count; i++)
		renames_release(&renames[i]);
	if (r == 0) {
		*ret = dataset;
		return 0;
	}
	for (unsigned i = 0; dataset->packs && i < dataset->packs->count; i++)
		dataset->packs->all[i] = NULL; /* they stay the caller's */
	dataset_free(dataset);
	return r;
}
