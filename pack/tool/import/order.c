#include "pack/tool/import/order.h"

#include "base/io.h"
#include "base/scope.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* A file and what it is sorted by. */
struct ranked {
	uint64_t rank;
	uint32_t entry;
};

static int parse_seed(const char *text, struct order *ret, struct err *err)
{
	char *end;

	errno = 0;
	ret->seed = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text < '0' || *text > '9')
		return err_set(err, -EINVAL, "'--order': '%s' is not a number", text);
	ret->kind = ORDER_SHUFFLE;
	return 0;
}

int order_parse(const char *text, struct order *ret, struct err *err)
{
	*ret = (struct order){.kind = ORDER_PATH};
	if (strcmp(text, "path") == 0)
		return 0;
	if (strncmp(text, "shuffle:", 8) == 0)
		return parse_seed(text + 8, ret, err);
	if (strncmp(text, "list:", 5) != 0 || !text[5])
		return err_set(err, -EINVAL,
			       "'--order': '%s' is not one of path, shuffle:SEED, list:FILE", text);
	ret->kind = ORDER_LIST;
	ret->file = text + 5;
	return 0;
}

/* Equal ranks keep the order of the scan, so that the result is one. */
static int compare_ranked(const void *one, const void *two)
{
	const struct ranked *a = one, *b = two;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* All files, with their other names or without, ranked by the hash of their paths under a seed,
 * sorted. */
static int rank_by_hash(const struct scan *scan, uint64_t seed, bool names, struct ranked **ret,
			size_t *ret_count)
{
	SCOPE_FREE struct ranked *ranked = calloc(scan_entries(scan), sizeof(*ranked));
	SCOPE(buf_release) struct buf path = BUF_INIT;
	size_t count = 0;

	if (!ranked)
		return -ENOMEM;
	for (uint32_t entry = 0; entry < scan_entries(scan); entry++) {
		uint8_t kind = scan_entry(scan, entry)->kind;

		if (kind != FORMAT_FILE && !(names && kind == FORMAT_HARDLINK))
			continue;
		path.len = 0;
		if (scan_path(scan, entry, &path) < 0)
			return -ENOMEM;
		ranked[count].entry = entry;
		ranked[count++].rank = XXH3_64bits_withSeed(path.data, path.len, seed);
	}
	qsort(ranked, count, sizeof(*ranked), compare_ranked);
	*ret = steal_ptr(&ranked);
	*ret_count = count;
	return 0;
}

/* --- a list --------------------------------------------------------------------------- */

struct list {
	const struct order *order;
	const struct filter *filter;
	const struct scan *scan;
	struct ranked *by_hash; /* sorted: where a path is found */
	size_t count;
	uint64_t *lines; /* of each entry: its line, from 1, or UINT64_MAX */
	struct buf path;
};

static void release_list(struct list *list)
{
	free(list->by_hash);
	free(list->lines);
	buf_release(&list->path);
}

static bool is_path(struct list *list, size_t at, const char *text)
{
	list->path.len = 0;
	return scan_path(list->scan, list->by_hash[at].entry, &list->path) == 0 &&
	       strcmp(list->path.data, text) == 0;
}

/* The file or name of a file that has a path; the root, which is none, where there is none. */
static uint32_t find_ranked(struct list *list, const char *text)
{
	const struct ranked wanted = {.rank = XXH3_64bits(text, strlen(text))};
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_ranked(&list->by_hash[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < list->count && list->by_hash[low].rank == wanted.rank; low++)
		if (is_path(list, low, text))
			return list->by_hash[low].entry;
	return SCAN_ROOT;
}

static int no_file(const struct list *list, const char *text, uint64_t number, struct err *err)
{
	if (list->filter && !filter_wants_file(list->filter, text))
		return err_set(err, -ENOENT,
			       "%s:%lu: '%s' is left out by --exclude or --include; take the line "
			       "out, or let them pass it",
			       list->order->file, number, text);
	return err_set(err, -ENOENT, "%s:%lu: '%s' is no file of SOURCE", list->order->file, number,
		       text);
}

static int take_line(struct list *list, const char *text, uint64_t number, struct err *err)
{
	uint32_t at = find_ranked(list, text);

	if (at == SCAN_ROOT)
		return no_file(list, text, number, err);
	if (list->lines[at] != UINT64_MAX)
		return err_set(err, -EEXIST, "%s:%lu: '%s' stands in line %lu already",
			       list->order->file, number, text, list->lines[at]);
	list->lines[at] = number;
	return 0;
}

/* Files alone are ranked, by the first line that has a name of theirs. */
static void rank_by_lines(struct list *list)
{
	size_t files = 0;

	for (size_t i = 0; i < list->count; i++) {
		uint32_t entry = list->by_hash[i].entry;
		const struct scan_entry *named = scan_entry(list->scan, entry);

		if (named->kind == FORMAT_HARDLINK &&
		    list->lines[entry] < list->lines[named->target])
			list->lines[named->target] = list->lines[entry];
	}
	for (size_t i = 0; i < list->count; i++) {
		uint32_t entry = list->by_hash[i].entry;

		if (scan_entry(list->scan, entry)->kind == FORMAT_FILE)
			list->by_hash[files++] =
				(struct ranked){.rank = list->lines[entry], .entry = entry};
	}
	list->count = files;
	qsort(list->by_hash, files, sizeof(*list->by_hash), compare_ranked);
}

static int read_list(struct list *list, struct err *err)
{
	const char *name = list->order->file;
	SCOPE_FILE FILE *file = fopen(name, "re");
	SCOPE_FREE char *line = NULL;
	uint64_t number = 0;
	size_t room = 0, len;
	int r;

	if (!file)
		return err_set(err, -errno, "%s: %s", name, strerror(errno));
	while ((r = io_line(file, &line, &room, &len)) == 0) {
		number++;
		if (len > 0)
			r = take_line(list, line, number, err);
		if (r < 0)
			return r;
	}
	return r < 0 ? err_set(err, r, "%s: %s", name, strerror(-r)) : 0;
}

static int rank_by_list(const struct order *order, const struct filter *filter,
			const struct scan *scan, struct ranked **ret, size_t *ret_count,
			struct err *err)
{
	SCOPE(release_list)
	struct list list = {.order = order, .filter = filter, .scan = scan};
	size_t lines_size = scan_entries(scan) * sizeof(*list.lines);
	int r = rank_by_hash(scan, 0, true, &list.by_hash, &list.count);

	if (r < 0)
		return r;
	list.lines = malloc(lines_size);
	if (!list.lines)
		return -ENOMEM;
	memset(list.lines, 0xff, lines_size);
	r = read_list(&list, err);
	if (r < 0)
		return r;
	rank_by_lines(&list);
	*ret = steal_ptr(&list.by_hash);
	*ret_count = list.count;
	return 0;
}

int order_files(const struct order *order, const struct filter *filter, const struct scan *scan,
		uint32_t **ret, struct err *err)
{
	SCOPE_FREE struct ranked *ranked = NULL;
	uint32_t *entries;
	size_t count = 0;
	int r;

	if (order->kind == ORDER_PATH) {
		*ret = NULL;
		return 0;
	}
	if (order->kind == ORDER_SHUFFLE)
		r = rank_by_hash(scan, order->seed, false, &ranked, &count);
	else
		r = rank_by_list(order, filter, scan, &ranked, &count, err);
	if (r < 0)
		return r;
	entries = malloc((count + 1) * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		entries[i] = ranked[i].entry;
	*ret = entries;
	return 0;
}
