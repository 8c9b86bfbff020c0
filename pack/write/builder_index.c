/* From entries in the order of adding to the index, whose entries lie so:
 *
 *	root | children of root | children of its 1st directory | children of *its* 1st ... |
 *
 * that is, each directory's children consecutive and sorted by name, and the blocks in the
 * order in which os.walk(topdown, sorted) comes by. A lookup is then a binary search in a
 * block, a listing is a range, and files lie in the order in which scans read them. */
#include "base/scope.h"
#include "pack/write/builder_internal.h"

void builder_tree_release(struct builder_tree *tree)
{
	free(tree->order);
	free(tree->entry);
	*tree = (struct builder_tree){0};
}

static int by_entry_name(const struct builder *builder, const struct builder_node *a,
			 const struct builder_node *b)
{
	const char *names = builder->names.data;
	size_t common = a->name_len < b->name_len ? a->name_len : b->name_len;
	int order = memcmp(names + a->name, names + b->name, common);

	return order ? order : (int)a->name_len - (int)b->name_len;
}

static int compare_siblings(const void *a, const void *b, void *context)
{
	const struct builder *builder = context;
	const struct builder_node *x = builder_node(builder, *(const uint32_t *)a);
	const struct builder_node *y = builder_node(builder, *(const uint32_t *)b);

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return by_entry_name(builder, x, y);
}

static int name_fault(const struct builder *builder, uint32_t id, int code, const char *what,
		      struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = builder_path(builder, id, &path);

	return r < 0 ? r : err_set(err, code, "'%s': %s", path.data, what);
}

/* Collects the kept nodes but the root into blocks of siblings: a directory has its own from
 * `start` on. */
static int sort_siblings(struct builder *builder, uint32_t *ids, uint32_t *ret_count,
			 struct err *err)
{
	uint32_t count = 0;

	for (uint32_t id = 1; id < builder_count(builder); id++) {
		if (builder_node(builder, id)->state == NODE_EMPTY)
			return name_fault(builder, id, -EINVAL, "was added, but never stored", err);
		if (builder_node(builder, id)->state == NODE_DONE)
			ids[count++] = id;
	}
	qsort_r(ids, count, sizeof(*ids), compare_siblings, builder);
	for (uint32_t i = 0; i < count; i++) {
		struct builder_node *parent =
			builder_node(builder, builder_node(builder, ids[i])->parent);

		if (parent->size++ == 0)
			parent->start = i;
		else if (by_entry_name(builder, builder_node(builder, ids[i - 1]),
				       builder_node(builder, ids[i])) == 0)
			return name_fault(builder, ids[i], -EEXIST, "there are two of this name",
					  err);
	}
	*ret_count = count;
	return 0;
}

/* Numbers the blocks depth first, with a stack of directories whose block is to come: the
 * children of a directory are pushed last to first, so that the first is on top. From here on
 * a directory's `start` is an entry. */
static int number_entries(struct builder_tree *tree, const uint32_t *ids)
{
	SCOPE_FREE uint32_t *stack = calloc(tree->entries, sizeof(*stack));
	uint32_t depth = 0, next = 1;

	if (!stack)
		return -ENOMEM;
	stack[depth++] = BUILDER_ROOT;
	while (depth) {
		struct builder_node *directory = builder_node(tree->builder, stack[--depth]);
		const uint32_t *block = ids + directory->start;
		uint64_t count = directory->size;

		directory->start = count ? next : 0;
		for (uint64_t i = 0; i < count; i++) {
			tree->order[next] = block[i];
			tree->entry[block[i]] = next++;
		}
		for (uint64_t i = count; i-- > 0;)
			if (builder_node(tree->builder, block[i])->kind == FORMAT_DIRECTORY)
				stack[depth++] = block[i];
	}
	return 0;
}

static int check_links(const struct builder_tree *tree, struct err *err)
{
	const struct builder *builder = tree->builder;

	for (uint32_t e = 1; e < tree->entries; e++) {
		const struct builder_node *node = builder_tree_node(tree, e);

		if (node->kind == FORMAT_HARDLINK &&
		    builder_node(builder, (uint32_t)node->start)->state != NODE_DONE)
			return name_fault(builder, tree->order[e], -EINVAL,
					  "is a hard link to a file that was left out", err);
	}
	return 0;
}

static int make_tree(struct builder_tree *tree, struct err *err)
{
	size_t count = builder_count(tree->builder);
	SCOPE_FREE uint32_t *ids = calloc(count, sizeof(*ids));
	uint32_t kept = 0;
	int r;

	tree->order = calloc(count, sizeof(*tree->order));
	tree->entry = calloc(count, sizeof(*tree->entry));
	if (!ids || !tree->order || !tree->entry)
		return -ENOMEM;
	r = sort_siblings(tree->builder, ids, &kept, err);
	tree->entries = kept + 1;
	if (r == 0)
		r = number_entries(tree, ids);
	return r < 0 ? r : check_links(tree, err);
}

int builder_tree_init(struct builder_tree *tree, struct builder *builder, struct err *err)
{
	struct builder_tree made = {.builder = builder};
	int r = make_tree(&made, err);

	if (r < 0)
		builder_tree_release(&made);
	else
		*tree = made;
	return r;
}
