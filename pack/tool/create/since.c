#include "pack/tool/create/since.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include "pack/labels.h"
#include "pack/options.h"
#include "pack/tool/work/ranked.h"
#include <sys/stat.h>
#include <xxhash.h>

struct since {
	const struct create_options *options;
	struct dataset *base;
	struct buf sums; /* struct ranked: the first checksum and the entry of each file, for
			    --dedup */
};

struct dataset *since_base(const struct since *since)
{
	return since ? since->base : NULL;
}

void since_free(struct since *since)
{
	if (!since)
		return;
	dataset_free(since->base);
	buf_release(&since->sums);
	free(since);
}

/* --- the base --------------------------------------------------------------------------------- */

/* Files that a transform made are not those of the folder, whatever their sizes and times. */
static int check_untouched(const char *name, const struct dataset_info *info)
{
	const char *at = info->options, *end = at + info->options_len;
	struct option_line line;

	while (options_next(&at, end, &line))
		if (option_changes_bytes(&line))
			return log_fail(EXIT_FAILED,
					"%s: made with %.*s, so its files are not those of the "
					"folder; pack the folder again",
					name, (int)line.len, line.text);
	return EXIT_DONE;
}

/* A delta in place of its base would be good for nothing. */
static int check_place(const char *path, const struct names *base_names)
{
	struct stat pack, base;

	if (stat(path, &pack) < 0)
		return EXIT_DONE;
	for (size_t i = 0; i < base_names->count; i++)
		if (stat(base_names->all[i].name, &base) == 0 && base.st_dev == pack.st_dev &&
		    base.st_ino == pack.st_ino)
			return log_fail(EXIT_FAILED,
					"%s: is what '--since' names, and a delta needs that; "
					"choose another name",
					path);
	return EXIT_DONE;
}

static int load_base(struct since *since, char *lines, struct err *err)
{
	struct dataset *base = since->base;
	int r = dataset_load(base, DATASET_ATTRS | DATASET_IMAGES | DATASET_CHECKSUMS, err);

	if (r == 0)
		r = delta_name_base(base, lines);
	if (r == -ENODATA)
		return err_set(err, -EINVAL, "no pack: there is nothing to compare with");
	for (uint32_t e = 0; r == 0 && since->options->dedup && e < dataset_entries(base); e++) {
		const struct dataset_entry file = dataset_entry(base, e);
		struct ranked sum = {.number = e};

		if (!format_is_file(file.kind) || file.size == 0)
			continue;
		r = dataset_checksum(base, dataset_first_extent(base, e), &sum.rank);
		if (r == 0)
			r = buf_add(&since->sums, &sum, sizeof(sum));
	}
	buf_sort(&since->sums, sizeof(struct ranked), compare_ranked);
	return r;
}

/* A folder has no labels but those that ImageFolder gives. */
static void say_lost_labels(const char *name, const struct dataset *base)
{
	struct labels_report report;

	if (labels_compare(base, &report) == 0 && (report.moved || report.absent))
		log_notice(
			"%s: has labels that are not the numbers of ImageFolder, and the folder "
			"has none: with this delta they are gone",
			name);
}

int since_open(struct create_options *options, const char *pack, struct since **ret)
{
	struct opt_list *words = &options->since;
	char *name = (char *)words->items[0];
	SCOPE(names_release) struct names names = {0};
	struct since *since;
	struct err err = {0};
	int r;

	*ret = NULL;
	if (words->count == 0)
		return EXIT_DONE;
	since = *ret = calloc(1, sizeof(*since));
	if (!since)
		return cmd_status(name, -ENOMEM, NULL);
	since->options = options;
	r = cmd_names((char **)words->items, words->count, &options->common, &names);
	if (r == EXIT_DONE)
		r = check_place(pack, &names);
	if (r == EXIT_DONE)
		r = cmd_open_names(&names, &options->common, &since->base);
	if (r == EXIT_DONE)
		r = check_untouched(name, dataset_info(since->base));
	if (r == EXIT_DONE)
		say_lost_labels(name, since->base);
	return r == EXIT_DONE ? cmd_status(name, load_base(since, options->base_lines, &err), &err)
			      : r;
}

