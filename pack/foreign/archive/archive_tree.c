#include "pack/foreign/archive/archive_tree.h"
#include "base/scope.h"
#include "pack/foreign/settings.h"
#include "pack/format.h"
#include <inttypes.h>
#include <string.h>

#define FOLLOWED_MOST 40 /* symbolic links on the way to one member, as Linux has it */
#define TICK_EVERY    4096

/* After the kinds of members: other reasons to leave one out, and what is noted. */
enum reason {
	WITH_DOTS = ARCHIVE_KINDS,
	TOO_LONG,
	NO_NAME,
	STRIPPED,
	BELOW_FILE,
	OVER_FOLDER,
	NO_FILE,
	NO_TARGET,
	ALL_HOLES,
	AGAIN,
	PASSED_DOTS,
	DAMAGED,
	JUNK,
	BAD,
	MOVED,
	REASONS
};
_Static_assert(REASONS <= ARCHIVE_REASONS, "a count for each");

static const struct {
	const char *one, *many;
} words[REASONS] = {
	[ARCHIVE_DEVICE] = {"a device", "left out: %" PRIu64 " devices"},
	[ARCHIVE_PIPE] = {"a named pipe", "left out: %" PRIu64 " named pipes"},
	[ARCHIVE_SOCKET] = {"a socket", "left out: %" PRIu64 " sockets"},
	[ARCHIVE_PART] = {"a part of a file in another volume",
			  "left out: %" PRIu64 " parts of files in other volumes"},
	[WITH_DOTS] = {"a path with '..'", "left out: %" PRIu64 " members with '..' in their path"},
	[TOO_LONG] = {"a name over 255 bytes or with a NUL, or a path over 4095",
		      "left out: %" PRIu64 " members with names or paths that no file can have"},
	[NO_NAME] = {"no name", "left out: %" PRIu64 " members without a name"},
	[STRIPPED] = {"--strip-components leaves nothing of its path",
		      "left out: %" PRIu64 " members without so many folders"},
	[BELOW_FILE] = {"lies below something that is not a folder",
			"left out: %" PRIu64 " members below what is not a folder"},
	[OVER_FOLDER] = {"in the place of a folder that has files",
			 "left out: %" PRIu64 " members in the place of folders that have files"},
	[NO_FILE] = {"a hard link to a file that did not come before it",
		     "left out: %" PRIu64 " hard links to files that did not come before"},
	[NO_TARGET] = {"a symbolic link to nothing",
		       "left out: %" PRIu64 " symbolic links to nothing"},
	[ALL_HOLES] = {"a sparse file with over 16 GiB of holes, or in a compressed tar",
		       "left out: %" PRIu64 " sparse files with over 16 GiB of holes"},
	[AGAIN] = {NULL, "paths that come again, of which the last member counts: %" PRIu64},
	[PASSED_DOTS] = {NULL, "paths with '..', which is passed over: %" PRIu64},
	[DAMAGED] = {NULL, "tars in it that are damaged, and stay files: %" PRIu64},
	[BAD] = {NULL,
		 "left out: %" PRIu64 " members that whoever wrote the archive marked as bad"},
	[MOVED] = {NULL,
		   "symbolic links to files that are in the folder of their class, which "
		   "lead to nothing: %" PRIu64},
	[JUNK] = {NULL, "shown, though loaders take them for classes or images: %" PRIu64},
};

static struct foreign_text text_of(const struct buf *buf)
{
	return (struct foreign_text){buf->data, buf->len};
}

static struct path_place *place_at(const struct archive_tree *a, struct foreign_text path)
{
	return path_table_find(&a->places, path);
}

void archive_tree_release(struct archive_tree *a)
{
	path_table_release(&a->places);
	buf_release(&a->path);
	buf_release(&a->target);
	for (unsigned i = 0; i < REASONS; i++)
		free(a->counts[i].example);
	*a = (struct archive_tree){0};
}

/* --- what is told ----------------------------------------------------------------------------- */

