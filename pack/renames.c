#include "pack/renames.h"
#include "base/bytes.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void renames_release(struct renames *renames)
{
	buf_release(&renames->text);
	free(renames->names);
	free(renames->order);
	*renames = (struct renames){0};
}

int renames_add(struct renames *renames, const struct index *index, uint32_t entry,
		const char *name, size_t len)
{
	int r;

	renames->index = index;
	if (!renames->names)
		renames->names = calloc(index->entries, sizeof(*renames->names));
	if (!renames->names)
		return -ENOMEM;
	renames->names[entry] = renames->text.len + 1;
	r = buf_add(&renames->text, name, len);
	return r < 0 ? r : buf_add(&renames->text, "", 1);
}

const char *renames_name(const struct renames *renames, const struct index *index, uint32_t entry,
			 size_t *ret_len)
{
	const char *name;

	if (!renames || !renames->names || !renames->names[entry])
		return index_name(index, entry, ret_len);
	name = renames->text.data + renames->names[entry] - 1;
	*ret_len = strlen(name);
	return name;
}

static int compare_entries(const void *left, const void *right, void *context)
{
	const struct renames *renames = context;
	const uint32_t *a = left, *b = right;
	size_t a_len, b_len;
	const char *x = renames_name(renames, renames->index, *a, &a_len);
	const char *y = renames_name(renames, renames->index, *b, &b_len);
	int order = bytes_compare(x, a_len, y, b_len);

	return order ? order : (*a > *b) - (*a < *b);
}

int renames_sort(struct renames *renames)
{
	const struct index *index = renames->index;

	if (!renames->names)
		return 0;
	renames->order = calloc(index->entries, sizeof(*renames->order));
	if (!renames->order)
		return -ENOMEM;
	for (uint32_t e = 0; e < index->entries; e++)
		renames->order[e] = e;
	for (uint32_t e = 0; e < index->entries; e++) {
		if (index_kind(index, e) != FORMAT_DIRECTORY)
			continue;
		qsort_r(renames->order + index_get(index, SECTION_START, e),
			index_get(index, SECTION_SIZE, e), sizeof(*renames->order), compare_entries,
			renames);
	}
	return 0;
}
