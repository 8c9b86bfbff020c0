#include "pack/tool/read/compare_packs.h"
#include "base/bytes.h"
#include "base/date.h"
#include "base/scope.h"
#include <stdio.h>

/* Two entries of one path. */
struct pair {
	uint32_t before, after;
};

static int report(const struct compare_packs_params *p, struct dataset *dataset, uint32_t entry,
		  struct compare_finding finding)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = dataset_path(dataset, entry, &path);

	finding.path = path.data;
	finding.len = path.len;
	return r < 0 ? r : p->found(p->context, &finding);
}

static int report_pair(const struct compare_packs_params *p, uint32_t entry,
		       enum compare_difference difference)
{
	return report(p, p->before, entry, (struct compare_finding){.difference = difference});
}

/* 1: the same; 0: not; or -errno. */
static int same_bytes(const struct compare_packs_params *p, struct pair pair, uint64_t size)
{
	uint64_t before = dataset_first_extent(p->before, pair.before), one = 0;
	uint64_t after = dataset_first_extent(p->after, pair.after), other = 0;
	int r = 0;

	for (uint64_t i = 0; r == 0 && one == other && i < format_extents(size); i++) {
		r = dataset_checksum(p->before, before + i, &one);
		if (r == 0)
			r = dataset_checksum(p->after, after + i, &other);
	}
	return r < 0 ? r : one == other;
}

static int compare_contents(const struct compare_packs_params *p, struct pair pair)
{
	const struct dataset_entry before = dataset_entry(p->before, pair.before);
	const struct dataset_entry after = dataset_entry(p->after, pair.after);
	const char *target, *other;
	size_t len, other_len;
	int r;

	if (before.kind == FORMAT_DIRECTORY)
		return 0;
	if (before.kind == FORMAT_SYMLINK) {
		target = dataset_target(p->before, pair.before, &len);
		other = dataset_target(p->after, pair.after, &other_len);
		return bytes_compare(target, len, other, other_len) == 0
			       ? 0
			       : report_pair(p, pair.before, COMPARE_TARGET);
	}
	r = before.size == after.size ? same_bytes(p, pair, before.size) : 0;
	return r == 0 ? report_pair(p, pair.before, COMPARE_BYTES) : r < 0 ? r : 0;
}

static int compare_attrs(const struct compare_packs_params *p, struct pair pair)
{
	struct dataset_attr before, after;
	char mode[16], other[16];
	struct compare_finding finding = {
		.difference = COMPARE_MODE, .folder = mode, .pack = other};
	int r = dataset_attr(p->before, pair.before, &before);

	if (r == 0)
		r = dataset_attr(p->after, pair.after, &after);
	if (r == 0 && before.mode != after.mode) {
		snprintf(mode, sizeof(mode), "%04o", before.mode);
		snprintf(other, sizeof(other), "%04o", after.mode);
		r = report(p, p->before, pair.before, finding);
	}
	if (r == 0 && date_of(before.mtime) != date_of(after.mtime))
		r = report_pair(p, pair.before, COMPARE_TIME);
	return r;
}

static int compare_folders(const struct compare_packs_params *p, struct pair pair);

static int compare_children(const struct compare_packs_params *p, struct pair pair)
{
	enum format_kind before = compare_kind(dataset_child(p->before, pair.before).kind);
	enum format_kind after = compare_kind(dataset_child(p->after, pair.after).kind);
	struct compare_finding finding = {.difference = COMPARE_KIND,
					  .folder = compare_kind_text(before),
					  .pack = compare_kind_text(after)};
	int r;

	if (before != after)
		return report(p, p->before, pair.before, finding);
	r = compare_contents(p, pair);
	if (r == 0 && p->attributes && before != FORMAT_SYMLINK)
		r = compare_attrs(p, pair);
	return r == 0 && before == FORMAT_DIRECTORY ? compare_folders(p, pair) : r;
}

/* Both are sorted by name. */
static int compare_folders(const struct compare_packs_params *p, struct pair pair)
{
	const struct dataset_entry before = dataset_entry(p->before, pair.before);
	const struct dataset_entry after = dataset_entry(p->after, pair.after);
	uint32_t i = before.first_child, j = after.first_child;
	uint32_t i_end = i + before.children, j_end = j + after.children;
	int r = 0;

	while (r == 0 && (i < i_end || j < j_end)) {
		struct dataset_child a = {0}, b = {0};
		int order = i == i_end;

		if (i < i_end)
			a = dataset_child(p->before, i);
		if (j < j_end)
			b = dataset_child(p->after, j);
		if (i < i_end)
			order = j == j_end ? -1
					   : bytes_compare(a.name, a.name_len, b.name, b.name_len);
		if (order == 0)
			r = compare_children(p, (struct pair){i, j});
		else if (order < 0)
			r = report_pair(p, i, COMPARE_ONLY_IN_FOLDER);
		else
			r = report(p, p->after, j,
				   (struct compare_finding){.difference = COMPARE_ONLY_IN_PACK});
		i += order <= 0;
		j += order >= 0;
	}
	return r;
}

int compare_packs(const struct compare_packs_params *params)
{
	const struct pair roots = {DATASET_ROOT, DATASET_ROOT};
	int r = params->attributes ? compare_attrs(params, roots) : 0;

	return r < 0 ? r : compare_folders(params, roots);
}
