#include "pack/tool/report/duplicates.h"

#include "base/scope.h"
#include "pack/tool/read/text.h"
#include "pack/tool/report/anomalies.h"

struct copy {
	uint64_t size, sum;
	uint32_t entry;
};

void duplicates_release(struct duplicates *duplicates)
{
	free(duplicates->entries);
	free(duplicates->groups);
	*duplicates = (struct duplicates){0};
}

static int compare_copies(const void *a, const void *b)
{
	const struct copy *x = a, *y = b;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	if (x->sum != y->sum)
		return x->sum < y->sum ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

static bool same(const struct copy *a, const struct copy *b)
{
	return a->size == b->size && a->sum == b->sum;
}

static int read_copies(struct dataset *dataset, const uint32_t *files, uint32_t count,
		       struct copy *copies)
{
	struct dataset_entry entry;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		dataset_entry(dataset, files[i], &entry);
		copies[i].entry = files[i];
		copies[i].size = entry.size;
		r = text_sum(dataset, files[i], &copies[i].sum);
	}
	return r;
}

/* Files outside of all classes have no label that could contradict. */
static enum duplicate_reach reach_of(const struct classes *classes, const uint32_t *entries,
				     uint32_t count)
{
	enum duplicate_reach reach = DUPLICATE_CLASS;
	uint32_t first = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t class = classes->of[entries[i]];

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

/* Links are copies that take nothing, and so are files whose bytes are stored once already. */
static uint64_t bytes_of(const struct dataset *dataset, const uint32_t *entries, uint32_t count)
{
	struct dataset_entry entry;
	uint64_t stored = 0;

	for (uint32_t i = 0; i < count; i++) {
		dataset_entry(dataset, entries[i], &entry);
		stored += entry.holder == entries[i];
	}
	return stored > 1 ? (stored - 1) * entry.size : 0;
}

static void add_group(const struct dataset *dataset, const struct classes *classes,
		      const struct duplicate_group *found, struct duplicates *duplicates)
{
	const uint32_t *entries = duplicates->entries + found->first;
	struct duplicate_group *group = &duplicates->groups[duplicates->group_count++];
	struct duplicate_sum *sum;

	*group = *found;
	group->reach = reach_of(classes, entries, group->count);
	sum = &duplicates->sums[group->reach];
	sum->groups++;
	sum->files += group->count;
	sum->bytes += bytes_of(dataset, entries, group->count);
}

/* The entries that are not alone, group by group, into `entries`. Returns how many groups. */
static uint64_t keep_copies(const struct copy *copies, uint32_t count, uint32_t *entries)
{
	uint64_t groups = 0, kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		bool before = i > 0 && same(&copies[i], &copies[i - 1]);
		bool after = i + 1 < count && same(&copies[i], &copies[i + 1]);

		if (copies[i].size == 0 || (!before && !after))
			continue;
		groups += !before;
		entries[kept++] = copies[i].entry;
	}
	return groups;
}

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct duplicate_group *x = a, *y = b;
	const uint32_t *entries = context;

	if (x->reach != y->reach)
		return x->reach > y->reach ? -1 : 1;
	return (entries[x->first] > entries[y->first]) - (entries[x->first] < entries[y->first]);
}

static int find_groups(const struct dataset *dataset, const struct classes *classes,
		       const struct copy *copies, uint32_t count, struct duplicates *duplicates)
{
	struct duplicate_group found = {0};
	uint64_t groups;

	duplicates->entries = malloc((count + (size_t)1) * sizeof(*duplicates->entries));
	if (!duplicates->entries)
		return -ENOMEM;
	groups = keep_copies(copies, count, duplicates->entries);
	duplicates->groups = calloc(groups + 1, sizeof(*duplicates->groups));
	if (!duplicates->groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i += found.count) {
		for (found.count = 1; i + found.count < count; found.count++)
			if (!same(&copies[i], &copies[i + found.count]))
				break;
		if (copies[i].size == 0 || found.count == 1)
			continue;
		add_group(dataset, classes, &found, duplicates);
		found.first += found.count;
	}
	qsort_r(duplicates->groups, groups, sizeof(*duplicates->groups), compare_groups,
		duplicates->entries);
	return 0;
}

int duplicates_new(struct dataset *dataset, const struct classes *classes, const uint32_t *files,
		   uint32_t count, struct duplicates *ret)
{
	SCOPE(duplicates_release) struct duplicates duplicates = {0};
	SCOPE_FREE struct copy *copies = malloc((count + (size_t)1) * sizeof(*copies));
	int r = copies ? read_copies(dataset, files, count, copies) : -ENOMEM;

	if (r < 0)
		return r;
	qsort(copies, count, sizeof(*copies), compare_copies);
	r = find_groups(dataset, classes, copies, count, &duplicates);
	if (r < 0)
		return r;
	*ret = duplicates;
	duplicates = (struct duplicates){0};
	return 0;
}

/* --- JSON ------------------------------------------------------------------------------- */

static int add_group_json(const struct duplicates *duplicates, const struct duplicate_group *group,
			  struct dataset *dataset, const struct classes *classes, struct json *json)
{
	int r = 0;

	json_array(json, NULL);
	for (uint32_t i = 0; r == 0 && i < group->count && i < DUPLICATES_NAMED; i++)
		r = anomalies_path(dataset, classes, duplicates->entries[group->first + i], json);
	if (group->count > DUPLICATES_NAMED)
		json_u64(json, NULL, group->count - DUPLICATES_NAMED);
	json_end(json);
	return r;
}

int duplicates_json(const struct duplicates *duplicates, struct dataset *dataset,
		    const struct classes *classes, struct json *json)
{
	static const char *const names[DUPLICATE_REACHES] = {
		[DUPLICATE_CLASS] = "copies-in-class",
		[DUPLICATE_CLASSES] = "copies-in-classes",
		[DUPLICATE_SPLITS] = "copies-in-splits"};
	int r = 0;

	for (unsigned reach = 0; r == 0 && reach < DUPLICATE_REACHES; reach++) {
		const struct duplicate_sum *sum = &duplicates->sums[reach];
		uint64_t listed = 0;

		if (sum->groups == 0)
			continue;
		json_object(json, NULL);
		json_string(json, "kind", names[reach]);
		json_u64(json, "count", sum->groups);
		json_u64(json, "files", sum->files);
		json_u64(json, "bytes", sum->bytes);
		json_array(json, "items");
		for (uint64_t i = 0; r == 0 && i < duplicates->group_count; i++)
			if (duplicates->groups[i].reach == reach && listed++ < DUPLICATES_LISTED)
				r = add_group_json(duplicates, &duplicates->groups[i], dataset,
						   classes, json);
		json_end(json);
		json_end(json);
	}
	return r;
}
