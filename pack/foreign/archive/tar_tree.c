#include "pack/foreign/archive/tar_tree.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/archive/tar_members.h"
#include "pack/foreign/archive/webdataset.h"
#include "pack/foreign/known.h"
#include "pack/format.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define NESTED_MOST 2 /* tars in each other */

struct tar_tree {
	struct foreign_source *source;
	bool unpacked; /* it is of foreign_tree_unpacked() */
	struct archive_tree archive;
	struct buf below; /* the folder that the tar is shown as, with a slash; "" at first */
	unsigned nested;
	/* Of a tar in the tar: nothing is shown of it before it is known to be whole. */
	struct buf held;      /* struct held_member */
	struct buf held_text; /* their paths and targets */
	struct buf held_pieces;
	uint64_t behind; /* bytes behind the end */
	bool looks;	 /* for samples of WebDataset, as nobody asked for the tree */
	struct webdataset_look look;
	uint64_t classed; /* samples of WebDataset with a class */
};

struct held_member {
	struct archive_member member;
	size_t path, target, class, bad, pieces; /* where these begin */
};

/* A tar, of which all paths are looked at where there is a tar in it. */
struct level {
	uint64_t at, end;
	bool looked;
	/* PLACE_FILE: of other members, and the folders above them. PLACE_FOLDER: where tars in it
	 * are to be shown; the row is how many. */
	struct path_table paths;
};

static int scan_members(struct tar_tree *t, uint64_t at, uint64_t end, struct err *err);

static void level_release(struct level *level)
{
	path_table_release(&level->paths);
}

static void tar_tree_release(struct tar_tree *t)
{
	archive_tree_release(&t->archive);
	buf_release(&t->below);
	buf_release(&t->held);
	buf_release(&t->held_text);
	buf_release(&t->held_pieces);
	webdataset_look_release(&t->look);
}

/* --- members that are held -------------------------------------------------------------------- */

/* Adds a text in the tar's folder. */
static void hold_text(struct tar_tree *t, bool below, struct foreign_text *text, size_t *ret)
{
	size_t begin = t->held_text.len;

	if (below)
		buf_add(&t->held_text, t->below.data, t->below.len);
	buf_add(&t->held_text, text->data, text->len);
	text->len = t->held_text.len - begin;
	*ret = begin;
}

static int hold(struct tar_tree *t, const struct archive_member *member)
{
	struct held_member held = {.member = *member, .pieces = t->held_pieces.len};

	held.member.unpacked = t->unpacked;
	hold_text(t, true, &held.member.path, &held.path);
	hold_text(t, member->kind == ARCHIVE_HARDLINK, &held.member.target, &held.target);
	hold_text(t, false, &held.member.class, &held.class);
	hold_text(t, false, &held.member.bad, &held.bad);
	buf_add(&t->held_pieces, member->pieces, member->piece_count * sizeof(*member->pieces));
	return t->held_text.failed || t->held_pieces.failed
		       ? -ENOMEM
		       : buf_add(&t->held, &held, sizeof(held));
}

static int add_held(struct tar_tree *t, struct err *err)
{
	const struct held_member *all = BUF_ITEMS(&t->held, const struct held_member);
	int r = 0;

	for (size_t i = 0; r == 0 && i < BUF_COUNT(&t->held, *all); i++) {
		struct archive_member member = all[i].member;

		member.path.data = t->held_text.data + all[i].path;
		member.target.data = t->held_text.data + all[i].target;
		member.class.data = member.class.len ? t->held_text.data + all[i].class : NULL;
		member.bad.data = t->held_text.data + all[i].bad;
		if (member.piece_count)
			member.pieces = (const void *)(t->held_pieces.data + all[i].pieces);
		r = archive_add(&t->archive, &member, err);
	}
	t->held.len = t->held_text.len = t->held_pieces.len = 0;
	return r;
}

/* A member of the tar itself is added at once. */
static int add_or_hold(struct tar_tree *t, const struct archive_member *member, struct err *err)
{
	return t->nested ? hold(t, member) : archive_add(&t->archive, member, err);
}

/* --- tars in tars ----------------------------------------------------------------------------- */

size_t tar_stem(struct foreign_text path, bool *ret_compressed)
{
	static const char *const suffixes[] = {".tar",	  ".tar.gz",  ".tgz",	  ".tar.zst",
					       ".tar.xz", ".tar.bz2", ".tar.lz4", NULL};
	const struct foreign_text name = foreign_text_after(path, '/');

	for (const char *const *suffix = suffixes; *suffix; suffix++) {
		size_t cut = strlen(*suffix);

		if (name.len <= cut || strncasecmp(name.data + name.len - cut, *suffix, cut) != 0 ||
		    !format_name_valid(name.data, name.len - cut))
			continue;
		*ret_compressed = suffix > suffixes;
		return path.len - cut;
	}
	return 0;
}

