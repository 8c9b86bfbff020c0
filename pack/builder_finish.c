/* From records to a finished pack. The index says where each record lies, and is itself
 * records; so:
 *
 *	1. put the sections (file offsets still zero) and an empty superblock, commit, close
 *	2. walk the keys of the finished LMDB: now every offset is known
 *	3. write the offsets and the superblock over their places in the file
 *
 * Step 3 goes around LMDB, but changes only bytes within values, which LMDB never looks at. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/builder_internal.h"
#include "pack/keys.h"
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/stat.h>
#include <xxhash.h>

static int put_links(struct builder *builder)
{
	SCOPE(buf_release) struct buf path = BUF_INIT, target = BUF_INIT;

	for (uint32_t id = 1; id < builder_count(builder); id++) {
		const struct builder_node *node = builder_node(builder, id);
		size_t magic = sizeof(FORMAT_LINK_MAGIC) - 1;
		struct format_key key;
		void *space;
		int r;

		if (node->kind != FORMAT_HARDLINK || node->state != NODE_DONE)
			continue;
		r = builder_path(builder, id, &path);
		if (r == 0)
			r = builder_path(builder, (uint32_t)node->start, &target);
		if (r < 0)
			return r;
		format_key_path(path.data, path.len, &key);
		r = store_put(builder->store, key.data, key.len, magic + target.len, &space);
		if (r < 0)
			return r;
		memcpy(space, FORMAT_LINK_MAGIC, magic);
		memcpy((char *)space + magic, target.data, target.len);
	}
	return 0;
}

static int put_sections(struct builder *builder, const struct index *index)
{
	struct format_key key;
	void *space;
	int r;

	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		const struct index_section *s = &index->sections[i];

		format_key_section((enum format_section)i, &key);
		r = store_put(builder->store, key.data, key.len, s->bytes, &space);
		if (r < 0)
			return r;
		memcpy(space, s->data, s->bytes);
	}
	format_key_super(&key);
	r = store_put(builder->store, key.data, key.len, FORMAT_SUPER_BYTES, &space);
	if (r < 0)
		return r;
	memset(space, 0, FORMAT_SUPER_BYTES);
	return store_commit(builder->store);
}

static void describe(const struct index *index, const struct walker_info *info,
		     struct format_super *super)
{
	super->version = FORMAT_VERSION;
	super->lmdb = index_lmdb_state(info);
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		const struct index_section *s = &index->sections[i];
		struct format_section_ref *ref = &super->sections[i];

		ref->bytes = s->bytes;
		ref->count = s->count;
		ref->width = s->width;
		ref->sum = XXH3_64bits(s->data, s->bytes);
	}
}

static int write_section(const struct builder *builder, const struct index *index,
			 const struct format_super *super, enum format_section section)
{
	return io_pwrite_full(builder->fd, index->sections[section].data,
			      index->sections[section].bytes, super->sections[section].offset);
}

static int write_offsets(struct builder *builder, struct index *index, struct format_super *super,
			 struct err *err)
{
	uint8_t data[FORMAT_SUPER_BYTES];
	struct walker *walker = NULL;
	uint64_t super_offset = 0;
	int r = walker_new(builder->fd, &walker, err);

	if (r == 0)
		r = index_locate(index, walker, super, &super_offset, err);
	if (r == 0) {
		describe(index, walker_info(walker), super);
		format_super_encode(super, data);
		r = write_section(builder, index, super, SECTION_START);
	}
	walker_free(walker);
	if (r == 0)
		r = write_section(builder, index, super, SECTION_PARTS);
	return r < 0 ? r : io_pwrite_full(builder->fd, data, sizeof(data), super_offset);
}

/* The rename itself must reach the disk too; a directory that cannot be synced is no failure. */
static void sync_directory(const char *path)
{
	SCOPE_FREE char *copy = strdup(path);
	SCOPE_CLOSE int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0)
		fsync(fd);
}

static int take_name(struct builder *builder, struct err *err)
{
	unsigned flags = builder->replace ? 0 : RENAME_NOREPLACE;
	int r = renameat2(AT_FDCWD, builder->partial, AT_FDCWD, builder->path, flags);

	/* Not every filesystem knows the flag. */
	if (r < 0 && errno == EINVAL && flags && access(builder->path, F_OK) < 0)
		r = rename(builder->partial, builder->path);
	if (r < 0)
		return errno == EEXIST ? err_set(err, -EEXIST, "exists") : -errno;
	builder->finished = true;
	sync_directory(builder->path);
	return 0;
}

static int finish_file(struct builder *builder, struct err *err)
{
	if (fchmod(builder->fd, 0444) < 0 || fsync(builder->fd) < 0)
		return -errno;
	return take_name(builder, err);
}

static void summarise(const struct builder *builder, const struct format_super *super,
		      struct builder_summary *ret)
{
	struct stat st = {0};

	fstat(builder->fd, &st);
	*ret = (struct builder_summary){.files = super->files,
					.directories = super->directories,
					.symlinks = super->symlinks,
					.hardlinks = super->hardlinks,
					.bytes = super->bytes,
					.pack_bytes = (uint64_t)st.st_size};
	for (size_t i = 0; i < sizeof(super->id); i++)
		snprintf(ret->id + 2 * i, 3, "%02x", super->id[i]);
}

int builder_finish(struct builder *builder, struct builder_summary *ret, struct err *err)
{
	SCOPE(index_release) struct index index = {0};
	struct format_super super = {0};
	int r = builder_make_index(builder, &index, &super, err);

	if (r == 0)
		r = put_links(builder);
	if (r == 0)
		r = put_sections(builder, &index);
	store_free(builder->store);
	builder->store = NULL;
	if (r == 0)
		r = write_offsets(builder, &index, &super, err);
	if (r == 0)
		r = finish_file(builder, err);
	if (r == 0)
		summarise(builder, &super, ret);
	return r;
}
