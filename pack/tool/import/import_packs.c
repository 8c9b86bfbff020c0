#include "pack/tool/import/import_packs.h"

#include "base/scope.h"
#include "pack/tool/work/batch_ahead.h"
#include "pack/tool/work/ranked.h"
#include <string.h>

#define NOT_ADDED UINT32_MAX

struct import_packs {
	struct import import; /* first */
	struct import_packs_params params;
	uint32_t *ids;	   /* of each entry in the builder, or NOT_ADDED */
	uint32_t *order;   /* the entries as they are added */
	struct buf places; /* struct ranked: the offset and entry of each file that was added */
	uint32_t *files;   /* these entries, once they are in order */
	size_t next;	   /* of them */
	struct batch_ahead *ahead;
	uint64_t large; /* bytes of the large file that were read */
	uint32_t large_entry;
};

static struct import_packs *packs_of(struct import *import)
{
	return (struct import_packs *)(void *)import;
}

/* --- entries ---------------------------------------------------------------------------------- */

static int append_packed(struct import_packs *packs, uint32_t e, struct pack_entry *to,
			 struct err *err)
{
	struct dataset *dataset = packs->params.dataset;
	struct dataset_entry entry;
	struct dataset_attr attr;
	int r = dataset_attr(dataset, e, &attr);

	if (r < 0)
		return r;
	entry = dataset_entry(dataset, e);
	to->name = entry.name;
	to->name_len = entry.name_len;
	to->parent = packs->ids[entry.parent];
	to->mode = attr.mode;
	to->mtime = attr.mtime;
	return builder_add(packs->params.builder, to, &packs->ids[e], err);
}

/* Adds the folders above an entry, from the root on, which is there. */
static int add_folders(struct import_packs *packs, uint32_t e, struct err *err)
{
	struct pack_entry folder = {.kind = FORMAT_DIRECTORY};
	const struct dataset_entry entry = dataset_entry(packs->params.dataset, e);
	int r;

	if (packs->ids[entry.parent] != NOT_ADDED)
		return 0;
	r = add_folders(packs, entry.parent, err);
	return r < 0 ? r : append_packed(packs, entry.parent, &folder, err);
}

/* What an entry becomes: hard links come last, since they name files. But of a file whose own name
 * is not wanted, the first other name that is becomes the file. */
static int kind_to_add(const struct import_packs *packs, const struct dataset_entry *entry,
		       struct buf *path, enum format_kind *ret)
{
	int r;

	*ret = format_is_file(entry->kind) ? FORMAT_FILE : entry->kind;
	if (entry->kind != FORMAT_HARDLINK || packs->ids[entry->inode] != NOT_ADDED ||
	    filter_wants_all(packs->params.filter))
		return 0;
	path->len = 0;
	r = dataset_path(packs->params.dataset, entry->inode, path);
	if (r == 0 && !filter_wants_file(packs->params.filter, path->data))
		*ret = FORMAT_FILE;
	return r;
}

static int take_entry(struct import_packs *packs, uint32_t e, bool links, struct buf *path,
		      struct err *err)
{
	struct dataset *dataset = packs->params.dataset;
	struct filter *filter = packs->params.filter;
	const struct dataset_entry entry = dataset_entry(dataset, e);
	bool folder = entry.kind == FORMAT_DIRECTORY;
	struct pack_entry to = {.size = entry.size};
	struct ranked place = {.number = e};
	int r;

