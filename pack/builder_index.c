/* From entries in the order of adding to the index, whose entries lie so:
 *
 *	root | children of root | children of its 1st directory | children of *its* 1st ... |
 *
 * that is, each directory's children consecutive and sorted by name, and the blocks in the
 * order in which os.walk(topdown, sorted) comes by. A lookup is then a binary search in a
 * block, a listing is a range, and files lie in the order in which scans read them. */
#include "base/scope.h"
#include "pack/builder_internal.h"
#include "pack/xxh3.h"

struct ordering {
	struct builder *builder;
	uint32_t *ids;	 /* all kept nodes but the root, sorted by (parent, name); NULL once they
			    are numbered */
	uint32_t count;	 /* of ids */
	uint32_t *order; /* by entry: the node */
	uint32_t *entry; /* by node: the entry */
};

static void ordering_release(struct ordering *o)
{
	free(o->ids);
	free(o->order);
	free(o->entry);
}

static int compare_names(const struct builder *builder, const struct builder_node *a,
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
	return compare_names(builder, x, y);
}

static int ordering_init(struct ordering *o, struct builder *builder)
{
	size_t count = builder_count(builder);

	*o = (struct ordering){.builder = builder};
	o->ids = calloc(count, sizeof(uint32_t));
	o->order = calloc(count, sizeof(uint32_t));
	o->entry = calloc(count, sizeof(uint32_t));
	return o->ids && o->order && o->entry ? 0 : -ENOMEM;
}

static int name_fault(const struct ordering *o, uint32_t id, int code, const char *what,
		      struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = builder_path(o->builder, id, &path);

	return r < 0 ? r : err_set(err, code, "'%s': %s", path.data, what);
}

/* Collects the kept nodes into blocks of siblings: a directory has its own from `start` on. */
static int sort_siblings(struct ordering *o, struct err *err)
{
	struct builder *builder = o->builder;

	for (uint32_t id = 1; id < builder_count(builder); id++) {
		if (builder_node(builder, id)->state == NODE_EMPTY)
			return name_fault(o, id, -EINVAL, "was added, but never stored", err);
		if (builder_node(builder, id)->state == NODE_DONE)
			o->ids[o->count++] = id;
	}
	qsort_r(o->ids, o->count, sizeof(uint32_t), compare_siblings, builder);
	for (uint32_t i = 0; i < o->count; i++) {
		struct builder_node *parent =
			builder_node(builder, builder_node(builder, o->ids[i])->parent);

		if (parent->size++ == 0)
			parent->start = i;
		else if (compare_names(builder, builder_node(builder, o->ids[i - 1]),
				       builder_node(builder, o->ids[i])) == 0)
			return name_fault(o, o->ids[i], -EEXIST, "there are two of this name", err);
	}
	return 0;
}

/* Numbers the blocks depth first, with a stack of directories whose block is to come: the
 * children of a directory are pushed last to first, so that the first is on top. From here on
 * a directory's `start` is an entry. */
static int number_entries(struct ordering *o)
{
	SCOPE_FREE uint32_t *stack = calloc((size_t)o->count + 1, sizeof(uint32_t));
	uint32_t depth = 0, next = 1;

	if (!stack)
		return -ENOMEM;
	stack[depth++] = BUILDER_ROOT;
	while (depth) {
		struct builder_node *directory = builder_node(o->builder, stack[--depth]);
		const uint32_t *block = o->ids + directory->start;
		uint64_t count = directory->size;

		directory->start = count ? next : 0;
		for (uint64_t i = 0; i < count; i++) {
			o->order[next] = block[i];
			o->entry[block[i]] = next++;
		}
		for (uint64_t i = count; i-- > 0;)
			if (builder_node(o->builder, block[i])->kind == FORMAT_DIRECTORY)
				stack[depth++] = block[i];
	}
	free(steal_ptr(&o->ids));
	return 0;
}

struct maxima {
	uint64_t size, parent, width, height; /* the greatest */
	uint64_t parts, names, targets, sums; /* all together */
};

