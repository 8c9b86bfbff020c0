#include "pack/tool/read/compare.h"

#include "base/date.h"
#include "base/scope.h"
#include "pack/tool/read/compare_internal.h"
#include <string.h>

static void compare_release(struct compare *compare)
{
	scan_free(compare->scan);
	free(compare->in_pack);
	free(compare->in_scan);
}

const struct scan_entry *compare_data(const struct scan *scan, uint32_t number)
{
	const struct scan_entry *entry = scan_entry(scan, number);

	return entry->kind == FORMAT_HARDLINK ? scan_entry(scan, (uint32_t)entry->target) : entry;
}

/* However its bytes are stored, a file is a file. */
static enum format_kind compared_kind(unsigned kind)
{
	return kind == FORMAT_DIRECTORY || kind == FORMAT_SYMLINK ? (enum format_kind)kind
								  : FORMAT_FILE;
}

static const char *kind_text(enum format_kind kind)
{
	switch (kind) {
	case FORMAT_DIRECTORY:
		return "a directory";
	case FORMAT_SYMLINK:
		return "a symbolic link";
	default:
		return "a regular file";
	}
}

/* --- telling ---------------------------------------------------------------------------- */

static int tell_finding(const struct compare *compare, const struct buf *path,
			struct compare_finding *finding)
{
	finding->path = path->data;
	finding->len = path->len;
	return compare->params->differs(compare->params->context, finding);
}

int compare_tell(const struct compare *compare, uint32_t entry, enum compare_difference what)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct compare_finding finding = {.difference = what};
	int r = dataset_path(compare->dataset, entry, &path);

	return r < 0 ? r : tell_finding(compare, &path, &finding);
}

static int tell_scanned(const struct compare *compare, uint32_t number,
			struct compare_finding *finding)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = scan_path(compare->scan, number, &path);

	return r < 0 ? r : tell_finding(compare, &path, finding);
}

/* --- the folder ------------------------------------------------------------------------- */

/* Marks what the pack has at a path, so that nobody misses it in the folder. */
static bool mark_unseen(struct compare *compare, const char *path, uint32_t *ret)
{
	if (dataset_find(compare->dataset, path, strlen(path), ret) < 0)
		return false;
	compare->in_scan[*ret] = COMPARE_UNSEEN;
	return true;
}

static int compare_unreadable(void *context, const char *path, int error)
{
	struct compare *compare = context;
	uint32_t entry;

	mark_unseen(compare, path, &entry);
	return compare->params->unreadable(compare->params->context, path, error);
}

/* A named pipe or the like, which is in no pack. */
static void compare_special(void *context, const char *path, const char *what)
{
	struct compare *compare = context;
	struct compare_finding finding = {.difference = COMPARE_ONLY_IN_FOLDER,
					  .path = path,
					  .len = strlen(path),
					  .folder_kind = what};
	struct dataset_child child;
	uint32_t entry;

	if (mark_unseen(compare, path, &entry)) {
		dataset_child(compare->dataset, entry, &child);
		finding.difference = COMPARE_KIND;
		finding.pack_kind = kind_text(compared_kind(child.kind));
	}
	if (compare->error == 0)
		compare->error = compare->params->differs(compare->params->context, &finding);
}

static int compare_tick(void *context, uint64_t entries)
{
	const struct compare *compare = context;

	return compare->params->looking(compare->params->context, entries);
}

static int compare_scan(struct compare *compare)
{
	const struct scan_watch watch = {.unreadable = compare_unreadable,
					 .special = compare_special,
					 .tick = compare_tick,
					 .context = compare};
	const struct scan_params params = {.root = compare->params->root,
					   .jobs = compare->params->jobs,
					   .patience_ns = SCAN_PATIENCE_NS};
	int r = scan_new(&params, &watch, &compare->scan);

	return r < 0 ? r : compare->error;
}

/* --- counterparts -------------------------------------------------------------------------- */

static uint32_t *new_column(uint32_t rows)
{
	uint32_t *column = malloc(rows * sizeof(*column));

	if (column)
		memset(column, 0xff, rows * sizeof(*column)); /* COMPARE_NONE */
	return column;
}

/* A directory comes before what is in it, on both sides. */
static int pair(struct compare *compare)
{
	uint32_t entries = scan_entries(compare->scan), *in_pack = new_column(entries);

	compare->in_pack = in_pack;
	if (!in_pack)
		return -ENOMEM;
	in_pack[SCAN_ROOT] = DATASET_ROOT;
	if (compare->in_scan[DATASET_ROOT] == COMPARE_NONE)
		compare->in_scan[DATASET_ROOT] = SCAN_ROOT;
	for (uint32_t number = 1; number < entries; number++) {
		const struct scan_entry *entry = scan_entry(compare->scan, number);
		uint32_t parent = in_pack[entry->parent], found;

		if (parent == COMPARE_NONE ||
		    dataset_lookup(compare->dataset, parent, scan_name(compare->scan, number),
				   entry->name_len, &found) < 0)
			continue;
		in_pack[number] = found;
		if (compare->in_scan[found] == COMPARE_NONE)
			compare->in_scan[found] = number;
	}
	return 0;
}

/* --- the trees -------------------------------------------------------------------------- */