	if (links && (entry.kind != FORMAT_HARDLINK || packs->ids[e] != NOT_ADDED))
		return 0;
	path->len = 0;
	r = dataset_path(dataset, e, path);
	/* One with something in it comes with that. */
	if (r < 0 || (folder && (entry.children || !filter_wants(filter, path->data, true))) ||
	    (!folder && !filter_wants_file(filter, path->data)))
		return r;
	r = kind_to_add(packs, &entry, path, &to.kind);
	if (r < 0 || (to.kind == FORMAT_HARDLINK) != links)
		return r;
	r = add_folders(packs, e, err);
	if (to.kind == FORMAT_SYMLINK)
		to.target = dataset_target(dataset, e, &to.target_len);
	if (to.kind == FORMAT_HARDLINK)
		to.link_to = packs->ids[entry.inode];
	if (r == 0)
		r = append_packed(packs, e, &to, err);
	if (r < 0 || to.kind != FORMAT_FILE)
		return r;
	packs->ids[entry.inode] = packs->ids[e];
	if (dataset_is_delta(dataset))
		place.rank = packs->import.files;
	else if (entry.size)
		place.rank = dataset_extent(dataset, dataset_first_extent(dataset, e)).offset;
	packs->import.files++;
	packs->import.bytes += entry.size;
	return buf_add(&packs->places, &place, sizeof(place));
}

static int take_entries(struct import_packs *packs, bool links, struct err *err)
{
	const struct scan_watch *watch = packs->params.watch;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < dataset_entries(packs->params.dataset); i++) {
		r = take_entry(packs, packs->order[i], links, &path, err);
		if (r == 0 && i % 4096 == 0)
			r = watch->tick(watch->context, i);
	}
	return r;
}

/* The character at `i` of a name that ends in '/' if it is a folder's, as in scan.c. */
static int path_char(const struct dataset_child *child, size_t i)
{
	if (i < child->name_len)
		return (unsigned char)child->name[i];
	return i == child->name_len && child->kind == FORMAT_DIRECTORY ? '/' : 0;
}

static int compare_paths(const void *one, const void *two, void *dataset)
{
	const struct dataset_child a = dataset_child(dataset, *(const uint32_t *)one);
	const struct dataset_child b = dataset_child(dataset, *(const uint32_t *)two);
	size_t i = 0;

	while (i < a.name_len && i < b.name_len && a.name[i] == b.name[i])
		i++;
	return path_char(&a, i) - path_char(&b, i);
}

/* In the order of a scan, with a stack of entries whose turn is still to come. */
static int order_by_path(struct import_packs *packs)
{
	struct dataset *dataset = packs->params.dataset;
	SCOPE_FREE uint32_t *stack = malloc(dataset_entries(dataset) * sizeof(*stack));
	uint32_t depth = 0, count = 0;

	if (!stack)
		return -ENOMEM;
	stack[depth++] = DATASET_ROOT;
	while (depth) {
		uint32_t e = packs->order[count++] = stack[--depth];
		const struct dataset_entry entry = dataset_entry(dataset, e);
		uint32_t *block = packs->order + count;

		for (uint32_t i = 0; i < entry.children; i++)
			block[i] = entry.first_child + i;
		qsort_r(block, entry.children, sizeof(*block), compare_paths, dataset);
		for (uint32_t i = entry.children; i-- > 0;)
			stack[depth++] = block[i];
	}
	return 0;
}

static int sort_files(struct import_packs *packs)
{
	const struct ranked *places = BUF_ITEMS(&packs->places, const struct ranked);
	size_t count = BUF_COUNT(&packs->places, *places);

	buf_sort(&packs->places, sizeof(*places), compare_ranked);
	packs->files = malloc(count * sizeof(*packs->files) + 1);
	if (!packs->files)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		packs->files[i] = (uint32_t)places[i].number;
	buf_release(&packs->places);
	return batch_ahead_new(packs->params.dataset, packs->files, count, &packs->ahead);
}

static int list_places(struct import_packs *packs, struct err *err)
{
	struct dataset *dataset = packs->params.dataset;
	uint32_t entries = dataset_entries(dataset);
	struct dataset_attr attr;
	int r = dataset_load(dataset, DATASET_ATTRS | DATASET_CHECKSUMS, err);

	packs->ids = malloc(entries * sizeof(*packs->ids));
	packs->order = malloc(entries * sizeof(*packs->order));
	if (!packs->ids || !packs->order)
		return -ENOMEM;
	memset(packs->ids, 0xff, entries * sizeof(*packs->ids));
	packs->ids[DATASET_ROOT] = PACK_ROOT;
	for (uint32_t e = 0; e < entries; e++)
		packs->order[e] = e;
	if (r == 0 && dataset_is_delta(dataset))
		r = order_by_path(packs);
	if (r == 0)
		r = dataset_attr(dataset, DATASET_ROOT, &attr);
	if (r < 0)
		return r;
	builder_attr(packs->params.builder, PACK_ROOT, attr.mode, attr.mtime);
	r = take_entries(packs, false, err);
	if (r == 0)
		r = take_entries(packs, true, err);
	return r < 0 ? r : sort_files(packs);
}

