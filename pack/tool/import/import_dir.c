#include "pack/tool/import/import_dir.h"

#include "base/date.h"
#include "base/scope.h"
#include "pack/tool/import/dirstack.h"
#include "pack/tool/import/source.h"
#include <stdio.h>
#include <string.h>

#define FORGET_EVERY 65536 /* entries */

/* An entry of the scan has the same number in the builder, which knows all of it from then on, if
 * there is one: of many million entries, either is large. */
struct import_dir {
	struct import import; /* first */
	struct import_dir_params params;
	struct scan *scan;	  /* NULL once the builder has its entries */
	struct dirstack **stacks; /* one for each worker, and the last for large files */
	uint32_t *sequence;	  /* files in the order of storing; NULL: that of the scan */
	uint64_t at;		  /* in sequence, or the scan's next entry */
	struct source large;
};

static struct import_dir *dir_of(struct import *import)
{
	return (struct import_dir *)(void *)import;
}

/* --- what there is ---------------------------------------------------------------------- */

static int dir_unreadable(void *context, const char *path, int error)
{
	const struct import_watch *watch = ((struct import_dir *)context)->params.watch;

	return watch->bad(watch->context, path, strerror(-error));
}

static void dir_special(void *context, const char *path, const char *what)
{
	const struct import_watch *watch = ((struct import_dir *)context)->params.watch;

	watch->special(watch->context, path, what);
}

static int dir_tick(void *context, uint64_t entries)
{
	const struct import_watch *watch = ((struct import_dir *)context)->params.watch;

	return watch->tick(watch->context, entries);
}

static bool is_wanted(void *context, const char *path, bool directory)
{
	return filter_wants(((struct import_dir *)context)->params.filter, path, directory);
}

static int scan_folder(struct import_dir *dir)
{
	const struct scan_watch watch = {
		.unreadable = dir_unreadable,
		.special = dir_special,
		.tick = dir_tick,
		.wanted = filter_wants_all(dir->params.filter) ? NULL : is_wanted,
		.context = dir,
	};
	const struct scan_params params = {.root = dir->params.root,
					   .jobs = dir->params.workers,
					   .patience_ns = SCAN_PATIENCE_NS,
					   .follow = dir->params.follow};
	int r = scan_new(&params, &watch, &dir->scan);

	if (r == 0) {
		dir->import.files = scan_files(dir->scan);
		dir->import.bytes = scan_bytes(dir->scan);
		dir->import.entries = scan_entries(dir->scan);
	}
	return r;
}

static void describe_entry(const struct import_dir *dir, uint32_t number, struct builder_entry *ret)
{
	const struct scan_entry *from;

	if (!dir->scan) {
		builder_entry(dir->params.builder, number, ret);
		return;
	}
	from = scan_entry(dir->scan, number);
	*ret = (struct builder_entry){
		.kind = (enum format_kind)from->kind,
		.parent = from->parent,
		.name = scan_name(dir->scan, number),
		.name_len = from->name_len,
		.mode = from->mode,
		.mtime = date_time(from->mtime),
		.size = from->size,
	};
	if (from->kind == FORMAT_SYMLINK) {
		ret->target = scan_target(dir->scan, number);
		ret->target_len = from->size;
	} else if (from->kind == FORMAT_HARDLINK) {
		ret->link_to = (uint32_t)from->target;
	}
}

static int add_all(struct import_dir *dir, struct err *err)
{
	const struct scan_entry *root = scan_entry(dir->scan, SCAN_ROOT);
	struct builder_entry entry;
	uint32_t id;
	int r = 0;

	builder_attr(dir->params.builder, BUILDER_ROOT, root->mode, date_time(root->mtime));
	for (uint32_t number = 1; r == 0 && number < dir->import.entries; number++) {
		describe_entry(dir, number, &entry);
		r = builder_add(dir->params.builder, &entry, &id, err);
		if (number % FORGET_EVERY == 0)
			scan_forget(dir->scan, number);
	}
	scan_free(steal_ptr(&dir->scan));
	return r;
}

static int path_of(const struct import_dir *dir, uint32_t number, struct buf *path)
{
	return dir->scan ? scan_path(dir->scan, number, path)
			 : builder_path(dir->params.builder, number, path);
}

/* --- the next file ---------------------------------------------------------------------- */

static bool is_stored(const struct import_dir *dir, uint32_t number)
{
	return (dir->scan ? scan_entry(dir->scan, number)->kind
			  : builder_kind(dir->params.builder, number)) == FORMAT_FILE;
}