/* Whether a tar begins there, perhaps an empty one: 1, 0, or the error of the read. */
static int tar_begins(struct foreign_source *source, uint64_t offset)
{
	const uint8_t *blocks;
	size_t found;
	int r = foreign_peek(source, offset, 2 * TAR_BLOCK, &blocks, &found);

	if (r < 0 || found < 2 * TAR_BLOCK)
		return r;
	return tar_header_sound(blocks) ||
	       (tar_block_empty(blocks) && tar_block_empty(blocks + TAR_BLOCK));
}

enum nested { NO_TAR, PLAIN_TAR, PACKED_TAR };

static bool is_packed(struct tar_tree *t, const struct archive_member *member)
{
	const struct foreign_watch *watch = t->source->settings->watch;
	const uint8_t *head;
	size_t len;

	return watch && watch->unpack &&
	       foreign_peek(t->source, member->offset, KNOWN_HEAD, &head, &len) == 0 &&
	       compression_of(head, min(len, member->size));
}

/* A member that is named as a tar, and begins as one: enum nested, or the error of the read. */
static int what_nested(struct tar_tree *t, const struct archive_member *member)
{
	bool compressed;
	int r;

	if (t->nested == NESTED_MOST || member->kind != ARCHIVE_FILE || member->pieces ||
	    !tar_stem(member->path, &compressed))
		return NO_TAR;
	if (compressed)
		return is_packed(t, member) ? PACKED_TAR : NO_TAR;
	r = member->size < 2 * TAR_BLOCK ? 0 : tar_begins(t->source, member->offset);
	return r < 0 ? r : r ? PLAIN_TAR : NO_TAR;
}

static int hold_folder(struct tar_tree *t, const struct archive_member *tar)
{
	const struct archive_member folder = {.number = tar->number,
					      .kind = ARCHIVE_FOLDER,
					      .mode = S_IFDIR | 0755,
					      .mtime = tar->mtime,
					      .path = {"", 0},
					      .target = {"", 0},
					      .implied = true};

	return hold(t, &folder);
}

/* Scans a tar that is compressed. 1: it is none. */
static int scan_packed(struct tar_tree *t, const struct archive_member *tar, struct err *err)
{
	const struct foreign_watch *watch = t->source->settings->watch;
	struct foreign_source *outer = t->source, inner = {.settings = outer->settings};
	struct reader **unpacked = foreign_tree_unpacked(t->archive.tree);
	const struct foreign_compressed from = {.reader = t->unpacked ? *unpacked : outer->reader,
						.offset = tar->offset,
						.len = tar->size};
	bool was_unpacked = t->unpacked;
	uint64_t start, len;
	int r = watch->unpack(watch->context, &from, unpacked, &start, &len, NULL);

	if (r == 0)
		r = window_init(&inner.window, *unpacked);
	if (r < 0)
		return r == -EBADMSG || r == -ENOTSUP ? 1 : r;
	inner.reader = *unpacked;
	inner.size = inner.window.size;
	r = len < 2 * TAR_BLOCK ? 0 : tar_begins(&inner, start);
	t->source = &inner;
	t->unpacked = true;
	r = r == 1 ? scan_members(t, start, start + len, err) : r < 0 ? r : 1;
	t->source = outer;
	t->unpacked = was_unpacked;
	window_release(&inner.window);
	return r;
}

/* Without what says nothing: "./a/b/" is "a/b". */
static struct foreign_text bare(struct foreign_text path)
{
	while (path.len && (path.data[0] == '/' ||
			    (path.data[0] == '.' && path.len > 1 && path.data[1] == '/'))) {
		path.data++;
		path.len--;
	}
	while (path.len && path.data[path.len - 1] == '/')
		path.len--;
	return path;
}

/* Of a member that is no tar: its path, and the folders above it. */
static int note_path(struct path_table *paths, struct foreign_text path)
{
	const struct path_place place = {.kind = PLACE_FILE};
	const char *slash = path.data;
	int r = 0;

	while (r == 0 && slash && path.len) {
		const struct path_place *found = path_table_find(paths, path);

		if (found && found->kind == PLACE_FILE)
			break;
		r = path_table_set(paths, path, place);
		slash = memrchr(path.data, '/', path.len);
		path.len = slash ? (size_t)(slash - path.data) : 0;
	}
	return r;
}

static int note_stem(struct path_table *paths, struct foreign_text stem)
{
	const struct path_place *found = path_table_find(paths, stem);
	struct path_place place = {.kind = PLACE_FOLDER, .row = 1};

	if (found) {
		place = *found;
		place.row++;
	}
	return path_table_set(paths, stem, place);
}

