#include "pack/tool/create/leftovers.h"

#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/text.h"
#include "pack/image_kind.h"
#include "pack/tool/import/entry_table.h"
#include <string.h>

/* --- symbolic links ------------------------------------------------------------------------
 *
 * A link is kept as its text, and only the text counts here. A link with an absolute target, or
 * with more `..` than there are folders above it, leads out of the pack. Following it in a mount
 * reads the loose file, or nothing on another machine. */

#define LINKS_NAMED 10

struct link {
	struct buf path, target, to; /* `to`: the path that the target means */
};

static void link_release(struct link *link)
{
	buf_release(&link->path);
	buf_release(&link->target);
	buf_release(&link->to);
}

/* Without its last component. */
static void go_up(struct buf *path)
{
	const char *slash = memrchr(path->data, '/', path->len);

	path->len = slash ? (size_t)(slash - path->data) : 0;
}

/* 0, -EXDEV (it leads out of the pack) or -ENOMEM. */
static int resolve_link(struct link *link)
{
	const char *target = link->target.data;
	struct buf *to = &link->to;
	size_t len;

	to->len = 0;
	if (*target == '/')
		return -EXDEV;
	if (buf_adds(to, link->path.data) < 0)
		return -ENOMEM;
	go_up(to);
	for (; *target; target += len) {
		target += strspn(target, "/");
		len = strcspn(target, "/");
		if (len == 0 || (len == 1 && *target == '.'))
			continue;
		if (len != 2 || memcmp(target, "..", 2) != 0)
			buf_addf(to, "%s%.*s", to->len ? "/" : "", (int)len, target);
		else if (to->len == 0)
			return buf_error(to) < 0 ? -ENOMEM : -EXDEV;
		else
			go_up(to);
	}
	return buf_adds(to, "");
}

enum { LINK_STAYS, LINK_LEAVES, LINK_DANGLES };

/* Whether an entry is a link that is kept, and leads out of the pack, or to one of those that were
 * dropped. Or -ENOMEM. */
static int look_at_link(const struct builder *builder, uint32_t id,
			const struct number_table *dropped, struct link *link)
{
	struct pack_entry entry;
	uint32_t file;
	int r;

	if (builder_kind(builder, id) != FORMAT_SYMLINK || builder_is_dropped(builder, id))
		return LINK_STAYS;
	entry = builder_entry(builder, id);
	link->target.len = 0;
	r = buf_addf(&link->target, "%.*s", (int)entry.target_len, entry.target);
	if (r == 0)
		r = builder_path(builder, id, &link->path);
	if (r == 0)
		r = resolve_link(link);
	if (r == 0)
		r = entry_table_find_path(dropped, builder, link->to.data, link->to.len, &file);
	if (r == -ENOENT)
		return LINK_STAYS;
	return r == -EXDEV ? LINK_LEAVES : r < 0 ? r : LINK_DANGLES;
}

int leftovers_name_links(const struct leftovers *left)
{
	SCOPE(link_release) struct link link = {0};
	SCOPE(buf_release) struct buf first = BUF_INIT; /* and where it leads */
	const struct number_table dropped = {0};
	const char *source = left->report->source;
	size_t len = strlen(source);
	char count[SIZE_TEXT];
	uint64_t leaving = 0;
	int r = 0;

	for (uint32_t id = 1; r >= 0 && id < builder_entries(left->builder); id++) {
		r = look_at_link(left->builder, id, &dropped, &link);
		if (r == LINK_LEAVES && leaving++ == 0)
			r = buf_addf(&first, "%s -> %s", link.path.data, link.target.data);
	}
	if (r >= 0 && leaving > 0)
		report_log(left->report, log_notice, "",
			   "%s %s out of it, such as %s%s%s: a job that opens one reads the loose "
			   "file, or nothing on another machine%s",
			   count_noun(leaving, "symbolic link", count),
			   leaving == 1 ? "leads" : "lead", source,
			   len && source[len - 1] == '/' ? "" : "/", first.data,
			   left->archive ? "" : "; --dereference packs what links lead to");
	return r < 0 ? r : 0;
}

