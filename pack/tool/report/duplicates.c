#include "pack/tool/report/duplicates.h"

#include "base/bits.h"
#include "base/scope.h"
#include "pack/tool/read/summary.h"
#include "pack/tool/report/statistics.h"

void duplicates_release(struct duplicates *duplicates)
{
	free(duplicates->files);
	free(duplicates->groups);
	*duplicates = (struct duplicates){0};
}

static int compare_files(const void *a, const void *b)
{
	const struct duplicate_file *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	if (x->checksum != y->checksum)
		return x->checksum < y->checksum ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* How many files, from the first one on, have the same bytes. */
static uint32_t run_of(const struct duplicate_file *files, uint32_t count)
{
	uint32_t run = 1;

	while (run < count && files[run].size == files[0].size &&
	       files[run].checksum == files[0].checksum)
		run++;
	return run;
}

static int read_files(struct dataset *dataset, const uint32_t *entries, uint32_t count,
		      struct duplicate_file *files)
{
	struct dataset_entry entry;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		entry = dataset_entry(dataset, entries[i]);
		files[i].entry = entries[i];
		files[i].size = entry.size;
		r = summary_checksum(dataset, entries[i], &files[i].checksum);
	}
	return r;
}

/* Files in no class have no label that could contradict. */
static enum duplicate_reach reach_of(const struct classes *classes,
				     const struct duplicate_file *files, uint32_t count)
{
	enum duplicate_reach reach = DUPLICATE_CLASS;
	uint32_t first = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t class = classes->of[files[i].entry];

		if (class == 0 || class == first)
			continue;
		if (first == 0)
			first = class;
		else if (classes->list[class - 1].split != classes->list[first - 1].split)
			return DUPLICATE_SPLITS;
		else
			reach = DUPLICATE_CLASSES;
	}
	return reach;
}

/* Links and aliases are copies without bytes of their own. */
static uint64_t bytes_of(const struct dataset *dataset, const struct duplicate_file *files,
			 uint32_t count)
{
	struct dataset_entry entry;
	uint64_t stored = 0;

	for (uint32_t i = 0; i < count; i++) {
		entry = dataset_entry(dataset, files[i].entry);
		stored += entry.holder == files[i].entry;
	}
	return stored > 1 ? (stored - 1) * entry.size : 0;
}

static int add_group(const struct dataset *dataset, const struct classes *classes, uint32_t first,
		     uint32_t count, struct duplicates *duplicates, struct buf *groups)
{
	const struct duplicate_file *files = duplicates->files + first;
	const struct duplicate_group group = {
		.first = first, .count = count, .reach = reach_of(classes, files, count)};
	struct duplicate_total *total = &duplicates->totals[group.reach];

	total->groups++;
	total->files += count;
	total->bytes += bytes_of(dataset, files, count);
	return buf_add(groups, &group, sizeof(group));
}

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct duplicate_group *x = a, *y = b;
	const struct duplicate_file *files = context;
	uint32_t left = files[x->first].entry, right = files[y->first].entry;

	if (x->reach != y->reach)
		return x->reach > y->reach ? -1 : 1;
	return (left > right) - (left < right);
}

static int find_groups(const struct dataset *dataset, const struct classes *classes, uint32_t count,
		       struct duplicates *duplicates)
{
	const struct duplicate_file *files = duplicates->files;
	SCOPE(buf_release) struct buf groups = BUF_INIT;
	int r = 0;

	for (uint32_t i = 0, run; r == 0 && i < count; i += run) {
		run = run_of(files + i, count - i);
		if (run > 1 && files[i].size)
			r = add_group(dataset, classes, i, run, duplicates, &groups);
	}
	if (r < 0 || !groups.data)
		return r;
	duplicates->group_count = BUF_COUNT(&groups, *duplicates->groups);
	duplicates->groups = (void *)steal_ptr(&groups.data);
	qsort_r(duplicates->groups, duplicates->group_count, sizeof(*duplicates->groups),
		compare_groups, duplicates->files);
	return 0;
}

int duplicates_new(struct dataset *dataset, const struct classes *classes, const uint32_t *entries,
		   uint32_t count, struct duplicates *ret)
{
	SCOPE(duplicates_release) struct duplicates duplicates = {0};
	int r;

	duplicates.files = malloc((count + (size_t)1) * sizeof(*duplicates.files));
	if (!duplicates.files)
		return -ENOMEM;
	r = read_files(dataset, entries, count, duplicates.files);
	if (r < 0)
		return r;
	qsort(duplicates.files, count, sizeof(*duplicates.files), compare_files);
	r = find_groups(dataset, classes, count, &duplicates);
	if (r < 0)
		return r;
	*ret = duplicates;
	duplicates = (struct duplicates){0};
	return 0;
}

/* Labels are met group by group: `met` has the last group that each was met in, + 1. */
int duplicates_mark(const struct duplicates *duplicates, const struct classes *classes,
		    uint8_t *copies)
{
	SCOPE_FREE uint32_t *met = calloc(classes->label_count + (size_t)1, sizeof(*met));

	if (!met)
		return -ENOMEM;
	for (uint32_t g = 0; g < duplicates->group_count; g++) {
		const struct duplicate_group *group = &duplicates->groups[g];

		for (uint32_t i = 0; i < group->count; i++) {
			uint32_t entry = duplicates->files[group->first + i].entry;
			uint32_t label = statistics_label(classes, entry);

			if (met[label] == g + 1)
				bit_set(copies, entry);
			met[label] = g + 1;
		}
	}
	return 0;
}

/* --- JSON ------------------------------------------------------------------------------- */

static int add_group_json(const struct duplicates *duplicates, const struct duplicate_group *group,
			  struct dataset *dataset, const struct classes *classes, struct json *json)
{
	int r = 0;

	json_array(json, NULL);
	for (uint32_t i = 0; r == 0 && i < group->count && i < DUPLICATES_NAMED; i++)
		r = anomalies_path(dataset, classes, duplicates->files[group->first + i].entry,
				   json);
	if (group->count > DUPLICATES_NAMED)
		json_u64(json, NULL, group->count - DUPLICATES_NAMED);
	json_end(json);
	return r;
}

int duplicates_items_json(const struct duplicates *duplicates, enum duplicate_reach reach,
			  struct dataset *dataset, const struct classes *classes, struct json *json)
{
	uint64_t listed = 0;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < duplicates->group_count; i++)
		if (duplicates->groups[i].reach == reach && listed++ < DUPLICATES_LISTED)
			r = add_group_json(duplicates, &duplicates->groups[i], dataset, classes,
					   json);
	return r;
}
