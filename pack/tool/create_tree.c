#include "pack/tool/create.h"

#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/tool/interrupt.h"
#include "pack/tool/source.h"
#include "pack/tool/target.h"
#include <stdio.h>
#include <string.h>

#define NOT_PACKED UINT32_MAX

/* --- failures ------------------------------------------------------------------------- */

static int fail_pack(struct create *create, int error, const struct err *err)
{
	progress_clear(&create->progress);
	log_error("%s: %s%s", create->pack, err_text(err, error),
		  error == -EEXIST && target_replaceable(create->pack) ? "; --force replaces it"
								       : "");
	return CREATE_TOLD;
}

/* Once the partial file is gone, what is free is what the user has to work with. */
static int fail_full(struct create *create)
{
	uint64_t need = target_estimate(scan_bytes(create->scan), scan_entries(create->scan));
	char free_text[SIZE_TEXT], need_text[SIZE_TEXT];

	progress_clear(&create->progress);
	builder_free(create->builder);
	create->builder = NULL;
	log_error("%s: the disk is full: %s free, about %s needed; choose another place for PACK",
		  create->pack, size_format(target_free(create->pack), free_text),
		  size_format(need, need_text));
	return CREATE_TOLD;
}

int create_fail(struct create *create, int error, const struct err *err)
{
	return error == -ENOSPC && create->scan ? fail_full(create) : fail_pack(create, error, err);
}

/* "SOURCE/path", or SOURCE for the root itself. */
static const char *shown_path(const struct create *create, const char *path, struct buf *shown)
{
	size_t len = strlen(create->source);
	bool slash = *path && len > 0 && create->source[len - 1] != '/';

	if (buf_addf(shown, "%s%s%s", create->source, slash ? "/" : "", path) < 0)
		return path;
	return shown->data;
}

/* An input that cannot be packed. Returns 0 to go on without it. */
static int bad_input(struct create *create, const char *path, const char *reason)
{
	SCOPE(buf_release) struct buf shown = BUF_INIT;

	progress_clear(&create->progress);
	path = shown_path(create, path, &shown);
	if (!create->skip_bad) {
		log_error("%s: %s; --on-bad=skip leaves such files out", path, reason);
		return CREATE_TOLD;
	}
	log_notice("%s: %s; left out", path, reason);
	create->skipped++;
	return 0;
}

static int bad_entry(struct create *create, uint32_t entry, const char *reason)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	int r = scan_path(create->scan, entry, &path);

	return r < 0 ? r : bad_input(create, path.data, reason);
}

/* --- scanning ------------------------------------------------------------------------- */

static int on_unreadable(void *context, const char *path, int error)
{
	return bad_input(context, path, strerror(-error));
}

static void on_special(void *context, const char *path, const char *what)
{
	SCOPE(buf_release) struct buf shown = BUF_INIT;
	struct create *create = context;

	progress_clear(&create->progress);
	log_notice("%s: %s, which no pack can hold; left out", shown_path(create, path, &shown),
		   what);
	create->skipped++;
}

static int on_tick(void *context, uint64_t entries)
{
	struct create *create = context;

	progress_add(&create->progress, entries - create->progress.files, 0);
	return interrupt_pending() ? -EINTR : 0;
}

int create_scan(struct create *create)
{
	const struct scan_watch watch = {.unreadable = on_unreadable,
					 .special = on_special,
					 .tick = on_tick,
					 .context = create};
	int r;

	progress_begin(&create->progress, "looking", create->want);
	r = scan_new(create->root, &watch, &create->scan);
	if (r < 0)
		return r;
	log_detail("%s: %u entries, %lu bytes, found in %.2f s", create->source,
		   scan_entries(create->scan), scan_bytes(create->scan),
		   progress_end(&create->progress));
	return 0;
}

/* Better said before an hour of packing than after it; but filesystems that compress may
 * prove it wrong, so that it is only said. */
static void warn_of_space(struct create *create)
{
	uint64_t need = target_estimate(scan_bytes(create->scan), scan_entries(create->scan));
	uint64_t available = target_free(create->pack);
	char free_text[SIZE_TEXT], need_text[SIZE_TEXT];

	if (available && available < need)
		log_notice("%s: about %s needed, only %s free", create->pack,
			   size_format(need, need_text), size_format(available, free_text));
}

/* --- storing -------------------------------------------------------------------------- */

