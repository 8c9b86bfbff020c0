#include "pack/foreign/tar_samples.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/tar_members.h"
#include <inttypes.h>
#include <string.h>

#define CLASS_MOST   (4 * KIB) /* bytes of a .cls member */
#define LOOKED_AT    100       /* members, for the first sample */
#define LABEL_DIGITS 18	       /* that surely fit in 63 bits */

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

enum left_out { OTHER_MEMBERS, UNFIT_MEMBERS, META_MEMBERS, NO_CLASS, LEFT_OUT };

struct samples {
	struct tar_members members;
	struct foreign_tree *tree;
	/* The sample in hand: */
	struct buf key;
	struct buf images; /* struct sample_image */
	struct buf names;  /* of them: KEY.SUFFIX */
	struct buf class;  /* a name */
	int64_t label;
	uint64_t left_out[LEFT_OUT];
};

static void samples_release(struct samples *s)
{
	tar_members_release(&s->members);
	buf_release(&s->key);
	buf_release(&s->images);
	buf_release(&s->names);
	buf_release(&s->class);
}

static int bad_sample(const struct tar_member *member, const char *reason, struct err *err)
{
	return err_set(err, -EBADMSG, "member %" PRIu64 " ('%.*s'): %s", member->number,
		       (int)min(member->path.len, 200), member->path.data, reason);
}

/* --- names of members ------------------------------------------------------------------------- */

static bool is_meta(struct foreign_text path)
{
	const char *slash = memchr(path.data, '/', path.len);
	size_t len = slash ? (size_t)(slash - path.data) : path.len;

	return len >= 4 && memcmp(path.data, "__", 2) == 0 &&
	       memcmp(path.data + len - 2, "__", 2) == 0;
}

/* False where the last part of the path has no suffix, or nothing in front of it. */
static bool split_key(struct foreign_text path, struct key *ret)
{
	const char *slash = memrchr(path.data, '/', path.len);
	const char *name = slash ? slash + 1 : path.data, *end = path.data + path.len;
	const char *dot = memchr(name, '.', (size_t)(end - name));

	if (!dot || dot == name)
		return false;
	ret->key = (struct foreign_text){path.data, (size_t)(dot - path.data)};
	ret->suffix = (struct foreign_text){dot + 1, (size_t)(end - dot - 1)};
	return true;
}

static bool is_suffix(struct foreign_text suffix, const char *name)
{
	return suffix.len == strlen(name) && strncasecmp(suffix.data, name, suffix.len) == 0;
}

/* Of "seg.png" the last part counts. */
static bool is_image(struct foreign_text suffix)
{
	static const char *const images[] = {"jpg", "jpeg", "png",  "webp", "gif", "bmp",
					     "ppm", "pgm",  "pbm",  "pnm",  "tif", "tiff",
					     "jxl", "jp2",  "avif", "heic", NULL};
	const char *dot = memrchr(suffix.data, '.', suffix.len);

	if (dot) {
		suffix.len -= (size_t)(dot + 1 - suffix.data);
		suffix.data = dot + 1;
	}
	for (const char *const *image = images; *image; image++)
		if (is_suffix(suffix, *image))
			return true;
	return false;
}

/* Files that are of a sample: 1; 0: not; counts why. */
static int is_of_sample(const struct tar_member *member, struct key *ret, uint64_t *left_out)
{
	if (member->kind == TAR_MEMBER_FOLDER)
		return 0;
	if (is_meta(member->path))
		left_out[META_MEMBERS]++;
	else if (member->kind != TAR_MEMBER_FILE || !split_key(member->path, ret))
		left_out[UNFIT_MEMBERS]++;
	else
		return 1;
	return 0;
}

static bool same_key(const struct buf *key, struct foreign_text other)
{
	return key->len == other.len && memcmp(key->data, other.data, other.len) == 0;
}

/* --- a sample --------------------------------------------------------------------------------- */

static void set_class(struct samples *s, struct foreign_file *file)
{
	const char *slash = memrchr(s->key.data, '/', s->key.len);

	file->label = s->label;
	if (s->class.len)
		file->class = (struct foreign_text){s->class.data, s->class.len};
	if (s->class.len || s->label != FOREIGN_NO_LABEL)
		return;
	s->left_out[NO_CLASS]++;
	if (!slash)
		return;
	file->class = (struct foreign_text){s->key.data, (size_t)(slash - s->key.data)};
	file->name.data += file->class.len + 1;
	file->name.len -= file->class.len + 1;
}

