#include "pack/tool/import/import_tar.h"

#include "base/bits.h"
#include "base/scope.h"
#include "pack/tool/import/entry_table.h"
#include "pack/tool/import/tar_set.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct import_tar {
	struct import import; /* first */
	struct import_tar_params params;
	struct tar_set *set;
	struct entry_table by_path; /* not the root */
	struct buf lacking; /* a byte an entry: the filter left something out of this directory */
	struct item *large; /* being read */
};

/* What take_entry() did: found a file that is to be stored, or dealt with anything else. */
enum { TAKEN_FILE, TAKEN };

static struct import_tar *tar_of(struct import *import)
{
	return (struct import_tar *)(void *)import;
}

static int bad_input(struct import_tar *tar, const char *path, const char *reason)
{
	const struct import_watch *watch = tar->params.watch;
	int r = watch->bad(watch->context, path, reason);

	return r < 0 ? r : TAKEN;
}

/* Reports that the tar itself cannot be read any further. */
static int broken_tar(struct import_tar *tar, int error, const struct err *err)
{
	const struct import_watch *watch = tar->params.watch;

	if (error == -EINTR || error == -ENOMEM)
		return error;
	return watch->broken(watch->context, error, err);
}

/* --- paths ------------------------------------------------------------------------------ */

/* 0, -ENOENT or -ENOMEM. */
static int find_path(struct import_tar *tar, const char *path, size_t len, uint32_t *ret)
{
	if (len == 0) {
		*ret = BUILDER_ROOT;
		return 0;
	}
	return entry_table_find_path(&tar->by_path, tar->params.builder, path, len, ret);
}

static int note_path(struct import_tar *tar, const char *path, uint32_t id)
{
	int r = buf_reserve(&tar->lacking, id + 1 - tar->lacking.len);

	if (r < 0)
		return r;
	memset(tar->lacking.data + tar->lacking.len, 0, id + 1 - tar->lacking.len);
	tar->lacking.len = id + 1;
	tar->import.entries = id + 1;
	return entry_table_add(&tar->by_path, entry_table_hash(path, strlen(path)), id);
}

static size_t parent_len(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);

	return slash ? (size_t)(slash - path) : 0;
}

/* --- entries ---------------------------------------------------------------------------- */

static int add_entry(struct import_tar *tar, const struct tar_entry *entry,
		     struct builder_entry *to, uint32_t *ret_id, struct err *err)
{
	size_t above = parent_len(entry->path, strlen(entry->path));
	uint32_t id;
	int r;

	to->name = entry->path + above + (above > 0);
	to->name_len = strlen(to->name);
	to->mode = entry->mode;
	to->mtime = entry->mtime;
	r = builder_add(tar->params.builder, to, &id, err);
	if (r == 0)
		r = note_path(tar, entry->path, id);
	if (r == 0)
		*ret_id = id;
	return r;
}

/* Makes the folders on the path of an entry that had no member of their own; *ret is the innermost.
 * 0; TAKEN if one of them is not wanted, or is not a folder; or a failure. */
static int make_folders(struct import_tar *tar, const struct tar_entry *entry, uint32_t *ret,
			struct err *err)
{
	struct builder *builder = tar->params.builder;
	SCOPE_FREE char *path = strdup(entry->path);
	const struct tar_entry folder = {.path = path, .mode = 0755, .mtime = entry->mtime};
	uint32_t id = BUILDER_ROOT;
	int r = path ? 0 : -ENOMEM;

	for (char *slash = path; r == 0 && (slash = strchr(slash, '/')); *slash++ = '/') {
		struct builder_entry to = {.kind = FORMAT_DIRECTORY, .parent = id};

		*slash = '\0';
		r = find_path(tar, path, (size_t)(slash - path), &id);
		if (r == 0 && builder_kind(builder, id) != FORMAT_DIRECTORY)
			return entry->implied
				       ? TAKEN
				       : bad_input(tar, entry->path,
						   "lies below something that is not a folder");
		if (r == -ENOENT && !filter_wants(tar->params.filter, path, true)) {
			tar->lacking.data[id] = 1;
			return TAKEN;
		}
		if (r == -ENOENT)
			r = add_entry(tar, &folder, &to, &id, err);
	}
	if (r == 0)
		*ret = id;
	return r;
}

/* Whether an entry goes into the pack, and into which folder. 0; TAKEN if not; or a failure. */
static int find_place(struct import_tar *tar, const struct tar_entry *entry, uint32_t *ret_folder,
		      struct err *err)
{
	int r = make_folders(tar, entry, ret_folder, err);

	if (r != 0 || filter_wants(tar->params.filter, entry->path, entry->kind == TAR_DIRECTORY))
		return r;
	tar->lacking.data[*ret_folder] = 1;
	return TAKEN;
}

/* Takes an entry for a path that has one already. */
static int take_again(struct import_tar *tar, const struct tar_entry *entry, uint32_t id)
{
	struct builder *builder = tar->params.builder;

	if (entry->implied)
		return TAKEN;
	if (entry->kind != TAR_DIRECTORY || builder_kind(builder, id) != FORMAT_DIRECTORY)
		return bad_input(tar, entry->path, "comes more than once in the tar");
	builder_attr(builder, id, entry->mode, entry->mtime);
	return TAKEN;
}

