#include "pack/foreign/archive/webdataset.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/archive/tar_members.h"
#include "pack/foreign/archive/tar_tree.h"
#include "pack/image_kind.h"
#include <inttypes.h>
#include <string.h>

#define CLASS_MOST (4 * KIB) /* bytes of a .cls member */
#define LOOKED_AT  1000	     /* members, for a sample with a class, */
#define LOOKED_FAR (4 * MIB) /* and of a far file no further than this */

/* A member's path: KEY.SUFFIX */
struct key {
	struct foreign_text key, suffix;
};

struct sample_image {
	uint64_t number, offset, size;
	mode_t mode;
	int64_t mtime;
	size_t name, name_len; /* in the sample's names */
};

enum left_out { OTHER_MEMBERS, UNFIT_MEMBERS, META_MEMBERS, CAME_AGAIN, LEFT_OUT };

struct webdataset {
	struct foreign_source *source;
	struct foreign_tree *tree;
	struct path_table places; /* of the members that became images */
	uint64_t left_out[LEFT_OUT];
	uint64_t samples, unclassed; /* with an image; of these without a class */

	/* The sample in hand: */
	struct buf key;
	struct buf images; /* struct sample_image */
	struct buf names;  /* of them: KEY.SUFFIX */
	struct buf class;  /* a name */
	int64_t label;	   /* FOREIGN_NO_LABEL: none */
};

static void webdataset_release(struct webdataset *w)
{
	path_table_release(&w->places);
	buf_release(&w->key);
	buf_release(&w->images);
	buf_release(&w->names);
	buf_release(&w->class);
}

static int bad_sample(const struct archive_member *member, const char *reason, struct err *err)
{
	return err_set(err, -EBADMSG, "member %" PRIu64 " ('%.*s'): %s", member->number,
		       (int)min(member->path.len, 200), member->path.data, reason);
}

/* --- names of members ------------------------------------------------------------------------- */

static bool is_meta(struct foreign_text name)
{
	return name.len >= 4 && memcmp(name.data, "__", 2) == 0 &&
	       memcmp(name.data + name.len - 2, "__", 2) == 0;
}

/* The first part of a path. */
static struct foreign_text first_part(struct foreign_text path)
{
	const char *slash = path.len ? memchr(path.data, '/', path.len) : NULL;

	return (struct foreign_text){path.data, slash ? (size_t)(slash - path.data) : path.len};
}

/* False where the last part of the path has no suffix, or nothing in front of it. */
static bool split_key(struct foreign_text path, struct key *ret)
{
	const struct foreign_text name = foreign_text_after(path, '/');
	const char *dot = name.len ? memchr(name.data, '.', name.len) : NULL;

	if (!dot || dot == name.data)
		return false;
	ret->key = (struct foreign_text){path.data, (size_t)(dot - path.data)};
	ret->suffix = (struct foreign_text){dot + 1, path.len - ret->key.len - 1};
	return true;
}

static bool is_suffix(struct foreign_text suffix, const char *name)
{
	return suffix.len == strlen(name) && strncasecmp(suffix.data, name, suffix.len) == 0;
}

/* As `tar .` begins its paths. */
static struct foreign_text without_dot(struct foreign_text path)
{
	bool dot = path.len > 2 && memcmp(path.data, "./", 2) == 0;

	return dot ? (struct foreign_text){path.data + 2, path.len - 2} : path;
}

/* Returns 1 for a file of a sample; otherwise 0, and counts why. */
static int is_of_sample(const struct archive_member *member, struct key *ret, uint64_t *left_out)
{
	const struct foreign_text path = without_dot(member->path);

	if (member->kind == ARCHIVE_FOLDER)
		return 0;
	if (is_meta(first_part(path))) {
		left_out[META_MEMBERS]++;
		return 0;
	}
	if (member->kind != ARCHIVE_FILE || member->pieces || !split_key(path, ret)) {
		left_out[UNFIT_MEMBERS]++;
		return 0;
	}
	if (!is_meta(foreign_text_after(ret->key, '/')))
		return 1;
	left_out[META_MEMBERS]++;
	return 0;
}