static void find_maxima(const struct ordering *o, struct maxima *max)
{
#define RAISE(field, value)                  \
	do {                                 \
		uint64_t value_ = (value);   \
		if (value_ > max->field)     \
			max->field = value_; \
	} while (0)
	for (uint32_t e = 0; e <= o->count; e++) {
		const struct builder_node *node = builder_node(o->builder, o->order[e]);

		RAISE(size, node->size);
		RAISE(parent, o->entry[node->parent]);
		RAISE(width, node->width);
		RAISE(height, node->height);
		max->names += node->name_len;
		if (node->kind == FORMAT_SPLIT)
			max->parts += format_parts(node->size);
		if (node->kind == FORMAT_SYMLINK)
			max->targets += node->size;
		if (format_is_file(node->kind))
			max->sums += format_extents(node->size);
	}
#undef RAISE
}

static int init_sections(const struct ordering *o, struct index *index)
{
	struct index_section *s = index->sections;
	uint64_t entries = (uint64_t)o->count + 1;
	struct maxima max = {0};
	int r = 0;

	find_maxima(o, &max);
	r |= index_section_init(&s[SECTION_NAMES], max.names, 0);
	r |= index_section_init(&s[SECTION_NAME_END], entries, index_width(max.names));
	r |= index_section_init(&s[SECTION_PARENT], entries, index_width(max.parent));
	r |= index_section_init(&s[SECTION_KIND], entries, 1);
	r |= index_section_init(&s[SECTION_START], entries, 8);
	r |= index_section_init(&s[SECTION_SIZE], entries, index_width(max.size));
	r |= index_section_init(&s[SECTION_PARTS], max.parts, 8);
	r |= index_section_init(&s[SECTION_TARGETS], max.targets, 0);
	r |= index_section_init(&s[SECTION_SUMS], max.sums, 8);
	r |= index_section_init(&s[SECTION_MODE], entries, 2);
	r |= index_section_init(&s[SECTION_MTIME], entries, 8);
	r |= index_section_init(&s[SECTION_IMAGE], entries, 1);
	r |= index_section_init(&s[SECTION_WIDTH], entries, index_width(max.width));
	r |= index_section_init(&s[SECTION_HEIGHT], entries, index_width(max.height));
	r |= index_section_init(&s[SECTION_OPTIONS], strlen(o->builder->options), 0);
	return r ? -ENOMEM : 0;
}

struct filling {
	uint64_t names, targets, parts, sums; /* filled so far */
};

static void fill_file(struct index *index, const struct ordering *o,
		      const struct builder_node *node, uint32_t entry, struct filling *at)
{
	const struct builder_node *holder = node;
	uint64_t extents = format_extents(node->size);
	const uint64_t *sums;

	if (node->kind == FORMAT_SPLIT) {
		index_put(index, SECTION_START, entry, at->parts);
		at->parts += format_parts(node->size);
	} else if (node->kind == FORMAT_ALIAS) {
		index_put(index, SECTION_START, entry, o->entry[node->start]);
		holder = builder_node(o->builder, (uint32_t)node->start);
	}
	sums = builder_file_sums(o->builder, holder);
	for (uint64_t i = 0; i < extents; i++)
		index_put(index, SECTION_SUMS, at->sums++, sums[i]);
}

static void fill_entry(struct index *index, const struct ordering *o, uint32_t entry,
		       struct filling *at)
{
	const struct builder_node *node = builder_node(o->builder, o->order[entry]);

	if (node->name_len) /* the root has none, and where it is alone there are no names */
		memcpy(index->sections[SECTION_NAMES].data + at->names,
		       o->builder->names.data + node->name, node->name_len);
	at->names += node->name_len;
	index_put(index, SECTION_NAME_END, entry, at->names);
	index_put(index, SECTION_PARENT, entry, o->entry[node->parent]);
	index_put(index, SECTION_KIND, entry, node->kind);
	index_put(index, SECTION_SIZE, entry, node->size);
	index_put(index, SECTION_MODE, entry, node->mode);
	index_put(index, SECTION_MTIME, entry, (uint64_t)node->mtime);
	index_put(index, SECTION_IMAGE, entry, node->image);
	index_put(index, SECTION_WIDTH, entry, node->width);
	index_put(index, SECTION_HEIGHT, entry, node->height);
	if (node->kind == FORMAT_DIRECTORY) {
		index_put(index, SECTION_START, entry, node->start);
	} else if (node->kind == FORMAT_SYMLINK) {
		memcpy(index->sections[SECTION_TARGETS].data + at->targets,
		       o->builder->targets.data + node->start, node->size);
		index_put(index, SECTION_START, entry, at->targets);
		at->targets += node->size;
	} else if (node->kind == FORMAT_HARDLINK) {
		index_put(index, SECTION_START, entry, o->entry[node->start]);
	} else {
		fill_file(index, o, node, entry, at);
	}
}

