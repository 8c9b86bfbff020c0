#include "pack/tool/read/subtree.h"

#include "base/log.h"
#include "base/scope.h"
#include "pack/tool/cli/cmd.h"
#include <string.h>

void subtree_release(struct subtree *subtree)
{
	free(subtree->marks);
	subtree->marks = NULL;
}

static void mark_way(const struct dataset *dataset, uint8_t *marks, uint32_t entry)
{
	marks[entry] = SUBTREE_INSIDE;
	while (entry != DATASET_ROOT) {
		entry = dataset_entry(dataset, entry).parent;
		if (marks[entry] == SUBTREE_OUTSIDE)
			marks[entry] = SUBTREE_ABOVE;
	}
}

int subtree_new(const char *pack, const struct dataset *dataset, char **paths, struct subtree *ret)
{
	SCOPE_FREE uint8_t *marks = NULL;
	uint32_t entry;
	int r;

	if (!*paths) {
		*ret = (struct subtree){0};
		return EXIT_DONE;
	}
	marks = calloc(dataset_entries(dataset), 1);
	if (!marks)
		return log_fail(EXIT_FAILED, "%s: %s", pack, strerror(ENOMEM));
	for (; *paths; paths++) {
		r = cmd_find(pack, dataset, *paths, &entry);
		if (r != EXIT_DONE)
			return r;
		mark_way(dataset, marks, entry);
	}
	/* A directory comes before its children, so one pass reaches everything below. */
	for (entry = 1; entry < dataset_entries(dataset); entry++)
		if (marks[dataset_entry(dataset, entry).parent] == SUBTREE_INSIDE)
			marks[entry] = SUBTREE_INSIDE;
	ret->marks = steal_ptr(&marks);
	return EXIT_DONE;
}