static int end_sample(struct samples *s, struct err *err)
{
	const struct sample_image *images = (const void *)s->images.data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->images.len / sizeof(*images); i++) {
		struct foreign_file file = {
			.record = images[i].number,
			.name = {s->names.data + images[i].name, images[i].name_len},
			.offset = images[i].offset,
			.size = images[i].size,
			.mode = images[i].mode,
			.mtime = images[i].mtime};

		set_class(s, &file);
		r = foreign_add(s->tree, &file, err);
	}
	s->images.len = s->names.len = s->class.len = s->key.len = 0;
	s->label = FOREIGN_NO_LABEL;
	return r;
}

static int add_sample_image(struct samples *s, const struct tar_member *member)
{
	const struct sample_image image = {.number = member->number,
					   .offset = member->offset,
					   .size = member->size,
					   .mode = member->mode,
					   .mtime = member->mtime,
					   .name = s->names.len,
					   .name_len = member->path.len};
	int r = buf_add(&s->names, member->path.data, member->path.len);

	return r < 0 ? r : buf_add(&s->images, &image, sizeof(image));
}

/* A number is a label, anything else a name. */
static int read_sample_class(struct samples *s, const struct tar_member *member, struct err *err)
{
	const uint8_t *text;
	size_t len = (size_t)min(member->size, CLASS_MOST + 1), digits = 0;
	int64_t label = 0;
	int r;

	if (s->class.len || s->label != FOREIGN_NO_LABEL)
		return bad_sample(member, "the sample has a class already", err);
	if (len > CLASS_MOST)
		return bad_sample(member, "too long for a class", err);
	r = foreign_get(s->members.source, member->offset, len, &text, err);
	if (r < 0)
		return r;
	while (len && strchr(" \t\r\n", text[len - 1]))
		len--;
	if (len == 0)
		return bad_sample(member, "no class in it", err);
	for (; digits < len && text[digits] >= '0' && text[digits] <= '9'; digits++)
		label = digits < LABEL_DIGITS ? label * 10 + text[digits] - '0' : label;
	if (digits < len || digits > LABEL_DIGITS)
		return buf_add(&s->class, text, len);
	s->label = label;
	return 0;
}

static int take_sample_member(struct samples *s, const struct tar_member *member, struct err *err)
{
	struct key key;
	int r = 0;

	if (!is_of_sample(member, &key, s->left_out))
		return 0;
	if (!same_key(&s->key, key.key)) {
		r = end_sample(s, err);
		if (r == 0)
			r = buf_add(&s->key, key.key.data, key.key.len);
	}
	if (r < 0)
		return r;
	if (is_image(key.suffix))
		return add_sample_image(s, member);
	if (is_suffix(key.suffix, "cls"))
		return read_sample_class(s, member, err);
	s->left_out[OTHER_MEMBERS]++;
	return 0;
}

/* --- the tar ---------------------------------------------------------------------------------- */

static int note_no_samples(const struct samples *s)
{
	static const char *const what[LEFT_OUT] = {
		[OTHER_MEMBERS] = "left out, as neither image nor class: %" PRIu64 " members",
		[UNFIT_MEMBERS] = "left out, as of no sample: %" PRIu64 " members",
		[META_MEMBERS] = "left out, as named __NAME__: %" PRIu64 " members",
		[NO_CLASS] = "without a .cls member: %" PRIu64 " images",
	};
	int r = 0;

	for (unsigned i = 0; r == 0 && i < LEFT_OUT; i++)
		if (s->left_out[i])
			r = foreign_tree_note(s->tree, what[i], s->left_out[i]);
	return r;
}

int tar_samples_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(samples_release)
	struct samples s = {.members = {.source = source, .end = source->size},
			    .tree = tree,
			    .label = FOREIGN_NO_LABEL};
	struct tar_member member;
	int r;

	while ((r = tar_members_next(&s.members, &member, err)) == 0) {
		r = take_sample_member(&s, &member, err);
		if (r < 0)
			return r;
	}
	if (r == 1)
		r = end_sample(&s, err);
	return r < 0 ? r : note_no_samples(&s);
}

int tar_samples_have_classes(struct foreign_source *source, struct err *err)
{
	SCOPE(samples_release)
	struct samples s = {.members = {.source = source, .end = source->size}};
	struct tar_member member;
	struct key key;
	int r = 0;

	for (unsigned i = 0; i < LOOKED_AT && r == 0; i++) {
		r = tar_members_next(&s.members, &member, err);
		if (r != 0 || !is_of_sample(&member, &key, s.left_out))
			continue;
		if (s.key.len && !same_key(&s.key, key.key))
			return 0;
		if (is_suffix(key.suffix, "cls"))
			return 1;
		if (!s.key.len)
			r = buf_add(&s.key, key.key.data, key.key.len);
	}
	return r < 0 ? r : 0;
}
