/* From entries in the order in which they were added to the index, whose entries lie so:
 *
 *	root | children of root | children of its 1st directory | children of *its* 1st ... |
 *
 * The children of each directory are consecutive and sorted by name. The blocks come in the order
 * in which os.walk(topdown, sorted) visits them. So a lookup is a binary search in a block, a
 * listing is a range, and files lie in the order in which scans read them. */
#include "pack/write/builder_index.h"
#include "base/bytes.h"
#include "base/scope.h"
#include "pack/index_rows.h"
#include "pack/xxh3.h"

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

	return bytes_compare(names + a->name, a->name_len, names + b->name, b->name_len);
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

/* Collects the nodes that are kept, without the root, into blocks of siblings. A directory has its
 * own block from `start` on. */
static int sort_siblings(struct builder *builder, uint32_t *ids, uint32_t *ret_count,
			 struct err *err)
{
	uint32_t count = 0;

	for (uint32_t id = 1; id < builder_count(builder); id++) {
		if (builder_node(builder, id)->state == NODE_EMPTY)
			return builder_fault(builder, id, -EINVAL, "",
					     ": was added, but never stored", err);
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
			return builder_fault(builder, ids[i], -EEXIST, "",
					     ": there are two of this name", err);
	}
	*ret_count = count;
	return 0;
}

/* Numbers the blocks depth first, with a stack of directories whose block is still to come. The
 * children of a directory are pushed last to first, so the first one is on top. Afterwards the
 * `start` of a directory is an entry. */
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
			return builder_fault(builder, tree->order[e], -EINVAL, "",
					     ": is a hard link to a file that was left out", err);
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

/* --- the sections ---------------------------------------------------------------------------
 *
 * All sections at once would take as much memory as the entries do. So each is made alone, and
 * twice: first for its checksum, which is needed before the finish writes anything, and then in its
 * place in the file. */

/* The file whose bytes an entry has: itself, or the target of an alias. */
static const struct builder_node *holder_node(const struct builder_tree *tree,
					      const struct builder_node *node)
{
	return node->kind == FORMAT_ALIAS ? builder_node(tree->builder, (uint32_t)node->start)
					  : node;
}

static struct index_row builder_row_of(const void *context, uint32_t entry)
{
	const struct builder_tree *tree = context;
	const struct builder *builder = tree->builder;
	const struct builder_node *node = builder_tree_node(tree, entry);
	struct index_row row = {.name = builder->names.data + node->name,
				.name_len = node->name_len,
				.parent = tree->entry[node->parent],
				.kind = (enum format_kind)node->kind,
				.size = node->size,
				.mode = node->mode,
				.mtime = node->mtime,
				.image = node->image,
				.width = node->width,
				.height = node->height};

	if (format_is_file(row.kind))
		row.checksums = builder_file_checksums(builder, holder_node(tree, node));
	if (row.kind == FORMAT_DIRECTORY)
		row.start = node->start;
	else if (row.kind == FORMAT_HARDLINK || row.kind == FORMAT_ALIAS)
		row.start = tree->entry[node->start];
	else if (row.kind == FORMAT_BASE)
		row.start = builder_based(builder, node);
	else if (row.kind == FORMAT_SYMLINK)
		row.target = builder->targets.data + node->start;
	return row;
}

void builder_fill_section(const struct builder_tree *tree, const struct format_section_ref *ref,
			  enum format_section section, void *out)
{
	const struct index_rows rows = {
		.count = tree->entries, .row = builder_row_of, .context = tree};
	struct index index = {0};

	index.sections[section] = (struct index_section){.data = out, .width = ref->width};
	if (section == SECTION_OPTIONS)
		memcpy(out, tree->builder->options, ref->bytes);
	else if (section == SECTION_PARTS)
		memset(out, 0, ref->bytes);
	else
		index_rows_fill(&rows, &index);
}

/* --- checksums -------------------------------------------------------------------------------- */

static void digest_kinds(const struct builder_tree *tree, XXH3_state_t *state)
{
	for (uint32_t e = 0; e < tree->entries; e++) {
		const struct builder_node *node = builder_tree_node(tree, e);
		uint8_t kind = (uint8_t)index_id_kind((enum format_kind)node->kind, node->size);

		XXH3_128bits_update(state, &kind, 1);
	}
}

static void digest_links(const struct builder_tree *tree, XXH3_state_t *state)
{
	for (uint32_t e = 0; e < tree->entries; e++) {
		const struct builder_node *node = builder_tree_node(tree, e);
		uint8_t link[8];

		if (node->kind != FORMAT_HARDLINK)
			continue;
		le_put64(link, tree->entry[node->start]);
		XXH3_128bits_update(state, link, sizeof(link));
	}
}

/* The checksum of one section, alone and after those before it. */
static int checksum_section(const struct builder_tree *tree, struct format_section_ref *ref,
			    enum format_section section, XXH3_state_t *digest, uint64_t *checksum)
{
	SCOPE_FREE void *data = malloc(ref->bytes ? ref->bytes : 1);

	if (!data)
		return -ENOMEM;
	builder_fill_section(tree, ref, section, data);
	ref->checksum = XXH3_64bits(data, ref->bytes);
	*checksum = XXH3_64bits_withSeed(data, ref->bytes, *checksum);
	if (section == SECTION_KIND)
		digest_kinds(tree, digest);
	else if (index_id_sections[section])
		XXH3_128bits_update(digest, data, ref->bytes);
	return 0;
}

int builder_describe(const struct builder_tree *tree, struct format_super *super,
		     uint64_t *ret_checksum)
{
	const struct index_rows rows = {
		.count = tree->entries, .row = builder_row_of, .context = tree};
	XXH128_canonical_t id;
	XXH3_state_t digest;
	uint64_t checksum = 0;

	index_rows_shape(&rows, super->sections);
	super->sections[SECTION_OPTIONS] =
		index_shape(SECTION_OPTIONS, tree->entries, strlen(tree->builder->options));
	XXH3_128bits_reset(&digest);
	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		int r = checksum_section(tree, &super->sections[i], i, &digest, &checksum);

		if (r < 0)
			return r;
	}
	digest_links(tree, &digest);
	XXH128_canonicalFromHash(&id, XXH3_128bits_digest(&digest));
	memcpy(super->id, id.digest, sizeof(super->id));
	*ret_checksum = checksum;
	return 0;
}