static int add(struct create *create, uint32_t entry, enum format_kind kind)
{
	const struct scan_entry *from = scan_entry(create->scan, entry);
	struct builder_entry to = {
		.kind = kind,
		.parent = create->ids[from->parent],
		.name = scan_name(create->scan, entry),
		.name_len = from->name_len,
		.mode = from->mode,
		.mtime = from->mtime,
	};
	struct err err = {0};
	int r;

	if (kind == FORMAT_SYMLINK) {
		to.target = scan_target(create->scan, entry);
		to.target_len = from->size;
	} else if (kind == FORMAT_HARDLINK) {
		to.link_to = create->ids[from->target];
	}
	r = builder_add(create->builder, &to, &create->ids[entry], &err);
	return r < 0 ? create_fail(create, r, &err) : 0;
}

/* Stores the bytes of a file that has been added. A source's own error is left in it. */
static int store(struct create *create, uint32_t entry, struct source *source)
{
	const struct builder_source from = {
		.read = source_read, .context = source, .size = source->expected->size};
	struct err err = {0};
	int r = 0;

	/* The builder asks for no bytes where there are none; the look at the file stays due. */
	if (from.size == 0)
		r = source_read(source, NULL, 0);
	if (r == 0)
		r = builder_store(create->builder, create->ids[entry], &from, &err);
	if (source->error)
		return source->error;
	if (r < 0)
		return create_fail(create, r, &err);
	if (source->image.kind != IMAGE_UNKNOWN)
		builder_image(create->builder, create->ids[entry], &source->image);
	return 0;
}

static int read_and_store(struct create *create, uint32_t entry, struct source *source)
{
	int directory, r;

	r = dirstack_enter(create->directories, source->expected->parent, &directory);
	if (r < 0) {
		source->error = r;
		return r;
	}
	r = source_open(source, directory, scan_name(create->scan, entry), source->expected);
	if (r < 0)
		return r;
	r = store(create, entry, source);
	source_close(source);
	return r;
}

/* `data` is the scanned entry with the file's size and time: itself, or for a hard link the
 * first name. */
static int pack_file(struct create *create, uint32_t entry, uint32_t data)
{
	struct scan_entry expected = *scan_entry(create->scan, data);
	struct source source = {.expected = &expected};
	int r = add(create, entry, FORMAT_FILE);

	if (r < 0)
		return r;
	expected.parent = scan_entry(create->scan, entry)->parent;
	r = read_and_store(create, entry, &source);
	if (source.error == -EINTR && interrupt_pending())
		return -EINTR;
	if (source.error) {
		builder_drop(create->builder, create->ids[entry]);
		create->ids[entry] = NOT_PACKED;
		return bad_entry(create, entry, source_error_text(source.error));
	}
	if (r == 0)
		progress_add(&create->progress, 1, expected.size);
	return r;
}

/* Where the first name of a file could not be packed, this one takes its place. */
static int pack_hardlink(struct create *create, uint32_t entry)
{
	uint32_t first = (uint32_t)scan_entry(create->scan, entry)->target;
	int r;

	if (create->ids[first] != NOT_PACKED)
		return add(create, entry, FORMAT_HARDLINK);
	r = pack_file(create, entry, first);
	create->ids[first] = create->ids[entry];
	return r;
}

static int pack_entry(struct create *create, uint32_t entry)
{
	switch (scan_entry(create->scan, entry)->kind) {
	case FORMAT_FILE:
		return pack_file(create, entry, entry);
	case FORMAT_HARDLINK:
		return pack_hardlink(create, entry);
	case FORMAT_SYMLINK:
		return add(create, entry, FORMAT_SYMLINK);
	default:
		return add(create, entry, FORMAT_DIRECTORY);
	}
}

static uint32_t parent_of(const void *scan, uint32_t directory)
{
	return scan_entry(scan, directory)->parent;
}

static void name_of(const void *scan, uint32_t directory, char ret[FORMAT_NAME_MAX + 1])
{
	snprintf(ret, FORMAT_NAME_MAX + 1, "%s", scan_name(scan, directory));
}

int create_store(struct create *create)
{
	const struct scan_entry *root = scan_entry(create->scan, SCAN_ROOT);
	const struct dirstack_tree tree = {
		.parent = parent_of, .name = name_of, .context = create->scan};
	int r = dirstack_new(&tree, create->root, &create->directories);

	if (r < 0)
		return r;
	warn_of_space(create);
	create->ids = calloc(scan_entries(create->scan), sizeof(*create->ids));
	if (!create->ids)
		return -ENOMEM;
	progress_begin(&create->progress, "packing", create->want);
	create->progress.files_total = scan_files(create->scan);
	create->progress.bytes_total = scan_bytes(create->scan);
	builder_root(create->builder, root->mode, root->mtime);
	create->ids[SCAN_ROOT] = BUILDER_ROOT;
	for (uint32_t entry = 1; r == 0 && entry < scan_entries(create->scan); entry++)
		r = interrupt_pending() ? -EINTR : pack_entry(create, entry);
	return r;
}