/* UINT32_MAX: there is none. */
static uint32_t next_file(struct import_dir *dir)
{
	uint64_t entries = dir->import.entries;

	if (dir->sequence)
		return dir->at < dir->import.files ? dir->sequence[dir->at++] : UINT32_MAX;
	while (dir->at < entries && !is_stored(dir, (uint32_t)dir->at))
		dir->at++;
	return dir->at < entries ? (uint32_t)dir->at++ : UINT32_MAX;
}

static int dir_next(struct import *import, struct item *item, struct err *err)
{
	struct import_dir *dir = dir_of(import);
	uint32_t number = next_file(dir);
	struct builder_entry entry;

	(void)err;
	if (number == UINT32_MAX)
		return 1;
	describe_entry(dir, number, &entry);
	if (path_of(dir, number, &item->path) < 0)
		return -ENOMEM;
	item->id = number;
	item->size = entry.size;
	item->fingerprint = import_fingerprint(&item->path, entry.size, entry.mtime, entry.mode);
	return 0;
}

/* --- its bytes -------------------------------------------------------------------------- */

/* An error is left in the source. */
static int dir_source(struct import_dir *dir, struct dirstack *stack, const struct item *item,
		      struct source *source)
{
	const char *slash = strrchr(item->path.data, '/');
	struct builder_entry entry;
	int directory, r;

	describe_entry(dir, item->id, &entry);
	r = dirstack_enter(stack, entry.parent, &directory);
	if (r < 0) {
		*source = (struct source){.fd = -1, .error = r};
		return r;
	}
	return source_open(source, directory, slash ? slash + 1 : item->path.data, &entry,
			   dir->params.follow);
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
	if (r == 0) {
		item->bytes.len = item->size;
		item->image = source.image;
	}
	item->error = r;
	source_close(&source);
}

static int dir_open(struct import *import, struct item *item, struct builder_source *ret)
{
	struct import_dir *dir = dir_of(import);

	item->error = dir_source(dir, dir->stacks[dir->params.workers], item, &dir->large);
	*ret = (struct builder_source){
		.read = source_read, .context = &dir->large, .size = item->size};
	return item->error;
}

static void dir_close(struct import *import, struct item *item)
{
	struct import_dir *dir = dir_of(import);

	item->error = dir->large.error;
	item->image = dir->large.image;
	source_close(&dir->large);
}

/* --- the end ---------------------------------------------------------------------------- */

static int dir_finish(struct import *import)
{
	const struct import_dir_params *params = &dir_of(import)->params;

	return import_drop_links(params->builder, import->entries, params->watch);
}

static void dir_free(struct import *import)
{
	struct import_dir *dir = dir_of(import);

	for (unsigned i = 0; dir->stacks && i <= dir->params.workers; i++)
		dirstack_free(dir->stacks[i]);
	free(dir->stacks);
	free(dir->sequence);
	scan_free(dir->scan);
	free(dir);
}

static const struct import_ops dir_ops = {
	.next = dir_next,
	.read = dir_read,
	.open = dir_open,
	.close = dir_close,
	.finish = dir_finish,
	.free = dir_free,
};

static uint32_t dir_parent(const void *context, uint32_t directory)
{
	const struct import_dir *dir = context;

	return dir->scan ? scan_entry(dir->scan, directory)->parent
			 : builder_parent(dir->params.builder, directory);
}

static void dir_name(const void *context, uint32_t directory, char ret[FORMAT_NAME_MAX + 1])
{
	const struct import_dir *dir = context;

	if (dir->scan)
		snprintf(ret, FORMAT_NAME_MAX + 1, "%s", scan_name(dir->scan, directory));
	else
		builder_name(dir->params.builder, directory, ret);
}

static int make_stacks(struct import_dir *dir)
{
	const struct dirstack_tree tree = {.parent = dir_parent,
					   .name = dir_name,
					   .context = dir,
					   .follow = dir->params.follow};
	int r = 0;

	dir->stacks = calloc(dir->params.workers + 1, sizeof(struct dirstack *));
	if (!dir->stacks)
		return -ENOMEM;
	for (unsigned i = 0; r == 0 && i <= dir->params.workers; i++)
		r = dirstack_new(&tree, dir->params.root, &dir->stacks[i]);
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
	r = scan_folder(dir);
	if (r == 0)
		r = order_files(params->order, params->filter, dir->scan, &dir->sequence, err);
	if (r == 0)
		r = make_stacks(dir);
	if (r == 0 && params->builder)
		r = add_all(dir, err);
	if (r < 0) {
		dir_free(&dir->import);
		return r;
	}
	*ret = &dir->import;
	return 0;
}