static int compare_attributes(struct compare *compare, uint32_t number, uint32_t entry)
{
	const struct scan_entry *data = compare_data(compare->scan, number);
	struct compare_finding mode = {.difference = COMPARE_MODE, .folder_mode = data->mode};
	struct compare_finding time = {.difference = COMPARE_TIME};
	struct dataset_attr attr;
	int r = dataset_attr(compare->dataset, entry, &attr);

	if (r < 0)
		return r;
	mode.pack_mode = attr.mode;
	if (mode.folder_mode != mode.pack_mode)
		r = tell_scanned(compare, number, &mode);
	if (r == 0 && date_of(attr.mtime) != data->mtime)
		r = tell_scanned(compare, number, &time);
	return r;
}

static int compare_targets(struct compare *compare, uint32_t number, uint32_t entry)
{
	struct compare_finding finding = {.difference = COMPARE_TARGET};
	const struct scan_entry *link = scan_entry(compare->scan, number);
	size_t len;
	const char *target = dataset_target(compare->dataset, entry, &len);

	if (len == link->size && memcmp(target, scan_target(compare->scan, number), len) == 0)
		return 0;
	return tell_scanned(compare, number, &finding);
}

/* Two that have the same path; of files the bytes come later, unless the sizes say enough. */
static int compare_pair(struct compare *compare, uint32_t number, uint32_t entry)
{
	enum format_kind kind = compared_kind(scan_entry(compare->scan, number)->kind);
	struct compare_finding finding = {.difference = COMPARE_KIND};
	struct dataset_entry packed;
	int r = 0;

	dataset_entry(compare->dataset, entry, &packed);
	if (kind != compared_kind(packed.kind)) {
		finding.folder_kind = kind_text(kind);
		finding.pack_kind = kind_text(compared_kind(packed.kind));
		return tell_scanned(compare, number, &finding);
	}
	if (kind == FORMAT_SYMLINK)
		return compare_targets(compare, number, entry);
	finding.difference = COMPARE_BYTES;
	if (kind == FORMAT_FILE && compare_data(compare->scan, number)->size != packed.size)
		r = tell_scanned(compare, number, &finding);
	return r == 0 && compare->params->attributes ? compare_attributes(compare, number, entry)
						     : r;
}

/* What the pack has in a directory that the folder has, too. */
static int tell_missing(struct compare *compare, uint32_t directory)
{
	struct dataset_entry entry;
	int r = 0;

	dataset_entry(compare->dataset, directory, &entry);
	for (uint32_t i = 0; r == 0 && i < entry.children; i++)
		if (compare->in_scan[entry.first_child + i] == COMPARE_NONE)
			r = compare_tell(compare, entry.first_child + i, COMPARE_ONLY_IN_PACK);
	return r;
}

static int compare_entry(struct compare *compare, uint32_t number)
{
	const struct scan_entry *entry = scan_entry(compare->scan, number);
	struct compare_finding finding = {.difference = COMPARE_ONLY_IN_FOLDER};
	uint32_t found = compare->in_pack[number], above = compare->in_pack[entry->parent];
	struct dataset_child child;
	int r;

	if (found == COMPARE_NONE && above == COMPARE_NONE)
		return 0;
	if (found == COMPARE_NONE) {
		dataset_child(compare->dataset, above, &child);
		return child.kind == FORMAT_DIRECTORY ? tell_scanned(compare, number, &finding) : 0;
	}
	r = compare_pair(compare, number, found);
	if (r == 0 && entry->kind == FORMAT_DIRECTORY && compare->in_scan[found] == number)
		r = tell_missing(compare, found);
	return r;
}

static int compare_trees(struct compare *compare)
{
	int r = 0;

	for (uint32_t number = 0; r == 0 && number < scan_entries(compare->scan); number++)
		r = compare_entry(compare, number);
	return r;
}

/* --- the files -------------------------------------------------------------------------- */

/* Whether only the bytes can tell whether a file is the same. */
static bool is_open(const struct compare *compare, uint32_t entry, uint64_t *ret_size)
{
	uint32_t number = compare->in_scan[entry];
	struct dataset_entry packed;

	if (number == COMPARE_NONE || number == COMPARE_UNSEEN ||
	    compared_kind(scan_entry(compare->scan, number)->kind) != FORMAT_FILE)
		return false;
	dataset_entry(compare->dataset, entry, &packed);
	if (compared_kind(packed.kind) != FORMAT_FILE ||
	    compare_data(compare->scan, number)->size != packed.size)
		return false;
	*ret_size = packed.size;
	return true;
}

static int compare_files(struct compare *compare)
{
	const struct compare_params *params = compare->params;
	SCOPE(buf_release) struct buf files = BUF_INIT;
	uint64_t size, bytes = 0;
	size_t count;
	int r = 0;

	for (uint32_t e = 0; r == 0 && e < dataset_entries(compare->dataset); e++) {
		if (!is_open(compare, e, &size))
			continue;
		bytes += size;
		r = buf_add(&files, &e, sizeof(e));
	}
	count = files.len / sizeof(uint32_t);
	if (r == 0)
		r = params->reading(params->context, count, bytes);
	if (r < 0 || count == 0)
		return r;
	return compare_bytes(compare, (uint32_t *)(void *)files.data, count);
}

int compare(const struct compare_params *params)
{
	SCOPE(compare_release)
	struct compare compare = {.params = params, .dataset = params->dataset};
	int r;

	compare.in_scan = new_column(dataset_entries(params->dataset));
	r = compare.in_scan ? compare_scan(&compare) : -ENOMEM;
	if (r == 0)
		r = pair(&compare);
	if (r == 0)
		r = compare_trees(&compare);
	return r < 0 ? r : compare_files(&compare);
}
