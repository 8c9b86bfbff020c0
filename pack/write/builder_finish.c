/* From records to a finished pack. The index says where each record lies, and is made of records
 * itself. So:
 *
 *	1. put the sections (file offsets still zero), commit, close
 *	2. read back those sections that find entries, and walk the keys of the finished LMDB:
 *	   now every offset is known
 *	3. write zeros over free pages, write the offsets in their places in the file, sync, and
 *	   then write the superblock over its placeholder
 *
 * Step 3 goes around LMDB, but changes only bytes that LMDB never looks at. If there is a journal,
 * it has step 1 by then, and a resumed run repeats steps 2 and 3. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/keys.h"
#include "pack/write/builder_index.h"
#include "pack/xxh3.h"
#include <stdio.h>
#include <sys/stat.h>

static int put_links(struct builder *builder)
{
	int r = 0;

	for (uint32_t id = 1; id < builder_count(builder) && r >= 0; id++) {
		const struct builder_node *node = builder_node(builder, id);

		if (node->kind == FORMAT_HARDLINK && node->state == NODE_DONE &&
		    builder_node(builder, (uint32_t)node->start)->kind != FORMAT_BASE)
			r = builder_put_reference(builder, id, true);
	}
	return r < 0 ? r : 0;
}

/* Written straight into their records, one at a time. */
static int put_sections(const struct builder_tree *tree, const struct format_super *super)
{
	struct format_key key;
	void *space;
	int r;

	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		const struct format_section_ref *ref = &super->sections[i];

		format_key_section((enum format_section)i, &key);
		r = builder_put_last(tree->builder, &key, ref->bytes, &space);
		if (r < 0)
			return r;
		if (r == 0)
			builder_fill_section(tree, ref, i, space);
	}
	return 0;
}

/* `checksum`: of builder_describe(). */
static int put_index(const struct builder_tree *tree, const struct format_super *super,
		     uint64_t checksum, struct err *err)
{
	struct builder *builder = tree->builder;
	int r = builder_resumed_all(builder, err);

	if (r < 0)
		return r;
	if (builder->now.puts && builder->now.index_checksum != checksum)
		return err_set(err, -ESTALE,
			       "names, modes, times or links have changed since the interruption");
	builder->now.index_checksum = checksum;
	r = put_links(builder);
	return r < 0 ? r : put_sections(tree, super);
}

/* All sections are in the file now. */
static void release_entries(struct builder *builder)
{
	buf_release(&builder->nodes);
	buf_release(&builder->names);
	buf_release(&builder->targets);
	buf_release(&builder->checksums);
	buf_release(&builder->based);
}