static int name_dangling(const struct leftovers *left)
{
	SCOPE(number_table_release) struct number_table dropped = {0};
	SCOPE(link_release) struct link link = {0};
	uint64_t dangling = 0;
	char count[SIZE_TEXT];
	int r = 0;

	if (left->report->counts.skipped == 0)
		return 0;
	for (uint32_t id = 1; r == 0 && id < builder_entries(left->builder); id++)
		if (builder_is_dropped(left->builder, id))
			r = entry_table_add_path(&dropped, left->builder, id);
	for (uint32_t id = 1; r >= 0 && id < builder_entries(left->builder); id++) {
		r = look_at_link(left->builder, id, &dropped, &link);
		if (r == LINK_DANGLES && dangling++ < LINKS_NAMED)
			report_log(left->report, log_notice, link.path.data,
				   "a link to %s, which was left out", link.to.data);
	}
	if (dangling > LINKS_NAMED)
		log_notice("%s: %s links to what was left out in all", left->report->source,
			   count_format(dangling, count));
	return r < 0 ? r : 0;
}

/* --- classes ------------------------------------------------------------------------------- */

/* Where the only entry of the root is a folder with folders in it. An entry comes after the folder
 * that it is in. */
static int name_one_folder(const struct leftovers *left)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	const struct builder *builder = left->builder;
	bool has_folders = false;
	uint32_t found = 0;
	int r;

	for (uint32_t id = 1; id < builder_entries(left->builder); id++) {
		uint32_t parent = builder_parent(builder, id);
		bool folder = builder_kind(builder, id) == FORMAT_DIRECTORY;

		has_folders |= found && parent == found && folder;
		if (parent != PACK_ROOT || builder_is_dropped(builder, id))
			continue;
		if (found || !folder)
			return 0;
		found = id;
	}
	if (!has_folders)
		return 0;
	r = builder_path(builder, found, &path);
	if (r == 0)
		report_log(
			left->report, log_notice, "",
			"all of it is in one folder, '%s', which loaders take for the only class; "
			"--strip-components=1 packs what is in that",
			path.data);
	return r;
}

/* --- classes without files ---------------------------------------------------------------- */

#define EMPTY_NAMED 10

struct empty {
	const struct leftovers *left;
	uint64_t count;
};

/* Other packs of a set may have files of the same folder. */
static int on_empty(void *context, uint32_t id, bool dropped)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct empty *empty = context;
	const struct create_options *options = empty->left->report->options;
	int r = builder_path(empty->left->builder, id, &path);

	if (r == 0 && empty->count++ < EMPTY_NAMED)
		report_log(empty->left->report, log_notice, path.data,
			   "no file in it%s; ImageFolder refuses a class without images",
			   dropped && create_is_cut(options) ? ", in this pack" : "");
	return r;
}

/* --- what nobody means to pack ------------------------------------------------------------
 *
 * As a class or an image (foreign_text_is_junk()); or at all, as it is what foldfs keeps beside
 * containers and unfinished packs; or as one file, as it has the images in it. */

struct seen {
	uint64_t count;
	uint32_t first; /* if there is any */
};

static void see(struct seen *seen, uint32_t id, bool is_one)
{
	if (is_one && seen->count++ == 0)
		seen->first = id;
}

static bool is_container(struct foreign_text name)
{
	static const char *const ends[] = {".tar",	 ".tar.gz",  ".tgz",	  ".tar.zst",
					   ".tar.xz",	 ".tar.bz2", ".zip",	  ".lmdb",
					   ".mdb",	 ".parquet", ".tfrecord", ".rec",
					   ".tfrecords", ".beton",   ".arrow",	  ".feather"};
	bool found = false;

	for (size_t i = 0; !found && i < sizeof(ends) / sizeof(*ends); i++)
		found = foreign_text_ends(name, ends[i]);
	return found;
}

