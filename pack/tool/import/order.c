#include "pack/tool/import/order.h"

#include "base/io.h"
#include "base/lines.h"
#include "base/scope.h"
#include "pack/tool/import/entry_table.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

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

/* What the files of a scan are sorted by, and where a path is found. */
struct ranking {
	const struct order *order;
	const struct filter *filter;
	const struct builder *builder;
	uint64_t entries;	    /* in it */
	uint64_t *ranks;	    /* of each entry */
	struct entry_table by_path; /* where there is a list: files and their other names */
	struct buf path;
};

static void release_ranking(struct ranking *ranking)
{
	free(ranking->ranks);
	entry_table_release(&ranking->by_path);
	buf_release(&ranking->path);
}

/* --- a list --------------------------------------------------------------------------- */

static int no_file(const struct ranking *ranking, const char *text, uint64_t number,
		   struct err *err)
{
	if (ranking->filter && !filter_wants_file(ranking->filter, text))
		return err_set(err, -ENOENT,
			       "%s:%lu: '%s' is left out by --exclude or --include; take the line "
			       "out, or let them pass it",
			       ranking->order->file, number, text);
	return err_set(err, -ENOENT, "%s:%lu: '%s' is not a file in SOURCE", ranking->order->file,
		       number, text);
}

/* A name in a line gets the number of the line, and a file gets the smallest number of its names.
 */
static int take_line(struct ranking *ranking, const char *text, size_t len, uint64_t number,
		     struct err *err)
{
	uint32_t at;
	int r = entry_table_find_path(&ranking->by_path, ranking->builder, text, len, &at);

	if (r == -ENOENT)
		return no_file(ranking, text, number, err);
	if (r < 0)
		return r;
	if (ranking->ranks[at] != UINT64_MAX)
		return err_set(err, -EEXIST, "%s:%lu: '%s' stands in line %lu already",
			       ranking->order->file, number, text, ranking->ranks[at]);
	ranking->ranks[at] = number;
	return 0;
}

static int read_order_list(struct ranking *ranking, struct err *err)
{
	const char *name = ranking->order->file;
	struct err reason = {0};
	int r = 0;
	SCOPE_FILE FILE *file = io_fopen_given(name, &r, &reason);
	SCOPE_FREE char *line = NULL;
	uint64_t number = 0;
	size_t room = 0, len;

	if (!file)
		return err_set(err, r, "%s: %s", name, err_text(&reason, r));
	while ((r = io_line(file, &line, &room, &len)) == 0) {
		const char *path = line;

		if (!lines_item(&path, &len, number++ == 0))
			continue;
		line[path + len - line] = '\0';
		r = take_line(ranking, path, len, number, err);
		if (r < 0)
			return r;
	}
	return r < 0 ? err_set(err, r, "%s: %s", name, strerror(-r)) : 0;
}

static bool is_name_of_file(const struct builder *builder, uint32_t entry)
{
	enum format_kind kind = builder_kind(builder, entry);

	return kind == FORMAT_FILE || kind == FORMAT_HARDLINK;
}

/* Ranks files by the lines that name them. Files without a line come last. */
static int rank_by_lines(struct ranking *ranking, struct err *err)
{
	const struct builder *builder = ranking->builder;
	uint64_t *ranks = ranking->ranks;
	int r = 0;

	for (uint32_t entry = 1; r == 0 && entry < ranking->entries; entry++) {
		ranks[entry] = UINT64_MAX;
		if (!is_name_of_file(builder, entry))
			continue;
		r = builder_path(builder, entry, &ranking->path);
		if (r == 0)
			r = entry_table_add(&ranking->by_path,
					    entry_table_hash(ranking->path.data, ranking->path.len),
					    entry);
	}
	if (r == 0)
		r = read_order_list(ranking, err);
	for (uint32_t entry = 1; r == 0 && entry < ranking->entries; entry++) {
		uint32_t file = builder_file(builder, entry);

		if (is_name_of_file(builder, entry) && ranks[entry] < ranks[file])
			ranks[file] = ranks[entry];
	}
	return r;
}

/* --- any ------------------------------------------------------------------------------ */

static int rank_by_hash(struct ranking *ranking, uint64_t seed)
{
	int r = 0;

	for (uint32_t entry = 1; r == 0 && entry < ranking->entries; entry++) {
		if (builder_kind(ranking->builder, entry) != FORMAT_FILE)
			continue;
		r = builder_path(ranking->builder, entry, &ranking->path);
		if (r == 0)
			ranking->ranks[entry] =
				XXH3_64bits_withSeed(ranking->path.data, ranking->path.len, seed);
	}
	return r;
}

/* Equal ranks keep the order of the scan, so that there is only one result. */
static int compare_ranks(const void *one, const void *two, void *context)
{
	const uint64_t *ranks = context;
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)two;

	if (ranks[a] != ranks[b])
		return ranks[a] < ranks[b] ? -1 : 1;
	return a < b ? -1 : a > b;
}

int order_files(const struct order *order, const struct filter *filter,
		const struct builder *builder, const struct scan_counts *counts, uint32_t **ret,
		uint64_t *ret_count, struct err *err)
{
	SCOPE(release_ranking)
	struct ranking ranking = {
		.order = order, .filter = filter, .builder = builder, .entries = counts->entries};
	SCOPE_FREE uint32_t *files = malloc((counts->files + 1) * sizeof(*files));
	uint64_t count = 0;
	int r = 0;

	ranking.ranks = calloc(counts->entries, sizeof(*ranking.ranks));
	if (!ranking.ranks || !files)
		return -ENOMEM;
	if (order->kind == ORDER_LIST)
		r = rank_by_lines(&ranking, err);
	else if (order->kind == ORDER_SHUFFLE)
		r = rank_by_hash(&ranking, order->seed);
	if (r < 0)
		return r;
	for (uint32_t entry = 1; entry < counts->entries; entry++)
		if (builder_kind(builder, entry) == FORMAT_FILE)
			files[count++] = entry;
	if (order->kind != ORDER_PATH)
		qsort_r(files, count, sizeof(*files), compare_ranks, ranking.ranks);
	*ret = steal_ptr(&files);
	*ret_count = count;
	return 0;
}