static int check_links(const struct ordering *o, struct err *err)
{
	for (uint32_t e = 1; e <= o->count; e++) {
		const struct builder_node *node = builder_node(o->builder, o->order[e]);

		if (node->kind == FORMAT_HARDLINK &&
		    builder_node(o->builder, (uint32_t)node->start)->state != NODE_DONE)
			return name_fault(o, o->order[e], -EINVAL,
					  "is a hard link to a file that was left out", err);
	}
	return 0;
}

static void count_entries(const struct ordering *o, struct format_super *super)
{
	super->entries = (uint64_t)o->count + 1;
	for (uint32_t e = 0; e <= o->count; e++) {
		const struct builder_node *node = builder_node(o->builder, o->order[e]);

		switch (node->kind) {
		case FORMAT_DIRECTORY:
			super->directories++;
			break;
		case FORMAT_SYMLINK:
			super->symlinks++;
			break;
		case FORMAT_HARDLINK:
			super->hardlinks++;
			break;
		case FORMAT_ALIAS:
			super->incompat |= FORMAT_ALIASES;
			/* fall through */
		default:
			super->files++;
			super->bytes += node->size;
		}
	}
}

/* An alias counts as what it would be if its bytes were stored for it. */
static void digest_kinds(const struct index *index, XXH3_state_t *state)
{
	for (uint32_t e = 0; e < index->entries; e++) {
		uint8_t kind = (uint8_t)index_kind(index, e);

		if (kind == FORMAT_ALIAS)
			kind = (uint8_t)index_kind(index, index_holder(index, e));
		XXH3_128bits_update(state, &kind, 1);
	}
}

/* The id stands for what is in the tree, not for where it lies: of the places, only the
 * targets of hard links go in. */
static void digest(const struct index *index, uint8_t id[16])
{
	static const enum format_section content[] = {
		SECTION_NAMES,	 SECTION_NAME_END, SECTION_PARENT, SECTION_KIND,  SECTION_SIZE,
		SECTION_TARGETS, SECTION_SUMS,	   SECTION_MODE,   SECTION_MTIME,
	};
	XXH128_canonical_t out;
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	for (size_t i = 0; i < sizeof(content) / sizeof(*content); i++) {
		const struct index_section *s = &index->sections[content[i]];

		if (content[i] == SECTION_KIND)
			digest_kinds(index, &state);
		else
			XXH3_128bits_update(&state, s->data, s->bytes);
	}
	for (uint32_t e = 0; e < index->entries; e++) {
		uint8_t link[8];

		if (index_kind(index, e) != FORMAT_HARDLINK)
			continue;
		le_put64(link, index_get(index, SECTION_START, e));
		XXH3_128bits_update(&state, link, sizeof(link));
	}
	XXH128_canonicalFromHash(&out, XXH3_128bits_digest(&state));
	memcpy(id, out.digest, 16);
}

static int fill_index(const struct ordering *o, struct index *index, struct format_super *super)
{
	const char *options = o->builder->options;
	struct filling at = {0};
	int r = init_sections(o, index);

	if (r < 0)
		return r;
	index->entries = o->count + 1;
	for (uint32_t e = 0; e < index->entries; e++)
		fill_entry(index, o, e, &at);
	memcpy(index->sections[SECTION_OPTIONS].data, options, strlen(options));
	count_entries(o, super);
	digest(index, super->id);
	return 0;
}

int builder_make_index(struct builder *builder, struct index *index, struct format_super *super,
		       struct err *err)
{
	SCOPE(ordering_release) struct ordering o;
	int r = ordering_init(&o, builder);

	if (r == 0)
		r = sort_siblings(&o, err);
	if (r == 0)
		r = number_entries(&o);
	if (r == 0)
		r = check_links(&o, err);
	return r < 0 ? r : fill_index(&o, index, super);
}