/* The file or symbolic link that a hard link names, if that has come. */
static int find_linked(struct import_tar *tar, const char *target, uint32_t *ret)
{
	const struct builder *builder = tar->params.builder;
	uint32_t id;
	int r = find_path(tar, target, strlen(target), &id);

	if (r < 0)
		return r;
	*ret = builder_file(builder, id);
	return builder_kind(builder, *ret) == FORMAT_DIRECTORY ? -ENOENT : 0;
}

/* Deals with a hard link whose file has not come, or is not wanted. */
static int lack_file(struct import_tar *tar, const struct tar_entry *entry)
{
	const struct import_watch *watch = tar->params.watch;

	if (filter_wants_file(tar->params.filter, entry->target))
		return bad_input(tar, entry->path,
				 "a hard link to a file that did not come before it");
	watch->left_out(watch->context, entry->path,
			"a hard link to a file that --exclude or --include leaves out");
	return TAKEN;
}

/* A second name of a symbolic link is another one with its target. */
static int add_link(struct import_tar *tar, const struct tar_entry *entry, struct builder_entry *to,
		    uint32_t *ret_id, struct err *err)
{
	SCOPE_FREE char *target = NULL; /* builder_add() may move the other one */
	struct builder_entry other;
	int r = find_linked(tar, entry->target, &to->link_to);

	if (r == -ENOENT)
		return lack_file(tar, entry);
	if (r < 0)
		return r;
	other = builder_entry(tar->params.builder, to->link_to);
	if (other.kind == FORMAT_SYMLINK) {
		target = strndup(other.target, other.target_len);
		if (!target)
			return -ENOMEM;
		to->kind = FORMAT_SYMLINK;
		to->target = target;
		to->target_len = other.target_len;
	}
	r = add_entry(tar, entry, to, ret_id, err);
	return r < 0 ? r : TAKEN;
}

/* Takes an entry for a path that has none yet, in `folder`. */
static int take_new(struct import_tar *tar, const struct tar_entry *entry, uint32_t folder,
		    uint32_t *ret_id, struct err *err)
{
	struct builder_entry to = {.parent = folder};
	int r;

	switch (entry->kind) {
	case TAR_FILE:
		if (entry->holes > IMPORT_TAR_HOLES)
			return bad_input(tar, entry->path,
					 "a sparse file with over 16 GiB of holes");
		to.kind = FORMAT_FILE;
		return add_entry(tar, entry, &to, ret_id, err);
	case TAR_HARDLINK:
		to.kind = FORMAT_HARDLINK;
		return add_link(tar, entry, &to, ret_id, err);
	case TAR_SYMLINK:
		to.kind = FORMAT_SYMLINK;
		to.target = entry->target;
		to.target_len = strlen(entry->target);
		break;
	default:
		to.kind = FORMAT_DIRECTORY;
	}
	r = add_entry(tar, entry, &to, ret_id, err);
	return r < 0 ? r : TAKEN;
}

static int take_special(struct import_tar *tar, const struct tar_entry *entry)
{
	const struct import_watch *watch = tar->params.watch;

	if (filter_wants(tar->params.filter, entry->path, false))
		watch->special(watch->context, entry->path, entry->target);
	return TAKEN;
}

/* A path without its first `count` components; NULL where nothing is left. */
static const char *strip_path(const char *path, unsigned count)
{
	for (; count > 0; count--) {
		path = strchr(path, '/');
		if (!path)
			return NULL;
		path++;
	}
	return path;
}

/* Cuts off leading components. Returns whether anything is left of the paths of the entry. */
static bool strip_entry(struct import_tar *tar, struct tar_entry *entry)
{
	const struct import_watch *watch = tar->params.watch;
	unsigned count = tar->params.strip;
	const char *path, *target = entry->target;

	if (count == 0 || entry->kind == TAR_UNFIT)
		return true;
	path = strip_path(entry->path, count);
	if (path && entry->kind == TAR_HARDLINK)
		target = strip_path(entry->target, count);
	if (path && target) {
		entry->path = path;
		entry->target = target;
	} else if (entry->kind != TAR_DIRECTORY) {
		watch->left_out(watch->context, entry->path,
				"--strip-components leaves nothing of its path");
	}
	return path && target;
}

/* Takes an entry into the pack: TAKEN_FILE, TAKEN or a failure. */
static int take_entry(struct import_tar *tar, const struct tar_entry *entry, uint32_t *ret_id,
		      struct err *err)
{
	uint32_t folder = BUILDER_ROOT, id;
	int r;