static bool same_key(const struct buf *key, struct foreign_text other)
{
	return key->len == other.len && memcmp(key->data, other.data, other.len) == 0;
}

/* --- a sample --------------------------------------------------------------------------------- */

static void set_class(struct webdataset *w, struct foreign_file *file)
{
	const char *slash = memrchr(w->key.data, '/', w->key.len);

	file->label = w->label;
	if (w->class.len)
		file->class = (struct foreign_text){w->class.data, w->class.len};
	if (w->class.len || w->label != FOREIGN_NO_LABEL)
		return;
	file->class = (struct foreign_text){"images", 6};
	file->class_is_path = true;
	if (!slash)
		return;
	file->class = (struct foreign_text){w->key.data, (size_t)(slash - w->key.data)};
	file->name.data += file->class.len + 1;
	file->name.len -= file->class.len + 1;
}

static int replace_image(struct webdataset *w, struct foreign_text path)
{
	const struct path_place place = {.row = (uint32_t)foreign_tree_count(w->tree),
					 .kind = PLACE_FILE};
	const struct path_place *before;

	before = path_table_find(&w->places, path);
	if (before) {
		foreign_tree_drop(w->tree, before->row);
		w->left_out[CAME_AGAIN]++;
	}
	return path_table_set(&w->places, path, place);
}

static int end_sample(struct webdataset *w, struct err *err)
{
	const struct sample_image *images = BUF_ITEMS(&w->images, const struct sample_image);
	int r = 0;

	for (size_t i = 0; r == 0 && i < BUF_COUNT(&w->images, *images); i++) {
		struct foreign_file file = {
			.record = images[i].number,
			.name = {w->names.data + images[i].name, images[i].name_len},
			.offset = images[i].offset,
			.size = images[i].size,
			.mode = images[i].mode,
			.mtime = images[i].mtime};

		r = replace_image(w, file.name);
		set_class(w, &file);
		if (r == 0)
			r = foreign_add(w->tree, &file, err);
	}
	w->samples += w->images.len > 0;
	w->unclassed += w->images.len > 0 && !w->class.len && w->label == FOREIGN_NO_LABEL;
	w->images.len = w->names.len = w->class.len = w->key.len = 0;
	w->label = FOREIGN_NO_LABEL;
	return r;
}

static int add_sample_image(struct webdataset *w, const struct archive_member *member,
			    const struct key *key)
{
	size_t name_len = key->key.len + 1 + key->suffix.len;
	const struct sample_image image = {.number = member->number,
					   .offset = member->offset,
					   .size = member->size,
					   .mode = member->mode,
					   .mtime = member->mtime,
					   .name = w->names.len,
					   .name_len = name_len};
	int r = buf_add(&w->names, key->key.data, name_len);

	return r < 0 ? r : buf_add(&w->images, &image, sizeof(image));
}

/* A number, as int() of Python reads it, is a label, anything else a name. */
static int read_sample_class(struct webdataset *w, const struct archive_member *member,
			     struct err *err)
{
	struct foreign_text text = {.len = (size_t)min(member->size, CLASS_MOST + 1)};
	const uint8_t *bytes;
	int r;

	if (w->class.len || w->label != FOREIGN_NO_LABEL)
		return bad_sample(member, "the sample has a class already", err);
	if (text.len > CLASS_MOST)
		return bad_sample(member, "too long for a class", err);
	r = foreign_get(w->source, member->offset, text.len, &bytes, err);
	if (r < 0)
		return r;
	text.data = (const char *)bytes;
	while (text.len && strchr(" \t\r\n", text.data[text.len - 1]))
		text.len--;
	while (text.len && strchr(" \t\r\n", text.data[0])) {
		text.data++;
		text.len--;
	}
	if (text.len == 0)
		return bad_sample(member, "no class in it", err);
	return foreign_text_label(text, &w->label) ? 0 : buf_add(&w->class, text.data, text.len);
}

