/* From entries and records to a finished pack. The index says where each record lies, and is made
 * of records itself. So:
 *
 *	1. put the sections (file offsets still zero), commit, close
 *	2. read back those sections that find entries, and walk the keys of the finished LMDB:
 *	   now every offset is known
 *	3. write zeros over free pages, write the offsets in their places in the file, sync, and
 *	   then write the superblock over its placeholder
 *
 * Step 3 goes around LMDB, but changes only bytes that LMDB never looks at. If there is a journal,
 * it has step 1 by then, and a resumed run repeats steps 2 and 3. */
#include "base/bytes.h"
#include "base/io.h"
#include "base/scope.h"
#include "pack/index_rows.h"
#include "pack/write/builder_internal.h"
#include "pack/xxh3.h"
#include <stdio.h>
#include <sys/stat.h>

/* --- the order of the entries -----------------------------------------------------------------
 *
 * They lie so:
 *
 *	root | children of root | children of its 1st directory | children of *its* 1st ... |
 *
 * The children of each directory are consecutive and sorted by name. The blocks come in the order
 * in which os.walk(topdown, sorted) visits them. So a lookup is a binary search in a block, a
 * listing is a range, and files lie in the order in which scans read them. */

/* Which entry of the index each node becomes. */
struct builder_tree {
	struct builder *builder;
	uint32_t entries; /* with the root */
	uint32_t *order;  /* by entry: the node */
	uint32_t *entry;  /* by node: the entry */
};

static void builder_tree_release(struct builder_tree *tree)
{
	free(tree->order);
	free(tree->entry);
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
		const struct builder_node *node = builder_node(builder, id);

		if (node->state == NODE_EMPTY)
			return builder_fault(builder, id, -EINVAL, "",
					     ": was added, but never stored", err);
		if (node->state != NODE_DONE)
			continue;
		if (node->kind == FORMAT_HARDLINK &&
		    builder_node(builder, (uint32_t)node->start)->state != NODE_DONE)
			return builder_fault(builder, id, -EINVAL, "",
					     ": is a hard link to a file that was left out", err);
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
	stack[depth++] = PACK_ROOT;
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

/* 0, -ENOMEM, -EINVAL (a file without bytes, a link to one that was left out) or -EEXIST (two
 * entries of one name). */
static int builder_tree_init(struct builder_tree *tree, struct err *err)
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
	return r;
}

/* --- the sections ---------------------------------------------------------------------------
 *
 * All sections at once would take as much memory as the entries do. So each is made alone, and
 * twice: first for its checksum, which is needed before the finish writes anything, and then in its
 * place in the file. */