	if (entry->kind == TAR_SPECIAL)
		return take_special(tar, entry);
	if (entry->kind == TAR_UNFIT)
		return bad_input(tar, entry->path, entry->target);
	if (!*entry->path)
		return take_again(tar, entry, BUILDER_ROOT);
	r = find_place(tar, entry, &folder, err);
	if (r != 0)
		return r;
	r = find_path(tar, entry->path, strlen(entry->path), &id);
	if (r == -ENOENT)
		return take_new(tar, entry, folder, ret_id, err);
	return r < 0 ? r : take_again(tar, entry, id);
}

/* --- the next file ---------------------------------------------------------------------- */

/* Reads the bytes of a file, which is possible only now. */
static int read_file(struct import_tar *tar, struct item *item)
{
	struct err err = {0};
	int r;

	if (item_is_large(item))
		return 0;
	r = buf_reserve(&item->bytes, item->size);
	if (r < 0)
		return r;
	r = tar_set_read(tar->set, item->bytes.data, item->size, &err);
	if (r < 0)
		return broken_tar(tar, r, &err);
	item->bytes.len = item->size;
	return 0;
}

static int tar_import_next(struct import *import, struct item *item, struct err *err)
{
	struct import_tar *tar = tar_of(import);
	struct tar_entry entry;
	struct err tar_err = {0};
	int r = TAKEN;

	while (r == TAKEN) {
		r = tar_set_next(tar->set, &entry, &tar_err);
		if (r < 0)
			return broken_tar(tar, r, &tar_err);
		if (r == 1)
			return 1;
		r = strip_entry(tar, &entry) ? take_entry(tar, &entry, &item->id, err) : TAKEN;
	}
	if (r < 0)
		return r;
	if (buf_adds(&item->path, entry.path) < 0)
		return -ENOMEM;
	import->position = tar_set_position(tar->set);
	item->size = entry.size;
	item->fingerprint = import_fingerprint(&item->path, entry.size, entry.mtime, entry.mode);
	return read_file(tar, item);
}

/* --- its bytes -------------------------------------------------------------------------- */

static int read_large(void *context, void *buf, size_t len)
{
	struct import_tar *tar = context;
	struct err err = {0};
	int r = tar_set_read(tar->set, buf, len, &err);

	if (r == -EINTR || r == -ENOMEM)
		tar->large->error = r;
	return r < 0 ? broken_tar(tar, r, &err) : 0;
}

static int tar_import_open(struct import *import, struct item *item, struct builder_source *ret)
{
	struct import_tar *tar = tar_of(import);

	tar->large = item;
	*ret = (struct builder_source){.read = read_large, .context = tar, .size = item->size};
	return 0;
}

static void tar_import_close(struct import *import, struct item *item)
{
	(void)item;
	tar_of(import)->large = NULL;
}

/* --- the end ---------------------------------------------------------------------------- */

/* Drops the folders in which nothing is wanted, as a scan does. A folder has a smaller number than
 * what is in it. */
static int drop_folders(struct import_tar *tar)
{
	struct builder *builder = tar->params.builder;
	SCOPE_FREE uint8_t *filled = calloc(1, tar->lacking.len / 8 + 1);
	int r = filled ? 0 : -ENOMEM;

	for (uint32_t id = (uint32_t)tar->lacking.len; r == 0 && id-- > 1;) {
		uint32_t folder = builder_parent(builder, id);
		bool empty = builder_kind(builder, id) == FORMAT_DIRECTORY && !bit_get(filled, id);

		if (empty && tar->lacking.data[id]) {
			r = builder_drop(builder, id);
			tar->lacking.data[folder] = 1;
		} else if (!builder_is_dropped(builder, id)) {
			bit_set(filled, folder);
		}
	}
	return r;
}

static int tar_import_finish(struct import *import)
{
	struct import_tar *tar = tar_of(import);

	return filter_wants_all(tar->params.filter) ? 0 : drop_folders(tar);
}

/* --- life ------------------------------------------------------------------------------- */

static void tar_import_free(struct import *import)
{
	struct import_tar *tar = tar_of(import);

	tar_set_free(tar->set);
	entry_table_release(&tar->by_path);
	buf_release(&tar->lacking);
	free(tar);
}

static const struct import_ops tar_ops = {
	.next = tar_import_next,
	.open = tar_import_open,
	.close = tar_import_close,
	.finish = tar_import_finish,
	.free = tar_import_free,
};

/* 0: not known, of a pipe. */
static uint64_t length_of(int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	if (at < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < at)
		return 0;
	return (uint64_t)(st.st_size - at);
}

int import_tar_new(const struct import_tar_params *params, struct import **ret)
{
	struct import_tar *tar = calloc(1, sizeof(*tar));
	struct err err = {0};
	int r;

	if (!tar)
		return -ENOMEM;
	tar->import.ops = &tar_ops;
	tar->import.length = params->from.names ? 0 : length_of(params->from.fd);
	tar->params = *params;
	/* Of the root. */
	r = buf_add(&tar->lacking, "", 1);
	if (r == 0) {
		r = tar_set_new(&params->from, &tar->set, &err);
		if (r < 0)
			r = broken_tar(tar, r, &err);
	}
	if (r < 0) {
		tar_import_free(&tar->import);
		return r;
	}
	*ret = &tar->import;
	return 0;
}