static int count_one(struct archive_tree *a, enum reason reason, struct foreign_text example)
{
	struct archive_count *count = &a->counts[reason];

	if (count->count++)
		return 0;
	count->example = strndup(example.len ? example.data : "", example.len);
	return count->example ? 0 : -ENOMEM;
}

/* The closing quote, too. */
static int count_why(struct archive_tree *a, enum reason reason, struct foreign_text folder,
		     struct foreign_text path, struct foreign_text why)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;
	int r = buf_addf(&text, "%.*s%.*s' (%.*s)", (int)folder.len, folder.data, (int)path.len,
			 path.data, (int)why.len, why.data);

	return r < 0 ? r : count_one(a, reason, text_of(&text));
}

static int leave_out(struct archive_tree *a, const struct archive_member *member,
		     enum reason reason)
{
	const struct foreign_watch *watch = a->settings->watch;
	SCOPE_FREE char *path = NULL;
	SCOPE_FREE char *what = NULL;

	if (reason == STRIPPED && member->kind == ARCHIVE_FOLDER)
		return 0;
	if (!watch && reason == BAD)
		return count_why(a, BAD, (struct foreign_text){"", 0}, member->path, member->bad);
	if (!watch)
		return count_one(a, reason, member->path);
	path = strndup(member->path.len ? member->path.data : "", member->path.len);
	what = reason == BAD ? strndup(member->bad.data, member->bad.len)
			     : strdup(words[reason].one);
	return path && what ? watch->left_out(watch->context, path, what,
					      (int)reason < (int)ARCHIVE_KINDS ? FOREIGN_SPECIAL
					      : reason == STRIPPED	       ? FOREIGN_UNWANTED
									       : FOREIGN_BAD)
			    : -ENOMEM;
}

int archive_keep(struct archive_tree *a, const struct buf *folder, struct foreign_text path,
		 const char *why)
{
	return count_why(a, DAMAGED, text_of(folder), path,
			 (struct foreign_text){why, strlen(why)});
}

