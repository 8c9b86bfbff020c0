#include "pack/foreign/archive/tar_tree.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/archive/tar_members.h"
#include "pack/foreign/archive/tar_places.h"
#include <inttypes.h>
#include <string.h>

#define NESTED_MOST 2 /* tars in each other */

/* After the kinds of members: other reasons to leave one out. */
enum { CAME_BEFORE = TAR_MEMBER_KINDS, NO_FILE, NO_TARGET, REASONS };

struct tar_tree {
	struct foreign_source *source;
	struct foreign_tree *tree;
	struct tar_places places;
	struct buf path, target; /* of the current member, from the root on */
	struct buf targets;	 /* of all symbolic links */
	size_t below;		 /* bytes of them: the folder that the tar is shown as */
	unsigned nested;
	uint64_t left_out[REASONS];
	uint64_t behind; /* bytes behind the end */
};

static int scan_members(struct tar_tree *t, uint64_t at, uint64_t end, struct err *err);

static void tar_tree_release(struct tar_tree *t)
{
	tar_places_release(&t->places);
	buf_release(&t->path);
	buf_release(&t->target);
	buf_release(&t->targets);
}

/* --- members ---------------------------------------------------------------------------------- */

static int set_tar_path(const struct tar_tree *t, struct buf *path, struct foreign_text text)
{
	path->len = t->below;
	return buf_add(path, text.data, text.len);
}

static struct foreign_text path_text(const struct buf *buf)
{
	return (struct foreign_text){buf->data, buf->len};
}

static int add_place(struct tar_tree *t, const struct tar_place *place,
		     const struct foreign_file *file, struct err *err)
{
	int r = tar_places_add(&t->places, place);

	return r < 0 ? r : foreign_add(t->tree, file, err);
}

static int leave_out(struct tar_tree *t, unsigned reason)
{
	t->left_out[reason]++;
	return 0;
}

static struct foreign_file file_of_member(const struct tar_tree *t, const struct tar_member *member)
{
	return (struct foreign_file){.record = member->number,
				     .path = path_text(&t->path),
				     .offset = member->offset,
				     .size = member->size,
				     .mode = member->mode,
				     .mtime = member->mtime};
}

static struct foreign_text target_of(const struct tar_tree *t, const struct tar_place *link)
{
	return (struct foreign_text){t->targets.data + link->offset, link->size};
}

static int add_tar_symlink(struct tar_tree *t, const struct tar_member *member,
			   struct tar_place *place, struct err *err)
{
	struct foreign_file file = file_of_member(t, member);

	place->kind = TAR_PLACE_SYMLINK;
	place->offset = t->targets.len;
	place->size = member->target.len;
	if (buf_add(&t->targets, member->target.data, member->target.len) < 0)
		return -ENOMEM;
	file.target = target_of(t, place);
	return add_place(t, place, &file, err);
}

/* A second name of a symbolic link is another one with its target. */
static int add_tar_link(struct tar_tree *t, const struct tar_member *member,
			struct tar_place *place, struct err *err)
{
	struct foreign_file file = file_of_member(t, member);
	const struct tar_place *other;
	int r = set_tar_path(t, &t->target, member->target);

	if (r < 0)
		return r;
	other = tar_places_find(&t->places, tar_path_hash(path_text(&t->target)));
	if (!other || other->kind == TAR_PLACE_FOLDER)
		return leave_out(t, NO_FILE);
	place->kind = other->kind;
	place->offset = file.offset = other->offset;
	place->size = file.size = other->size;
	if (place->kind == TAR_PLACE_SYMLINK)
		file.target = target_of(t, place);
	return add_place(t, place, &file, err);
}

static int add_tar_file(struct tar_tree *t, const struct tar_member *member,
			struct tar_place *place, struct err *err)
{
	const struct foreign_file file = file_of_member(t, member);

	place->kind = TAR_PLACE_FILE;
	place->offset = member->offset;
	place->size = member->size;
	return add_place(t, place, &file, err);
}

static int add_member(struct tar_tree *t, const struct tar_member *member, struct tar_place *place,
		      struct err *err)
{
	struct foreign_file file = file_of_member(t, member);