/* --- files ------------------------------------------------------------------------------------ */

static int packs_next(struct import *import, struct item *item)
{
	struct import_packs *packs = packs_of(import);
	struct dataset_entry entry;
	struct dataset_attr attr;
	uint32_t e;
	int r;

	if (packs->next == packs->import.files)
		return 1;
	e = packs->files[packs->next];
	r = dataset_attr(packs->params.dataset, e, &attr);
	item->path.len = 0;
	if (r == 0)
		r = dataset_path(packs->params.dataset, e, &item->path);
	if (r < 0)
		return r;
	entry = dataset_entry(packs->params.dataset, e);
	item->id = packs->ids[e];
	item->source = (uint32_t)packs->next++;
	item->size = entry.size;
	item->fingerprint = import_fingerprint(&item->path, entry.size, attr.mtime, attr.mode);
	return 0;
}

/* The bytes must be of the file in which they were found: containers of other formats have no
 * checksums that show it. */
static int check_unchanged(const struct import_packs *packs, uint32_t e, int result)
{
	struct dataset *dataset = packs->params.dataset;

	if (dataset_entry(dataset, e).size &&
	    dataset_unchanged(dataset, dataset_first_extent(dataset, e)) == -ESTALE)
		return -ESTALE;
	return result;
}

static void packs_begin(struct import *import, const struct item *item)
{
	batch_ahead_begin(packs_of(import)->ahead, item->source);
}

static void packs_read(struct import *import, unsigned worker, struct item *item)
{
	const struct import_packs *packs = packs_of(import);
	int r = buf_reserve(&item->bytes, item->size);

	(void)worker;
	if (r == 0)
		r = batch_ahead_read(packs->ahead, item->source, item->bytes.data);
	item->error = check_unchanged(packs, packs->files[item->source], r);
	if (item->error == 0)
		item->bytes.len = item->size;
}

static int read_large(void *context, void *buf, size_t len)
{
	struct import_packs *packs = context;
	ssize_t n = dataset_read(packs->params.dataset, packs->large_entry, buf, len, packs->large);
	int r = n < 0 ? (int)n : (size_t)n < len ? -ENODATA : 0;

	packs->large += len;
	return check_unchanged(packs, packs->large_entry, r == -ENODATA ? -EBADMSG : r);
}

static int packs_open_large(struct import *import, struct item *item, struct builder_source *ret)
{
	struct import_packs *packs = packs_of(import);

	packs->large = 0;
	packs->large_entry = packs->files[item->source];
	*ret = (struct builder_source){.read = read_large, .context = packs, .size = item->size};
	return 0;
}

static void packs_free(struct import *import)
{
	struct import_packs *packs = packs_of(import);

	free(packs->ids);
	free(packs->order);
	batch_ahead_free(packs->ahead);
	free(packs->files);
	buf_release(&packs->places);
	free(packs);
}

static const struct import_ops packs_ops = {
	.next = packs_next,
	.begin = packs_begin,
	.read = packs_read,
	.open = packs_open_large,
	.free = packs_free,
};

int import_packs_new(const struct import_packs_params *params, struct import **ret, struct err *err)
{
	struct import_packs *packs = calloc(1, sizeof(*packs));
	int r;

	if (!packs)
		return -ENOMEM;
	packs->import.ops = &packs_ops;
	packs->params = *params;
	r = list_places(packs, err);
	if (r < 0) {
		packs_free(&packs->import);
		return r;
	}
	*ret = &packs->import;
	return 0;
}
