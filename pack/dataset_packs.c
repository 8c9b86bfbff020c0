/* What a dataset of several packs does otherwise: it finds the pack of an extent, and makes
 * sections that are loaded later from those of its packs. */
#include "base/reader_volumes.h"
#include "pack/dataset_internal.h"
#include <stdlib.h>
#include <string.h>

void dataset_packs_free(struct dataset_packs *packs)
{
	if (!packs)
		return;
	for (unsigned i = 0; i < packs->count; i++)
		dataset_free(packs->all[i]);
	merge_release(&packs->merge);
	free(packs);
}

/* --- the file of an extent -------------------------------------------------------------------- */

int dataset_set_name(struct dataset *dataset, const char *name)
{
	free(dataset->name);
	dataset->name = strdup(name);
	return dataset->name ? 0 : -ENOMEM;
}

/* Several packs may be the base of a delta, and a delta one of several packs. */
struct dataset *dataset_file_of(struct dataset *dataset, uint64_t extent)
{
	uint64_t offset =
		extent < dataset->index.extents ? dataset_extent(dataset, extent).offset : 0;

	while (dataset->packs || dataset->base) {
		unsigned volume = reader_volumes_find(dataset->reader, offset);

		if (dataset->base && volume)
			break;
		offset -= reader_volumes_start(dataset->reader, volume);
		dataset = dataset->base ? dataset->base : dataset->packs->all[volume];
	}
	return dataset;
}

const char *dataset_pack_name(const struct dataset *dataset, uint64_t extent)
{
	return dataset_file_of((struct dataset *)dataset, extent)->name;
}

/* --- sections that are loaded later ----------------------------------------------------------- */

void dataset_forget_section(struct dataset *dataset, enum format_section section)
{
	free(dataset->index.sections[section].data);
	dataset->index.sections[section] = (struct index_section){0};
	atomic_store(&dataset->loaded[section], false);
}

static int alloc_column(const struct dataset *dataset, enum format_section section,
			struct index_section *ret)
{
	const struct dataset_packs *packs = dataset->packs;
	uint64_t rows =
		section == SECTION_CHECKSUMS ? dataset->index.extents : dataset->index.entries;
	uint32_t width = 1;

	for (unsigned i = 0; i < packs->count; i++)
		if (packs->all[i]->index.sections[section].width > width)
			width = packs->all[i]->index.sections[section].width;
	return index_section_alloc(ret, rows, width);
}

static void gather_column(struct dataset *dataset, enum format_section section)
{
	const struct dataset_packs *packs = dataset->packs;

	for (uint32_t e = 0; e < dataset->index.entries; e++) {
		uint32_t entry;
		unsigned pack = merge_pack_of(&packs->merge, packs->merge.origins[e], &entry);

		index_put(&dataset->index, section, e,
			  index_get(&packs->all[pack]->index, section, entry));
	}
}

static void gather_checksums(struct dataset *dataset)
{
	const struct dataset_packs *packs = dataset->packs;
	uint64_t row = 0;

	for (uint32_t e = 0; e < dataset->index.entries; e++) {
		uint32_t entry;
		unsigned pack = merge_pack_of(&packs->merge, packs->merge.origins[e], &entry);
		const struct index *index = &packs->all[pack]->index;
		uint64_t first, count = format_extents(index_get(index, SECTION_SIZE, entry));

		if (!format_is_file(index_kind(&dataset->index, e)) || count == 0)
			continue;
		first = index_first_extent(index, entry);
		for (uint64_t i = 0; i < count; i++)
			index_put(&dataset->index, SECTION_CHECKSUMS, row++,
				  index_get(index, SECTION_CHECKSUMS, first + i));
	}
}

int dataset_need_of_pack(const struct dataset_packs *packs, unsigned i, enum format_section section,
			 struct err *err)
{
	struct err reason = {0};
	int r = dataset_need_section(packs->all[i], section, &reason);

	return r < 0 ? err_set(err, r, "%s: %s", packs->all[i]->name, err_text(&reason, r)) : 0;
}

int dataset_gather_section(struct dataset *dataset, enum format_section section, struct err *err)
{
	struct dataset_packs *packs = dataset->packs;
	int r = 0;

	for (unsigned i = 0; i < packs->count; i++)
		dataset_will_load(packs->all[i], section);
	for (unsigned i = 0; r == 0 && i < packs->count; i++)
		r = dataset_need_of_pack(packs, i, section, err);
	if (r == 0)
		r = alloc_column(dataset, section, &dataset->index.sections[section]);
	if (r == 0 && section == SECTION_CHECKSUMS)
		gather_checksums(dataset);
	else if (r == 0)
		gather_column(dataset, section);
	for (unsigned i = 0; i < packs->count; i++)
		dataset_forget_section(packs->all[i], section);
	return r;
}