int archive_broken(const struct foreign_settings *settings, int error, const struct err *err)
{
	struct foreign_watch *watch = settings->watch;

	return error == -EBADMSG && watch ? watch->broken(watch->context, error, err) : error;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* Where a path leads: 0, a reason why it leads nowhere, or a failure. */
struct way {
	struct buf *path; /* so far */
	unsigned followed;
	bool passes_dots; /* over '..' */
	bool passed;
	/* Makes folders that are not there, of this member; NULL: they must be there. */
	const struct archive_member *make;
	struct err *err;
};

/* Takes the next part off; false at the end. */
static bool next_part(struct foreign_text *rest, struct foreign_text *ret)
{
	while (rest->len) {
		const char *slash = memchr(rest->data, '/', rest->len);
		size_t len = slash ? (size_t)(slash - rest->data) : rest->len;

		*ret = (struct foreign_text){rest->data, len};
		rest->data += len + (slash != NULL);
		rest->len -= len + (slash != NULL);
		if (len && !foreign_text_is(*ret, "."))
			return true;
	}
	return false;
}

/* Whether all parts of a path are names, but for '..' that is passed over: 0 or a reason. */
static int check_parts(struct way *way, struct foreign_text text)
{
	struct foreign_text part;

	while (next_part(&text, &part)) {
		if (foreign_text_is(part, "..")) {
			if (!way->passes_dots)
				return WITH_DOTS;
			way->passed = true;
		} else if (!format_name_valid(part.data, part.len)) {
			return TOO_LONG;
		}
	}
	return 0;
}

static int add_part(struct buf *path, struct foreign_text part)
{
	int r = path->len ? buf_add(path, "/", 1) : 0;

	return r < 0 ? r : buf_add(path, part.data, part.len);
}

static struct foreign_text above(const struct buf *path)
{
	const char *slash = path->len ? memrchr(path->data, '/', path->len) : NULL;

	return (struct foreign_text){path->data, slash ? (size_t)(slash - path->data) : 0};
}

static void fill_above(struct archive_tree *a, const struct buf *path)
{
	struct path_place *place = place_at(a, above(path));

	if (place)
		place->filled = true;
}

/* Who watches looks for it himself. */
static int note_junk(struct archive_tree *a, struct foreign_text path, bool folder)
{
	if (a->settings->watch || !foreign_text_is_junk(foreign_text_after(path, '/'), folder))
		return 0;
	return count_one(a, JUNK, path);
}

/* With --names, files lie elsewhere, and these folders would stay empty. */
static int make_folder(struct archive_tree *a, const struct way *way)
{
	const struct foreign_file file = {.record = way->make->number,
					  .path = text_of(way->path),
					  .directory = true,
					  .mtime = way->make->mtime};
	bool rowless = a->settings->names != NULL;
	const struct path_place place = {.row = (uint32_t)foreign_tree_count(a->tree),
					 .kind = PLACE_FOLDER,
					 .rowless = rowless};
	int r = path_table_set(&a->places, file.path, place);

	if (r < 0)
		return r;
	fill_above(a, way->path);
	if (rowless)
		return 0;
	r = foreign_add(a->tree, &file, way->err);
	return r < 0 ? r : note_junk(a, file.path, true);
}

static int go_along(struct archive_tree *a, struct way *way, struct foreign_text rest,
		    unsigned strip);

/* Goes where the symbolic link leads that the path ends with. */
static int follow(struct archive_tree *a, struct way *way, const struct path_place *link);

/* Goes into what the path ends with, which is to be a folder. */
static int go_into(struct archive_tree *a, struct way *way)
{
	const struct path_place *place = place_at(a, text_of(way->path));

	if (!place)
		return way->make ? make_folder(a, way) : NO_FILE;
	if (place->kind == PLACE_SYMLINK)
		return follow(a, way, place);
	return place->kind == PLACE_FOLDER ? 0 : BELOW_FILE;
}

static int follow(struct archive_tree *a, struct way *way, const struct path_place *link)
{
	struct foreign_text target = foreign_tree_target(a->tree, link->row);
	const struct archive_member *make = way->make;
	bool passes_dots = way->passes_dots;
	int r;

	if (way->followed++ == FOLLOWED_MOST || *target.data == '/')
		return BELOW_FILE;
	way->make = NULL;
	way->passes_dots = false;
	way->path->len = above(way->path).len;
	r = go_along(a, way, target, 0);
	if (r == 0 && way->path->len)
		r = go_into(a, way);
	way->make = make;
	way->passes_dots = passes_dots;
	return r > 0 ? BELOW_FILE : r;
}

/* Goes on along a path; what its last part names is not looked at. */
static int go_along(struct archive_tree *a, struct way *way, struct foreign_text rest,
		    unsigned strip)
{
	struct foreign_text part;
	bool first = true;
	int r = check_parts(way, rest);

	while (r == 0 && next_part(&rest, &part)) {
		if (foreign_text_is(part, ".."))
			continue;
		if (strip) {
			strip--;
			continue;
		}
		if (!first)
			r = go_into(a, way);
		first = false;
		if (r == 0)
			r = add_part(way->path, part);
	}
	if (r == 0 && way->path->len > FOREIGN_PATH_MOST)
		r = TOO_LONG;
	return r;
}

/* The path of a member, or of what a hard link names. */
static int find_way(struct archive_tree *a, struct buf *path, struct foreign_text text,
		    const struct archive_member *make, struct err *err)
{
	struct way way = {.path = path, .passes_dots = a->passes_dots, .make = make, .err = err};
	unsigned strip = a->settings->strip;
	int r;

	path->len = 0;
	r = go_along(a, &way, text, strip);
	if (r == 0 && path->len == 0)
		r = strip ? STRIPPED : NO_NAME;
	if (r == 0 && way.passed)
		r = count_one(a, PASSED_DOTS, text);
	return r;
}

/* --- members ---------------------------------------------------------------------------------- */

static struct foreign_file file_of(const struct archive_tree *a,
				   const struct archive_member *member)
{
	return (struct foreign_file){.record = member->number,
				     .path = text_of(&a->path),
				     .offset = member->offset,
				     .size = member->size,
				     .pieces = member->pieces,
				     .piece_count = member->piece_count,
				     .unpacked = member->unpacked,
				     .directory = member->kind == ARCHIVE_FOLDER,
				     .mode = member->mode,
				     .mtime = member->mtime};
}

/* A file with a label lies below the folder of its class. */
static void take_label(struct foreign_file *file, const struct archive_member *member)
{
	if (!member->labelled)
		return;
	file->name = foreign_text_after(file->path, '/');
	file->above = (struct foreign_text){file->path.data, file->path.len - file->name.len};
	file->path = (struct foreign_text){0};
	file->label = member->label;
	file->class = member->class;
	file->class_is_path = true;
}

/* Adds it in the place that is free for it: that of its own path, also if it has a label. */
static int add_file(struct archive_tree *a, const struct foreign_file *file, enum place_kind kind,
		    struct err *err)
{
	const struct path_place place = {.row = (uint32_t)foreign_tree_count(a->tree),
					 .kind = (uint8_t)kind,
					 .labelled = !file->path.data};
	int r = foreign_add(a->tree, file, err);

	if (r == 0)
		r = path_table_set(&a->places, text_of(&a->path), place);
	if (r == 0)
		fill_above(a, &a->path);
	a->labelled |= place.labelled;
	return r < 0 ? r : note_junk(a, text_of(&a->path), kind == PLACE_FOLDER);
}

/* Makes room for a member. 0, a reason, or a failure. */
static int make_room(struct archive_tree *a)
{
	const struct path_place *place = place_at(a, text_of(&a->path));

	if (!place)
		return 0;
	if (place->kind == PLACE_FOLDER && place->filled)
		return OVER_FOLDER;
	if (!place->rowless)
		foreign_tree_drop(a->tree, place->row);
	return place->kind == PLACE_FOLDER ? 0 : count_one(a, AGAIN, text_of(&a->path));
}

/* A second name of a symbolic link is another one with its target. */
static int add_second_name(struct archive_tree *a, const struct archive_member *member,
			   struct err *err)
{
	struct foreign_file file = file_of(a, member);
	const struct path_place *of;
	uint32_t row;
	int r = find_way(a, &a->target, member->target, NULL, err);

	if (r < 0)
		return r;
	of = r == 0 ? place_at(a, text_of(&a->target)) : NULL;
	if (!of || of->kind == PLACE_FOLDER)
		return NO_FILE;
	if (of == place_at(a, text_of(&a->path)))
		return 0;
	row = of->row;
	if (of->kind == PLACE_SYMLINK) {
		SCOPE(buf_release) struct buf target = BUF_INIT;

		file.target = foreign_tree_target(a->tree, row);
		r = buf_add(&target, file.target.data, file.target.len);
		file.target = text_of(&target);
		if (r == 0)
			r = make_room(a);
		return r != 0 ? r : add_file(a, &file, PLACE_SYMLINK, err);
	}
	r = make_room(a);
	file.second_name_of = &row;
	take_label(&file, member);
	return r != 0 ? r : add_file(a, &file, PLACE_FILE, err);
}

static int add_folder(struct archive_tree *a, const struct archive_member *member, struct err *err)
{
	const struct path_place *place = place_at(a, text_of(&a->path));
	const struct foreign_file file = file_of(a, member);
	int r;

	if (place && place->kind == PLACE_FOLDER) {
		if (!member->implied && !place->rowless)
			foreign_tree_attr(a->tree, place->row, member->mode, member->mtime);
		return 0;
	}
	r = make_room(a);
	return r != 0 ? r : add_file(a, &file, PLACE_FOLDER, err);
}

/* The root is there: its member says its mode and time. */
static int add_root(struct archive_tree *a, const struct archive_member *member, struct err *err)
{
	const struct foreign_file file = {.record = member->number,
					  .path = {"", 0},
					  .directory = true,
					  .mode = member->mode,
					  .mtime = member->mtime};
	const struct path_place *place = place_at(a, file.path);

	if (member->kind != ARCHIVE_FOLDER || member->path.len == 0)
		return NO_NAME;
	if (!place) {
		a->path.len = 0;
		return add_file(a, &file, PLACE_FOLDER, err);
	}
	foreign_tree_attr(a->tree, place->row, member->mode, member->mtime);
	return 0;
}

static int add_member(struct archive_tree *a, const struct archive_member *member, struct err *err)
{
	struct foreign_file file = file_of(a, member);
	int r;

	switch (member->kind) {
	case ARCHIVE_FOLDER:
		return add_folder(a, member, err);
	case ARCHIVE_HARDLINK:
		return add_second_name(a, member, err);
	case ARCHIVE_SYMLINK:
		if (member->target.len == 0)
			return NO_TARGET;
		file.target = member->target;
		r = make_room(a);
		return r != 0 ? r : add_file(a, &file, PLACE_SYMLINK, err);
	default:
		if (member->holes > ARCHIVE_HOLES || (member->pieces && member->unpacked))
			return ALL_HOLES;
		take_label(&file, member);
		r = make_room(a);
		return r != 0 ? r : add_file(a, &file, PLACE_FILE, err);
	}
}

int archive_add(struct archive_tree *a, const struct archive_member *member, struct err *err)
{
	const struct foreign_watch *watch = a->settings->watch;
	int r = 0;

	if (watch && member->number % TICK_EVERY == 0)
		r = watch->tick(watch->context);
	if (r == 0 && member->kind > ARCHIVE_HARDLINK)
		r = (int)member->kind;
	if (r == 0 && member->bad.len)
		r = BAD;
	if (r == 0)
		r = find_way(a, &a->path, member->path, member, err);
	if (r == NO_NAME)
		r = add_root(a, member, err);
	else if (r == 0)
		r = add_member(a, member, err);
	return r > 0 ? leave_out(a, member, (enum reason)r) : r;
}

/* --- at the end ------------------------------------------------------------------------------- */

/* Whether a link names a file that its label has moved. Links on the way are not followed. */
static int count_if_moved(struct archive_tree *a, const struct path_place *link)
{
	struct foreign_text path = foreign_tree_path(a->tree, link->row), part;
	struct foreign_text rest = foreign_tree_target(a->tree, link->row);
	const struct path_place *place;
	int r = 0;

	a->target.len = 0;
	if (*rest.data == '/')
		return 0;
	r = buf_add(&a->target, path.data, path.len);
	a->target.len = above(&a->target).len;
	while (r == 0 && next_part(&rest, &part)) {
		if (foreign_text_is(part, ".."))
			a->target.len = above(&a->target).len;
		else
			r = add_part(&a->target, part);
	}
	place = place_at(a, text_of(&a->target));
	return r == 0 && place && place->labelled ? count_one(a, MOVED, path) : r;
}

static int count_moved(struct archive_tree *a)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->places.room; i++)
		if (a->places.slots[i].kind == PLACE_SYMLINK)
			r = count_if_moved(a, &a->places.slots[i]);
	return r;
}

int archive_note(struct archive_tree *a)
{
	int r = a->labelled ? count_moved(a) : 0;

	for (unsigned i = 0; r == 0 && i < REASONS; i++) {
		SCOPE(buf_release) struct buf line = BUF_INIT;

		if (!a->counts[i].count)
			continue;
		if (words[i].one || i == BAD)
			foreign_tree_lacks(a->tree, a->counts[i].count);
		r = buf_addf(&line, words[i].many, a->counts[i].count);
		if (r == 0)
			r = foreign_tree_note(a->tree, "%s, such as '%.400s%s", line.data,
					      a->counts[i].example,
					      i == DAMAGED || i == BAD ? "" : "'");
	}
	return r;
}