static struct index_row builder_row_of(const void *context, uint32_t entry)
{
	const struct builder_tree *tree = context;
	const struct builder *builder = tree->builder;
	const struct builder_node *node = builder_node(builder, tree->order[entry]);
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
		row.checksums = builder_file_checksums(
			builder, row.kind == FORMAT_ALIAS
					 ? builder_node(builder, (uint32_t)node->start)
					 : node);
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

/* Writes the bytes of a section. The offsets of files and parts are zero until index_locate() finds
 * them in the finished LMDB. */
static void fill_section(const struct builder_tree *tree, const struct format_section_ref *ref,
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

/* Fills in everything about the sections except their offsets. *ret_checksum covers all of them. */
static int describe_sections(const struct builder_tree *tree, struct format_super *super,
			     uint64_t *ret_checksum)
{
	const struct index_rows rows = {
		.count = tree->entries, .row = builder_row_of, .context = tree};

	*ret_checksum = 0;
	index_rows_shape(&rows, super->sections);
	super->sections[SECTION_OPTIONS] =
		index_shape(SECTION_OPTIONS, tree->entries, strlen(tree->builder->options));
	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		struct format_section_ref *ref = &super->sections[i];
		SCOPE_FREE void *data = malloc(ref->bytes ? ref->bytes : 1);

		if (!data)
			return -ENOMEM;
		fill_section(tree, ref, i, data);
		ref->checksum = XXH3_64bits(data, ref->bytes);
		*ret_checksum = XXH3_64bits_withSeed(data, ref->bytes, *ret_checksum);
	}
	return 0;
}

/* --- the steps -------------------------------------------------------------------------------- */

/* Afterwards all of the entries is in the file. */
static int put_all(struct builder *builder, struct format_super *super, struct err *err)
{
	SCOPE(builder_tree_release) struct builder_tree tree = {.builder = builder};
	uint64_t checksum = 0;
	struct format_key key;
	void *space;
	int r = builder_tree_init(&tree, err);

	if (r == 0)
		r = describe_sections(&tree, super, &checksum);
	if (r == 0)
		r = builder_resumed_all(builder, err);
	if (r == 0 && builder->now.puts && builder->now.index_checksum != checksum)
		r = err_set(err, -ESTALE,
			    "names, modes, times or links have changed since the interruption");
	if (r < 0)
		return r;
	builder->now.index_checksum = checksum;
	for (uint32_t id = 1; r >= 0 && id < builder_count(builder); id++) {
		const struct builder_node *node = builder_node(builder, id);

		if (node->kind == FORMAT_HARDLINK && node->state == NODE_DONE &&
		    builder_node(builder, (uint32_t)node->start)->kind != FORMAT_BASE)
			r = builder_put_reference(builder, id, true);
	}
	/* Sections are written straight into their records, one at a time. */
	for (unsigned i = 0; r >= 0 && i < SECTION_COUNT; i++) {
		format_key_section((enum format_section)i, &key);
		r = builder_put_last(builder, &key, super->sections[i].bytes, &space);
		if (r == 0)
			fill_section(&tree, &super->sections[i], i, space);
	}
	if (r < 0)
		return r;
	buf_release(&builder->nodes);
	buf_release(&builder->names);
	buf_release(&builder->targets);
	buf_release(&builder->checksums);
	buf_release(&builder->based);
	return 0;
}

/* The last commit. The journal must hold it before anything in the file is overwritten: with the
 * finished superblock, and before it has its name, the file is a pack that somebody may have put
 * aside, but for the journal. */
static int close_store(struct builder *builder)
{
	int r = builder_commit(builder);

	if (r < 0)
		return r;
	r = journal_settle(builder->journal);
	if (r < 0)
		return builder_failed(builder, r, journal_failed(builder->journal));
	r = builder_failed(builder, store_wipe(builder->store), "write");
	store_free(builder->store);
	builder->store = NULL;
	return r;
}

/* Reads the sections that find the entries of keys, hold the offsets, or make the ids: all in front
 * of what is known of images; and makes the checks that every reader makes. */
static int complete_index(const struct builder *builder, struct index *index,
			  struct format_super *super, struct err *err)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE(walker_release) struct walker *walker = NULL;
	struct walker_record record;
	struct stat st;
	bool moved;
	int r = builder_walk(builder->fd, &reader, &walker, err);

	if (r == 0)
		r = index_find_super(walker, &record, err);
	if (r == 0)
		r = index_find_sections(walker, super, &moved, err);
	index->entries = (uint32_t)super->sections[SECTION_KIND].count;
	for (unsigned i = 0; r == 0 && i < SECTION_IMAGE; i++)
		r = index_load_section(reader, super, i, &index->sections[i], err);
	if (r < 0)
		return r;
	/* An interrupted run may have written offsets. Without them, all are as they were put. */
	index_forget_offsets(index);
	for (unsigned i = 0; i < SECTION_IMAGE; i++)
		if (XXH3_64bits(index->sections[i].data, index->sections[i].bytes) !=
		    super->sections[i].checksum)
			return -EIO;
	r = index_locate(index, walker, err);
	if (r == 0 && fstat(builder->fd, &st) < 0)
		r = -errno;
	if (r == 0)
		r = index_check(index, (uint64_t)st.st_size, err);
	if (r == 0)
		r = index_content_id(index, super->content_id);
	if (r < 0)
		return r;
	index_id(index, super->id);
	index_count(index, super);
	super->compat |= FORMAT_CONTENT_ID;
	super->incompat |= builder->base ? FORMAT_DELTA : 0;
	super->version = FORMAT_VERSION;
	super->lmdb = index_lmdb_state(walker_info(walker));
	return 0;
}