/* --- a file ----------------------------------------------------------------------------------- */

static int find_at_path(struct dataset *base, const struct item *file, uint32_t *ret)
{
	int r = dataset_find(base, file->path.data, file->path.len, ret);

	if (r < 0)
		return -ENOENT;
	*ret = dataset_entry(base, *ret).inode;
	return format_is_file(dataset_entry(base, *ret).kind) &&
			       dataset_entry(base, *ret).size == file->size
		       ? 0
		       : -ENOENT;
}

int since_take_unread(const struct since *since, struct builder *builder, const struct item *file)
{
	struct dataset_attr attr;
	struct timespec mtime;
	uint32_t entry;
	int r;

	if (!since || since->options->since_checksum || find_at_path(since->base, file, &entry) < 0)
		return 0;
	mtime = builder_entry(builder, file->id).mtime;
	/* Not known, as of what the Hub lists. */
	if (mtime.tv_sec == 0 && mtime.tv_nsec == 0)
		return 0;
	r = dataset_attr(since->base, entry, &attr);
	if (r < 0 || attr.mtime.tv_sec != mtime.tv_sec || attr.mtime.tv_nsec != mtime.tv_nsec)
		return r;
	r = builder_refer(builder, file->id, entry, false, NULL);
	return r < 0 ? r : 1;
}

static bool compares(const struct since *since)
{
	return since && (since->options->since_checksum || since->options->dedup);
}

static int sum_extent(void *context, const void *data, size_t len)
{
	struct create_item *item = context;
	uint64_t sum = XXH3_64bits(data, len);

	return buf_add(&item->sums, &sum, sizeof(sum));
}

void since_sum(const struct since *since, struct create_item *item)
{
	struct item *file = &item->file;

	if (!compares(since) || file->error)
		return;
	for (size_t at = 0; file->error == 0 && at < file->bytes.len; at += FORMAT_EXTENT)
		file->error = sum_extent(item, file->bytes.data + at,
					 min(file->bytes.len - at, (size_t)FORMAT_EXTENT));
}

static bool has_sums(struct dataset *base, uint32_t entry, const struct create_item *item)
{
	const uint64_t *sums = BUF_ITEMS(&item->sums, const uint64_t);
	uint64_t first = dataset_first_extent(base, entry), sum;
	bool same = dataset_entry(base, entry).size == item->file.size;

	for (uint64_t i = 0; same && i < format_extents(item->file.size); i++)
		same = dataset_checksum(base, first + i, &sum) == 0 && sum == sums[i];
	return same;
}

/* The first entry of the base with these bytes. */
static bool find_anywhere(const struct since *since, const struct create_item *item, uint32_t *ret)
{
	const struct ranked *all = BUF_ITEMS(&since->sums, const struct ranked);
	size_t count = BUF_COUNT(&since->sums, *all), at;

	if (count == 0 || item->file.size == 0)
		return false;
	at = search_last(all, count, sizeof(*all), *BUF_ITEMS(&item->sums, const uint64_t));
	while (at > 0 && all[at - 1].rank == all[at].rank)
		at--;
	for (uint64_t rank = all[at].rank; at < count && all[at].rank == rank; at++) {
		*ret = (uint32_t)all[at].number;
		if (has_sums(since->base, *ret, item))
			return true;
	}
	return false;
}

int since_take_read(const struct since *since, struct import *import, struct builder *builder,
		    struct create_item *item, struct err *err)
{
	struct item *file = &item->file;
	uint32_t entry;
	int r = 0;

	if (!compares(since))
		return 0;
	if (item_is_large(file))
		r = import_read_large(import, file, sum_extent, item);
	if (r < 0 || file->error)
		return file->error ? 0 : r;
	if ((find_at_path(since->base, file, &entry) < 0 || !has_sums(since->base, entry, item)) &&
	    (!since->options->dedup || !find_anywhere(since, item, &entry)))
		return 0;
	r = builder_refer(builder, file->id, entry, true, err);
	return r < 0 ? r : 1;
}
