#include "pack/tool/import/import_dir.h"

#include "base/scope.h"
#include "pack/tool/import/dirstack.h"
#include "pack/tool/import/source.h"
#include <string.h>

struct import_dir {
	struct import import; /* first */
	struct import_dir_params params;
	struct dirstack **stacks; /* one for each worker, and the last for large files */
	uint32_t *sequence;	  /* the files that are handed out */
	uint64_t at, end;	  /* in sequence */
	struct source large;
};

static struct import_dir *dir_of(struct import *import)
{
	return (struct import_dir *)(void *)import;
}

static int dir_next(struct import *import, struct item *item, struct err *err)
{
	struct import_dir *dir = dir_of(import);
	struct builder_entry entry;

	(void)err;
	if (dir->at == dir->end)
		return 1;
	item->id = dir->sequence[dir->at++];
	entry = builder_entry(dir->params.scan.builder, item->id);
	item->size = entry.size;
	if (builder_path(dir->params.scan.builder, item->id, &item->path) < 0)
		return -ENOMEM;
	item->fingerprint = import_fingerprint(&item->path, entry.size, entry.mtime, entry.mode);
	return 0;
}

/* --- its bytes -------------------------------------------------------------------------- */

/* An error is left in the source. */
static int dir_source(struct import_dir *dir, struct dirstack *stack, const struct item *item,
		      struct source *source)
{
	const char *slash = strrchr(item->path.data, '/');
	struct builder_entry entry = builder_entry(dir->params.scan.builder, item->id);
	int directory, r;

	r = dirstack_enter(stack, entry.parent, &directory);
	if (r < 0) {
		*source = (struct source){.fd = -1, .error = r};
		return r;
	}
	return source_open(source, directory, slash ? slash + 1 : item->path.data, &entry,
			   dir->params.scan.follow);
}

static void dir_read(struct import *import, unsigned worker, struct item *item)
{
	struct import_dir *dir = dir_of(import);
	struct source source;
	int r = dir_source(dir, dir->stacks[worker], item, &source);

	if (r == 0)
		r = buf_reserve(&item->bytes, item->size);
	if (r == 0)
		r = source_read(&source, item->bytes.data, item->size);
	if (r == 0)
		item->bytes.len = item->size;
	item->error = r;
	source_close(&source);
}

static int dir_open(struct import *import, struct item *item, struct builder_source *ret)
{
	struct import_dir *dir = dir_of(import);

	item->error = dir_source(dir, dir->stacks[dir->params.scan.jobs], item, &dir->large);
	*ret = (struct builder_source){
		.read = source_read, .context = &dir->large, .size = item->size};
	return item->error;
}

static void dir_close(struct import *import, struct item *item)
{
	struct import_dir *dir = dir_of(import);

	item->error = dir->large.error;
	source_close(&dir->large);
}

/* --- the end ---------------------------------------------------------------------------- */

static void dir_free(struct import *import)
{
	struct import_dir *dir = dir_of(import);

	for (unsigned i = 0; dir->stacks && i <= dir->params.scan.jobs; i++)
		dirstack_free(dir->stacks[i]);
	free(dir->stacks);
	free(dir->sequence);
	free(dir);
}

static const struct import_ops dir_ops = {
	.next = dir_next,
	.read = dir_read,
	.open = dir_open,
	.close = dir_close,
	.free = dir_free,
};

static int scan_folder(struct import_dir *dir, struct err *err)
{
	const struct scan_params *scan = &dir->params.scan;
	const struct slices *slices = dir->params.slices;
	struct scan_counts counts;
	int r;

	if (slices)
		r = slices_add(slices, dir->params.slice, scan->builder, &counts, &dir->sequence,
			       err);
	else
		r = scan_add(scan, &counts, err);
	if (r < 0)
		return r;
	dir->import.files = counts.files;
	dir->import.bytes = counts.bytes;
	dir->import.entries = counts.entries;
	dir->end = counts.files;
	if (slices)
		return 0;
	return order_files(dir->params.order, scan->filter, scan->builder, &counts, &dir->sequence,
			   &dir->end, err);
}

static int make_stacks(struct import_dir *dir)
{
	const struct scan_params *scan = &dir->params.scan;
	const struct dirstack_tree tree = dirstack_tree_of(scan->builder, scan->follow);
	int r = 0;

	dir->stacks = calloc(scan->jobs + 1, sizeof(struct dirstack *));
	if (!dir->stacks)
		return -ENOMEM;
	for (unsigned i = 0; r == 0 && i <= scan->jobs; i++)
		r = dirstack_new(&tree, scan->root, &dir->stacks[i]);
	return r;
}

int import_dir_new(const struct import_dir_params *params, struct import **ret, struct err *err)
{
	struct import_dir *dir = calloc(1, sizeof(*dir));
	int r;

	if (!dir)
		return -ENOMEM;
	dir->import.ops = &dir_ops;
	dir->params = *params;
	dir->large.fd = -1;
	r = scan_folder(dir, err);
	if (r == 0)
		r = make_stacks(dir);
	if (r < 0) {
		dir_free(&dir->import);
		return r;
	}
	*ret = &dir->import;
	return 0;
}