/* A far tar would be read twice for this. */
static int look_at_paths(const struct tar_tree *t, struct level *level)
{
	SCOPE(tar_members_release)
	struct tar_members members = {.source = t->source, .at = level->at, .end = level->end};
	struct archive_member member;
	int r = 0;

	if (level->looked || t->source->window.far)
		return 0;
	level->looked = true;
	while (r == 0 && tar_members_next(&members, &member, NULL) == 0) {
		struct foreign_text path = bare(member.path);
		bool compressed;
		size_t stem = member.kind == ARCHIVE_FILE ? tar_stem(path, &compressed) : 0;

		r = stem ? note_stem(&level->paths, (struct foreign_text){path.data, stem})
			 : note_path(&level->paths, path);
	}
	return r;
}

/* A tar is shown as the folder of its name without suffix, or with it where something else has that
 * path. */
static int add_folder(struct tar_tree *t, struct level *level, struct foreign_text path)
{
	bool compressed;
	size_t stem = tar_stem(path, &compressed);
	const struct path_place *place;
	int r = look_at_paths(t, level);

	place = path_table_find(&level->paths, bare((struct foreign_text){path.data, stem}));
	if (place && (place->kind == PLACE_FILE || place->row > 1))
		stem = path.len;
	buf_add(&t->below, path.data, stem);
	return r < 0 ? r : buf_add(&t->below, "/", 1);
}

static int scan_nested(struct tar_tree *t, struct level *level, const struct archive_member *tar,
		       enum nested what, struct err *err)
{
	size_t below = t->below.len;
	int r = add_folder(t, level, tar->path);

	if (r == 0)
		r = hold_folder(t, tar);
	t->nested++;
	if (r == 0)
		r = what == PACKED_TAR ? scan_packed(t, tar, err)
				       : scan_members(t, tar->offset, tar->offset + tar->size, err);
	t->nested--;
	t->below.len = below;
	return r;
}

/* The member is a tar. If that is damaged, it is a file. */
static int add_nested(struct tar_tree *t, struct level *level, const struct archive_member *tar,
		      enum nested what, struct err *err)
{
	SCOPE(buf_release) struct buf path = BUF_INIT; /* it lives until the next read */
	size_t held = t->held.len, text = t->held_text.len, pieces = t->held_pieces.len;
	struct archive_member member = *tar;
	struct err why = {0};
	int r = buf_add(&path, tar->path.data, tar->path.len);

	member.path.data = path.data;
	member.target.len = 0;
	if (r == 0)
		r = scan_nested(t, level, &member, what, &why);
	if (r == 0)
		return t->nested ? 0 : add_held(t, err);
	if (r < 0 && r != -EBADMSG)
		return err_set(err, r, "member %" PRIu64 ": %s", tar->number, err_text(&why, r));
	t->held.len = held;
	t->held_text.len = text;
	t->held_pieces.len = pieces;
	if (r < 0)
		r = archive_keep(&t->archive, &t->below, member.path, err_text(&why, r));
	return r < 0 ? r : add_or_hold(t, &member, err);
}

/* --- the tree --------------------------------------------------------------------------------- */

static int scan_members(struct tar_tree *t, uint64_t at, uint64_t end, struct err *err)
{
	SCOPE(tar_members_release)
	struct tar_members members = {.source = t->source, .at = at, .end = end};
	SCOPE(level_release) struct level level = {.at = at, .end = end};
	struct archive_member member;
	int r;

	while ((r = tar_members_next(&members, &member, err)) == 0) {
		r = t->nested || !t->looks ? 0 : webdataset_look(&t->look, &member);
		t->classed += r == 1;
		if (r >= 0)
			r = what_nested(t, &member);
		if (r >= 0)
			r = r ? add_nested(t, &level, &member, (enum nested)r, err)
			      : add_or_hold(t, &member, err);
		if (r < 0)
			return r;
	}
	t->behind += members.behind;
	return r < 0 ? r : 0;
}

int tar_note_behind(struct foreign_tree *tree, uint64_t bytes)
{
	return foreign_tree_note_count(
		tree, bytes, "behind the end of the tar are %" PRIu64 " bytes that are not shown");
}

int tar_tree_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	const struct foreign_settings *settings = source->settings;
	SCOPE(tar_tree_release)
	struct tar_tree t = {.source = source,
			     .looks = settings->layout == FOREIGN_AUTO && !settings->strip,
			     .archive = {.tree = tree, .settings = settings}};
	int r = scan_members(&t, 0, source->size, err);

	if (r < 0)
		r = archive_broken(settings, r, err);
	if (r == 0)
		r = archive_note(&t.archive);
	if (r == 0)
		r = foreign_tree_note_count(
			tree, t.classed,
			"%" PRIu64
			" images have a .cls beside them, as samples of WebDataset "
			"have: --layout=classes makes folders of these classes");
	return r < 0 ? r : tar_note_behind(tree, t.behind);
}