static int take_member(struct webdataset *w, const struct archive_member *member, struct err *err)
{
	struct key key;
	int r = 0;

	if (!is_of_sample(member, &key, w->left_out))
		return 0;
	if (w->key.len && !same_key(&w->key, key.key))
		r = end_sample(w, err);
	if (r == 0 && !w->key.len)
		r = buf_add(&w->key, key.key.data, key.key.len);
	if (r < 0)
		return r;
	if (image_is_named(key.suffix.data, key.suffix.len))
		return add_sample_image(w, member, &key);
	if (is_suffix(key.suffix, "cls"))
		return read_sample_class(w, member, err);
	w->left_out[OTHER_MEMBERS]++;
	return 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

static int note_left_out(const struct webdataset *w)
{
	static const char *const what[LEFT_OUT] = {
		[OTHER_MEMBERS] = "left out, as neither image nor class: %" PRIu64 " members",
		[UNFIT_MEMBERS] = "left out, as of no sample: %" PRIu64 " members",
		[META_MEMBERS] = "left out, as named __NAME__: %" PRIu64 " members",
		[CAME_AGAIN] = "images that come again, of which the last counts: %" PRIu64,
	};

	int r = foreign_tree_note_counts(w->tree, w->left_out, what, LEFT_OUT);

	if (r < 0 || w->unclassed == 0)
		return r;
	return foreign_tree_note(
		w->tree,
		"%" PRIu64 " of %" PRIu64
		" samples have no class, as .cls is one, and are in the folders of "
		"their keys, or in images",
		w->unclassed, w->samples);
}

int webdataset_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(tar_members_release)
	struct tar_members members = {.source = source, .end = source->size};
	SCOPE(webdataset_release)
	struct webdataset w = {.source = source, .tree = tree, .label = FOREIGN_NO_LABEL};
	struct archive_member member;
	int r;

	while ((r = tar_members_next(&members, &member, err)) == 0) {
		r = take_member(&w, &member, err);
		if (r < 0)
			return r;
	}
	if (r < 0)
		r = archive_broken(source->settings, r, err);
	if (r >= 0)
		r = end_sample(&w, err);
	if (r == 0)
		r = note_left_out(&w);
	return r < 0 ? r : tar_note_behind(tree, members.behind);
}

/* --- whether it is one ------------------------------------------------------------------------ */

void webdataset_look_release(struct webdataset_look *look)
{
	buf_release(&look->key);
}

int webdataset_look(struct webdataset_look *look, const struct archive_member *member)
{
	uint64_t ignored[LEFT_OUT] = {0};
	struct key key;
	bool had_both;
	int r = 0;

	if (!is_of_sample(member, &key, ignored))
		return 0;
	if (!same_key(&look->key, key.key)) {
		look->image = look->class = false;
		look->key.len = 0;
		r = buf_add(&look->key, key.key.data, key.key.len);
	}
	had_both = look->image && look->class;
	look->image |= image_is_named(key.suffix.data, key.suffix.len);
	look->class |= is_suffix(key.suffix, "cls");
	return r < 0 ? r : look->image && look->class && !had_both;
}

int webdataset_has_classes(struct foreign_source *source, struct err *err)
{
	SCOPE(tar_members_release)
	struct tar_members members = {.source = source, .end = source->size};
	SCOPE(webdataset_look_release) struct webdataset_look look = {0};
	struct archive_member member = {0};
	int r = 0;

	for (unsigned i = 0; r == 0 && i < LOOKED_AT; i++) {
		if (source->window.far && member.offset + member.size > LOOKED_FAR)
			return 0;
		r = tar_members_next(&members, &member, err);
		if (r == 0 && (r = webdataset_look(&look, &member)) == 1)
			return 1;
	}
	return r < 0 && r != -EBADMSG ? r : 0;
}