	switch (member->kind) {
	case TAR_MEMBER_FILE:
		return add_tar_file(t, member, place, err);
	case TAR_MEMBER_HARDLINK:
		return add_tar_link(t, member, place, err);
	case TAR_MEMBER_SYMLINK:
		if (member->target.len == 0)
			return leave_out(t, NO_TARGET);
		return add_tar_symlink(t, member, place, err);
	case TAR_MEMBER_FOLDER:
		place->kind = TAR_PLACE_FOLDER;
		file.directory = true;
		return add_place(t, place, &file, err);
	default:
		return leave_out(t, member->kind);
	}
}

/* --- tars in tars ----------------------------------------------------------------------------- */

/* 1, 0, or the error of the read. */
static int is_tar(struct tar_tree *t, const struct tar_member *member)
{
	static const char suffix[] = ".tar";
	size_t len = strlen(suffix);
	const uint8_t *block;
	size_t found;
	int r;

	if (t->nested == NESTED_MOST || member->kind != TAR_MEMBER_FILE ||
	    member->size < 2 * TAR_BLOCK || member->path.len <= len ||
	    strncasecmp(member->path.data + member->path.len - len, suffix, len) != 0)
		return 0;
	r = foreign_peek(t->source, member->offset, TAR_BLOCK, &block, &found);
	return r < 0 ? r : found == TAR_BLOCK && tar_header_sound(block);
}

static int scan_nested(struct tar_tree *t, const struct tar_member *member, struct err *err)
{
	size_t below = t->below;
	int r;

	t->path.len -= strlen(".tar");
	r = buf_add(&t->path, "/", 1);
	t->target.len = 0;
	if (r == 0)
		r = buf_add(&t->target, t->path.data, t->path.len);
	if (r < 0)
		return r;
	t->below = t->path.len;
	t->nested++;
	r = scan_members(t, member->offset, member->offset + member->size, err);
	t->nested--;
	t->below = below;
	return r < 0 ? err_set(err, r, "member %" PRIu64 ": %s", member->number, err_text(err, r))
		     : 0;
}

/* --- the tree --------------------------------------------------------------------------------- */

static int take_tree_member(struct tar_tree *t, const struct tar_member *member, struct err *err)
{
	const struct tar_place *before;
	struct tar_place place;
	int r = set_tar_path(t, &t->path, member->path);

	if (r == 0)
		r = is_tar(t, member);
	if (r != 0)
		return r < 0 ? r : scan_nested(t, member, err);
	place = (struct tar_place){.hash = tar_path_hash(path_text(&t->path))};
	before = tar_places_find(&t->places, place.hash);
	if (!before)
		return add_member(t, member, &place, err);
	if (before->kind == TAR_PLACE_FOLDER && member->kind == TAR_MEMBER_FOLDER)
		return 0;
	return leave_out(t, CAME_BEFORE);
}

static int scan_members(struct tar_tree *t, uint64_t at, uint64_t end, struct err *err)
{
	SCOPE(tar_members_release)
	struct tar_members members = {.source = t->source, .at = at, .end = end};
	struct tar_member member;
	int r;

	while ((r = tar_members_next(&members, &member, err)) == 0) {
		r = take_tree_member(t, &member, err);
		if (r < 0)
			return r;
	}
	t->behind += members.behind;
	return r < 0 ? r : 0;
}

static int note_no_files(const struct tar_tree *t)
{
	static const char *const what[REASONS] = {
		[TAR_MEMBER_SPARSE] = "left out: %" PRIu64 " sparse files",
		[TAR_MEMBER_DEVICE] = "left out: %" PRIu64 " devices",
		[TAR_MEMBER_PIPE] = "left out: %" PRIu64 " named pipes",
		[TAR_MEMBER_UNKNOWN] = "left out: %" PRIu64 " members of unknown types",
		[CAME_BEFORE] = "left out: %" PRIu64 " members whose path came before",
		[NO_FILE] = "left out: %" PRIu64 " hard links to files that did not come before",
		[NO_TARGET] = "left out: %" PRIu64 " symbolic links to nothing",
	};
	int r = foreign_tree_note_counts(t->tree, t->left_out, what, REASONS);

	return r < 0 ? r
		     : foreign_tree_note_count(t->tree, t->behind,
					       "behind the end of the tar are %" PRIu64
					       " bytes that are not shown");
}

int tar_tree_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(tar_tree_release) struct tar_tree t = {.source = source, .tree = tree};
	int r = scan_members(&t, 0, source->size, err);

	return r < 0 ? r : note_no_files(&t);
}