static int write_section(const struct builder *builder, const struct index *index,
			 struct format_super *super, enum format_section section)
{
	const struct index_section *s = &index->sections[section];
	struct format_section_ref *ref = &super->sections[section];

	ref->checksum = XXH3_64bits(s->data, s->bytes);
	return io_pwrite_full(builder->fd, s->data, s->bytes, ref->offset);
}

/* The superblock comes last: once it is on the disk, all the rest is there too. */
static int write_offsets(struct builder *builder, struct index *index, struct format_super *super,
			 struct err *err)
{
	uint8_t data[FORMAT_SUPER_BYTES];
	int r = complete_index(builder, index, super, err);

	if (r == 0)
		r = write_section(builder, index, super, SECTION_START);
	if (r == 0)
		r = write_section(builder, index, super, SECTION_PARTS);
	if (r < 0)
		return r;
	r = io_sync(builder->fd, fdatasync);
	if (r < 0)
		return err_call(err, r, "fdatasync");
	format_super_encode(super, data);
	r = io_pwrite_full(builder->fd, data, sizeof(data), builder->now.super_offset);
	return r < 0 ? err_call(err, r, "write") : 0;
}

static int take_name(struct builder *builder, struct err *err)
{
	int r = io_rename(builder->partial, builder->path, builder->replace);

	if (r == -EEXIST)
		return err_set(err, r, "exists");
	if (io_is_refused(r))
		return err_set(err, r,
			       "rename: %s; '%s' is the whole pack, and can be copied, or mounted",
			       strerror(-r), builder->partial);
	if (r < 0)
		return err_call(err, r, "rename");
	builder->ours = false;
	io_sync_directory(builder->path);
	journal_remove(builder->journal);
	return 0;
}

int builder_finish(struct builder *builder, uint64_t left_out, struct builder_summary *ret,
		   struct err *err)
{
	SCOPE(index_release) struct index index = {0};
	struct builder_summary summary = {0};
	struct format_super super = {.left_out = left_out};
	struct stat st = {0};
	int r;

	for (uint32_t id = 1; id < builder_count(builder); id++) {
		const struct builder_node *node = builder_node(builder, id);

		if (node->kind == FORMAT_ALIAS) {
			summary.aliases++;
			summary.alias_bytes += node->size;
		} else if (node->kind == FORMAT_BASE) {
			summary.based++;
			summary.based_bytes += node->size;
		}
	}
	r = put_all(builder, &super, err);
	if (r == 0)
		r = close_store(builder);
	if (r == 0)
		r = write_offsets(builder, &index, &super, err);
	if (r == 0 && fchmod(builder->fd, builder->mode) < 0)
		summary.no_mode = -errno;
	if (summary.no_mode && !io_is_refused(summary.no_mode))
		r = err_call(err, summary.no_mode, "fchmod");
	if (r == 0) {
		r = io_sync(builder->fd, fsync);
		summary.no_sync = r > 0 ? -errno : 0;
		r = r < 0 ? err_call(err, r, "fsync") : 0;
	}
	if (r == 0)
		r = take_name(builder, err);
	if (r < 0)
		return builder_explain(builder, r, err);
	fstat(builder->fd, &st);
	summary.files = super.files;
	summary.directories = super.directories;
	summary.symlinks = super.symlinks;
	summary.hardlinks = super.hardlinks;
	summary.bytes = super.bytes;
	summary.pack_bytes = (uint64_t)st.st_size;
	format_id_text(super.id, summary.id);
	format_id_text(super.content_id, summary.content_id);
	*ret = summary;
	return 0;
}