/* Of files of a kind: how the first was packed, how many there are, and the way out. */
static int say_kind(const struct leftovers *left, const struct seen *seen, const char *how,
		    const char *noun, const char *way_out)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char files[SIZE_TEXT];
	int r = builder_path(left->builder, seen->first, &path);

	if (r == 0)
		report_log(left->report, log_notice, path.data, "packed%s (%s of that kind); %s",
			   how, count_noun(seen->count, noun, files), way_out);
	return r;
}

static int say_junk(const struct leftovers *left, const struct seen *junk, uint64_t folders)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char name[FORMAT_NAME_MAX + 1], some[SIZE_TEXT], files[SIZE_TEXT];
	int r = builder_path(left->builder, junk->first, &path);

	builder_name(left->builder, junk->first, name);
	if (r == 0)
		report_log(left->report, log_notice, path.data,
			   "packed, though loaders take it for a class or image (%s and %s of "
			   "that kind); '--exclude=%s' leaves it out",
			   count_noun(folders, "folder", some),
			   count_noun(junk->count - folders, "file", files), name);
	return r;
}

/* They are packed: what is in the source is in the pack, and --exclude leaves it out. */
static int name_junk(const struct leftovers *left)
{
	const struct builder *builder = left->builder;
	struct seen junk = {0}, ours = {0}, containers = {0}, files = {0};
	uint64_t folders = 0, images = left->report->counts.images;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char name[FORMAT_NAME_MAX + 1], count[SIZE_TEXT];
	int r;

	for (uint32_t id = 1; id < builder_entries(left->builder); id++) {
		bool folder = builder_kind(builder, id) == FORMAT_DIRECTORY, is_junk;
		bool file = format_is_file(builder_kind(builder, id));
		struct foreign_text text;

		if (builder_is_dropped(builder, id))
			continue;
		builder_name(builder, id, name);
		text = (struct foreign_text){name, strlen(name)};
		is_junk = foreign_text_is_junk(text, folder);
		folders += folder && is_junk;
		see(&junk, id, is_junk);
		see(&ours, id,
		    !folder && (foreign_text_ends(text, ".partial.journal") ||
				(foreign_text_ends(text, ".foldfs-index") && *name == '.')));
		see(&containers, id, file && is_container(text));
		see(&files, id, file);
		images += file && image_is_named(name, text.len);
	}
	r = junk.count ? say_junk(left, &junk, folders) : 0;
	if (r == 0 && containers.count &&
	    (containers.count > files.count - containers.count || !images)) {
		r = say_kind(left, &containers, " as the file that it is", "container",
			     "as SOURCE, such a file, or several by a pattern, is packed as the "
			     "images in it");
	} else if (r == 0 && files.count && !images) {
		r = builder_path(builder, files.first, &path);
		if (r == 0)
			report_log(left->report, log_notice, "",
				   "no image in it (%s, such as '%s')",
				   count_noun(files.count, "file", count), path.data);
	}
	if (r == 0 && ours.count)
		r = say_kind(
			left, &ours,
			", though foldfs keeps it beside a container or an unfinished pack", "file",
			"'--exclude=*.foldfs-index' and '--exclude=*.partial*' leave them out");
	return r;
}

int leftovers_name(const struct leftovers *left)
{
	struct empty empty = {.left = left};
	char count[SIZE_TEXT];
	int r = name_dangling(left);

	report_log_named(left->report);
	if (r == 0)
		r = builder_find_empty(left->builder, on_empty, &empty);
	if (empty.count > EMPTY_NAMED)
		log_notice("%s: %s folders without a file in all", left->report->source,
			   count_format(empty.count, count));
	if (r == 0)
		r = name_junk(left);
	if (r == 0 && left->archive)
		r = leftovers_name_links(left);
	return r == 0 && left->archive ? name_one_folder(left) : r;
}
