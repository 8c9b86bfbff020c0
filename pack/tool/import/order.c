#include "pack/tool/import/order.h"

#include "base/io.h"
#include "base/lines.h"
#include "base/scope.h"
#include "pack/tool/import/entry_table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

int order_parse(const char *text, struct order *ret, struct err *err)
{
	const char *seed = text + 8;
	char *end;

	*ret = (struct order){.kind = ORDER_PATH};
	if (strcmp(text, "path") == 0)
		return 0;
	if (strncmp(text, "shuffle:", 8) == 0) {
		errno = 0;
		ret->kind = ORDER_SHUFFLE;
		ret->seed = strtoull(seed, &end, 10);
		return errno || *seed < '0' || *seed > '9' || *end
			       ? err_set(err, -EINVAL, "'--order': '%s' is not a number", seed)
			       : 0;
	}
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
	struct filter *filter;
	const struct builder *builder;
	uint64_t *ranks;	     /* of each entry */
	struct number_table by_path; /* where there is a list: files and their other names */
};

static void release_ranking(struct ranking *ranking)
{
	free(ranking->ranks);
	number_table_release(&ranking->by_path);
}

/* --- a list --------------------------------------------------------------------------- */

/* A name in a line gets the number of the line, and a file gets the smallest number of its names.
 */
static int take_line(struct ranking *ranking, const char *text, size_t len, uint64_t number,
		     struct err *err)
{
	const char *list = ranking->order->file;
	uint32_t at;
	int r = entry_table_find_path(&ranking->by_path, ranking->builder, text, len, &at);

	if (r == -ENOENT && !filter_wants_file(ranking->filter, text))
		return err_set(err, r,
			       "%s:%lu: '%s' is left out by --exclude or --include; take the line "
			       "out, or let them pass it",
			       list, number, text);
	if (r == -ENOENT)
		return err_set(err, r, "%s:%lu: '%s' is not a file in SOURCE", list, number, text);
	if (r < 0)
		return r;
	if (ranking->ranks[at] != UINT64_MAX)
		return err_set(err, -EEXIST, "%s:%lu: '%s' is in line %lu already", list, number,
			       text, ranking->ranks[at]);
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

/* Ranks files by the lines that name them. Files without a line come last. */
static int rank_by_lines(struct ranking *ranking, struct err *err)
{
	const struct builder *builder = ranking->builder;
	uint64_t *ranks = ranking->ranks;
	int r = 0;

	for (uint32_t entry = 1; r == 0 && entry < builder_entries(builder); entry++) {
		enum format_kind kind = builder_kind(builder, entry);

		ranks[entry] = UINT64_MAX;
		if (kind == FORMAT_FILE || kind == FORMAT_HARDLINK)
			r = entry_table_add_path(&ranking->by_path, builder, entry);
	}
	if (r == 0)
		r = read_order_list(ranking, err);
	for (uint32_t entry = 1; r == 0 && entry < builder_entries(builder); entry++) {
		uint32_t file = builder_file(builder, entry);

		if (ranks[entry] < ranks[file])
			ranks[file] = ranks[entry];
	}
	return r;
}

/* --- any ------------------------------------------------------------------------------ */

static int rank_by_hash(struct ranking *ranking)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = 0;

	for (uint32_t entry = 1; r == 0 && entry < builder_entries(ranking->builder); entry++) {
		if (builder_kind(ranking->builder, entry) != FORMAT_FILE)
			continue;
		r = builder_path(ranking->builder, entry, &path);
		if (r == 0)
			ranking->ranks[entry] =
				XXH3_64bits_withSeed(path.data, path.len, ranking->order->seed);
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

static void set_root(void *builder, mode_t mode, struct timespec mtime)
{
	builder_attr(builder, PACK_ROOT, mode, mtime);
}

static int add_entry(void *builder, const struct pack_entry *entry, uint32_t *ret_id,
		     struct err *err)
{
	return builder_add(builder, entry, ret_id, err);
}

int order_scan(const struct scan_params *params, const struct order *order, struct builder *builder,
	       struct scan_counts *ret, uint32_t **ret_files, struct err *err)
{
	SCOPE(release_ranking)
	struct ranking ranking = {.order = order, .filter = params->filter, .builder = builder};
	SCOPE_FREE uint32_t *files = NULL;
	struct scan_params scan = *params;
	uint64_t count = 0;
	int r;

	scan.into = (struct scan_into){.root = set_root, .add = add_entry, .context = builder};
	r = scan_add(&scan, ret, err);
	if (r < 0)
		return r;
	ranking.ranks = calloc(ret->entries, sizeof(*ranking.ranks));
	files = malloc((ret->files + 1) * sizeof(*files));
	if (!ranking.ranks || !files)
		return -ENOMEM;
	if (order->kind == ORDER_LIST)
		r = rank_by_lines(&ranking, err);
	else if (order->kind == ORDER_SHUFFLE)
		r = rank_by_hash(&ranking);
	if (r < 0)
		return r;
	for (uint32_t entry = 1; entry < ret->entries; entry++)
		if (builder_kind(builder, entry) == FORMAT_FILE)
			files[count++] = entry;
	if (order->kind != ORDER_PATH)
		qsort_r(files, count, sizeof(*files), compare_ranks, ranking.ranks);
	*ret_files = steal_ptr(&files);
	return 0;
}