static int put_all(struct builder *builder, struct format_super *super, struct err *err)
{
	SCOPE(builder_tree_release) struct builder_tree tree = {0};
	uint64_t checksum = 0;
	int r = builder_tree_init(&tree, builder, err);

	if (r == 0)
		r = builder_describe(&tree, super, &checksum);
	if (r == 0)
		r = put_index(&tree, super, checksum, err);
	if (r == 0)
		release_entries(builder);
	return r;
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

/* The sections that find the entries of keys, hold the offsets, or make the content id. */
static const enum format_section finding[] = {
	SECTION_NAMES, SECTION_NAME_END, SECTION_PARENT,  SECTION_KIND,	     SECTION_SIZE,
	SECTION_START, SECTION_PARTS,	 SECTION_TARGETS, SECTION_CHECKSUMS,
};
#define FINDING_COUNT (sizeof(finding) / sizeof(*finding))

/* An interrupted run may have written offsets. Without them, all sections are as they were put. */
static int read_index(struct reader *reader, const struct format_super *super, struct index *index,
		      struct err *err)
{
	int r = 0;

	index->entries = (uint32_t)super->sections[SECTION_KIND].count;
	for (size_t i = 0; r == 0 && i < FINDING_COUNT; i++)
		r = index_load_section(reader, super, finding[i], &index->sections[finding[i]],
				       err);
	if (r < 0)
		return r;
	index_forget_offsets(index);
	for (size_t i = 0; r == 0 && i < FINDING_COUNT; i++) {
		const struct index_section *s = &index->sections[finding[i]];

		if (XXH3_64bits(s->data, s->bytes) != super->sections[finding[i]].checksum)
			r = -EIO;
	}
	return r;
}

static int locate_records(const struct builder *builder, struct index *index,
			  struct format_super *super, struct err *err)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE(walker_release) struct walker *walker = NULL;
	struct walker_record record;
	bool moved;
	int r = builder_walk(builder->fd, &reader, &walker, err);

	if (r == 0)
		r = index_find_super(walker, &record, err);
	if (r == 0)
		r = index_find_sections(walker, super, &moved, err);
	if (r == 0)
		r = read_index(reader, super, index, err);
	if (r == 0)
		r = index_locate(index, walker, err);
	if (r < 0)
		return r;
	index_count(index, super);
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

/* Makes the checks that every reader makes, too. */
static int identify_content(const struct builder *builder, struct index *index,
			    struct format_super *super, struct err *err)
{
	struct stat st;
	int r;

	if (fstat(builder->fd, &st) < 0)
		return -errno;
	r = index_check(index, (uint64_t)st.st_size, err);
	if (r == 0)
		r = index_content_id(index, super->content_id);
	super->compat |= FORMAT_CONTENT_ID;
	return r;
}

/* The superblock comes last: once it is on the disk, all the rest is there too. */
static int write_offsets(struct builder *builder, struct index *index, struct format_super *super,
			 struct err *err)
{
	uint8_t data[FORMAT_SUPER_BYTES];
	int r = locate_records(builder, index, super, err);

	if (r == 0)
		r = identify_content(builder, index, super, err);
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

static void summarise_shared(const struct builder *builder, struct builder_summary *summary)
{
	for (uint32_t id = 1; id < builder_count(builder); id++) {
		const struct builder_node *node = builder_node(builder, id);

		if (node->kind == FORMAT_ALIAS) {
			summary->aliases++;
			summary->alias_bytes += node->size;
		} else if (node->kind == FORMAT_BASE) {
			summary->based++;
			summary->based_bytes += node->size;
		}
	}
}

static void summarise(const struct builder *builder, const struct format_super *super,
		      struct builder_summary *ret)
{
	struct stat st = {0};

	fstat(builder->fd, &st);
	ret->files = super->files;
	ret->directories = super->directories;
	ret->symlinks = super->symlinks;
	ret->hardlinks = super->hardlinks;
	ret->bytes = super->bytes;
	ret->pack_bytes = (uint64_t)st.st_size;
	format_id_text(super->id, ret->id);
	format_id_text(super->content_id, ret->content_id);
}

static int settle_file(const struct builder *builder, struct builder_summary *summary,
		       struct err *err)
{
	int r = fchmod(builder->fd, builder->mode) < 0 ? -errno : 0;

	if (r < 0 && !io_is_refused(r))
		return err_call(err, r, "fchmod");
	summary->no_mode = r;
	r = io_sync(builder->fd, fsync);
	if (r < 0)
		return err_call(err, r, "fsync");
	summary->no_sync = r ? -errno : 0;
	return 0;
}

int builder_finish(struct builder *builder, uint64_t left_out, struct builder_summary *ret,
		   struct err *err)
{
	SCOPE(index_release) struct index index = {0};
	struct builder_summary summary = {0};
	struct format_super super = {.left_out = left_out};
	int r;

	summarise_shared(builder, &summary);
	r = put_all(builder, &super, err);
	if (r == 0)
		r = close_store(builder);
	if (r == 0)
		r = write_offsets(builder, &index, &super, err);
	if (r == 0)
		r = settle_file(builder, &summary, err);
	if (r == 0)
		r = take_name(builder, err);
	if (r < 0)
		return builder_explain(builder, r, err);
	summarise(builder, &super, &summary);
	*ret = summary;
	return 0;
}
