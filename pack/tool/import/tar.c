#include "pack/tool/import/tar.h"

#include "base/scope.h"
#include "pack/format.h"
#include "pack/tool/import/tar_level.h"
#include <string.h>

/* Bytes kept of a member to find out whether it is a tar. */
#define MEMBER_KEPT ((size_t)8 << 20)

/* A tar and its current member: a file, or the tar of the next level. */
struct nest {
	struct tar_level *level;
	struct tar_replay bytes; /* of the member */
	size_t folder;		 /* how much of tar->folder its members go into */
};

struct tar {
	struct tar_input input;
	struct tar_replay start; /* of the input */
	struct nest nests[TAR_DEPTH];
	unsigned most_depth;
	bool zip;
	unsigned depth;	   /* of these are open */
	struct buf folder; /* where the members of the innermost tar go */
	bool end;
	int error; /* what ended it; err has the sentence */
	struct err err;

	struct tar_entry entry; /* the current one */
	struct buf path, target;
	const char *left; /* of the block that was lent last */
	size_t left_len;
	uint64_t unread; /* bytes of the current file */
};

static struct nest *innermost(struct tar *tar)
{
	return &tar->nests[tar->depth - 1];
}

/* --- paths ------------------------------------------------------------------------------- */

static const char *const suffixes[] = {".tar",	  ".tar.gz",  ".tgz",	  ".tar.zst",
				       ".tar.xz", ".tar.bz2", ".tar.lz4", NULL};

static const char *component_fault(const char *component, size_t len)
{
	if (len > FORMAT_NAME_MAX)
		return "a name over 255 bytes";
	if (len == 2 && memcmp(component, "..", 2) == 0)
		return "a path with '..'";
	return NULL;
}

static int add_component(struct buf *path, const char *component, size_t len)
{
	int r = path->len ? buf_add(path, "/", 1) : 0;

	return r < 0 ? r : buf_add(path, component, len);
}

/* Appends `name` to the path of a directory ("" is the root) that `path` holds: relative,
 * NUL-ended, without empty and "." components. 0; -ENOMEM; -EINVAL if no pack can hold that path:
 * *ret_fault says why, and `path` may hold a part of it. */
static int add_name(struct buf *path, const char *name, const char **ret_fault)
{
	const char *fault = NULL;
	int r = 0;

	for (size_t len; r == 0 && !fault && *name; name += len) {
		name += strspn(name, "/");
		len = strcspn(name, "/");
		if (len == 0 || (len == 1 && *name == '.'))
			continue;
		fault = component_fault(name, len);
		if (!fault)
			r = add_component(path, name, len);
	}
	if (r == 0)
		r = buf_adds(path, "");
	if (r == 0 && path->len > TAR_PATH_MAX)
		fault = "a path over 8191 bytes";
	if (r < 0 || !fault)
		return r;
	*ret_fault = fault;
	return -EINVAL;
}

/* The length of `path` without the suffix of a tar, compressed or not; 0: it has none, or what is
 * left is no name: ".tar", "..tar" and "...tar". */
static size_t tar_stem(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = strlen(name);

	for (const char *const *suffix = suffixes; *suffix; suffix++) {
		size_t cut = strlen(*suffix);

		if (len > cut && strcasecmp(name + len - cut, *suffix) == 0 &&
		    format_name_valid(name, len - cut))
			return (size_t)(name - path) + len - cut;
	}
	return 0;
}

/* --- failures ---------------------------------------------------------------------------- */

static void say_unsupported(struct tar *tar)
{
	bool inner = tar->path.len > 0;
	const char *reason = err_text(&tar->err, -ENOTSUP);

	err_set(&tar->err, -ENOTSUP,
		"%s%.200s%slibarchive cannot decompress it: %s; install that program, or "
		"unpack the tar and pack the folder",
		inner ? "'" : "", tar->path.data, inner ? "': " : "", reason);
}

/* Makes every later call fail, too. Damage is reported with its place: `where` comes before the
 * path. */
static int tar_fail(struct tar *tar, int error, const char *where)
{
	const char *reason = err_text(&tar->err, error);

	tar->error = error;
	if (error == -ENOTSUP)
		say_unsupported(tar);
	else if (error != -EBADMSG && error != -EACCES)
		tar->err.text[0] = '\0';
	else if (error == -EACCES)
		return error; /* its words say it */
	else if (tar->path.len > 0)
		err_set(&tar->err, error, "%s '%s': %s", where, tar->path.data, reason);
	else
		err_set(&tar->err, error, "damaged at the beginning: %s", reason);
	return error;
}

static int repeat_failure(const struct tar *tar, struct err *err)
{
	if (tar->err.text[0])
		err_set(err, tar->error, "%s", tar->err.text);
	return tar->error;
}

/* --- tars in tars ------------------------------------------------------------------------ */

/* Opens one more level. As tar_level_new(). */
static int open_nested(struct tar *tar, const struct tar_blocks *from)
{
	struct nest *nest = &tar->nests[tar->depth];
	int r = tar_level_new(from, &tar->err, &nest->level);

	if (r != 0)
		return r;
	tar->depth++;
	return 0;
}

static void close_level(struct tar *tar)
{
	struct nest *nest = innermost(tar);

	tar_level_free(nest->level);
	tar_replay_release(&nest->bytes);
	*nest = (struct nest){0};
	tar->depth--;
	if (tar->depth > 0)
		tar->folder.len = innermost(tar)->folder;
}

/* The current file is a tar and was opened. A folder takes its place, with its name without the
 * suffix, which is `stem` long. */
static int become_folder(struct tar *tar, size_t stem)
{
	tar->path.data[stem] = '\0';
	tar->path.len = stem;
	tar->folder.len = 0;
	innermost(tar)->folder = stem;
	tar->entry = (struct tar_entry){.kind = TAR_DIRECTORY,
					.target = "",
					.mode = 0755,
					.mtime = tar->entry.mtime,
					.implied = true};
	return buf_adds(&tar->folder, tar->path.data);
}

/* Whether the current file may be a tar, as far as that is known without reading it: the length of
 * its path without the suffix, or 0. A sparse file is not a tar: its holes may be endless, and
 * would be read as the end of a tar. */
static size_t stem_of_tar(const struct tar *tar)
{
	if (tar->depth == tar->most_depth || tar->entry.holes > 0)
		return 0;
	return tar_stem(tar->path.data);
}

/* Looks into the current file if it may be a tar, and opens it if it is one. */
static int open_if_tar(struct tar *tar)
{
	struct nest *nest = innermost(tar);
	const struct tar_blocks member = {.next = tar_level_block, .context = nest->level};
	const struct tar_blocks bytes = {.next = tar_replay_next, .context = &nest->bytes};
	size_t stem = stem_of_tar(tar);
	int r = TAR_LEVEL_NONE;

	tar_replay_begin(&nest->bytes, &member, MEMBER_KEPT);
	if (stem > 0)
		r = open_nested(tar, &bytes);
	if (r == 0 || stem == 0)
		tar_replay_forget(&nest->bytes);
	else
		tar_replay_rewind(&nest->bytes);
	if (r == 0)
		return become_folder(tar, stem);
	if (r < 0 && r != -EFBIG)
		return r;
	tar->err.text[0] = '\0';
	return 0;
}

/* --- entries ----------------------------------------------------------------------------- */

static int set_path(struct tar *tar, struct buf *path, const char *name, const char **ret_fault)
{
	int r;

	path->len = 0;
	r = buf_add(path, tar->folder.data, tar->folder.len);
	return r < 0 ? r : add_name(path, name, ret_fault);
}

/* Sets the target of a hard link. */
static int set_target(struct tar *tar, const char *name, const char **ret_fault)
{
	int r = set_path(tar, &tar->target, name, ret_fault);

	if (r == -EINVAL)
		*ret_fault = "a hard link to a path that no pack can hold";
	tar->entry.target = tar->target.data;
	return r;
}

/* An entry that no pack can hold keeps the path that it has in the tar. */
static int become_unfit(struct tar *tar, const char *name, const char *fault)
{
	tar->path.len = 0;
	tar->entry.kind = TAR_UNFIT;
	tar->entry.target = fault;
	return buf_addf(&tar->path, "%.*s%s%s", (int)tar->folder.len, tar->folder.data,
			tar->folder.len ? "/" : "", name);
}

static const char *entry_fault(const struct tar *tar)
{
	const struct tar_entry *entry = &tar->entry;

	if (tar->path.len == 0 && entry->kind != TAR_DIRECTORY)
		return "no name";
	if (entry->kind == TAR_HARDLINK && tar->target.len == 0)
		return "a hard link to the root";
	if (entry->kind == TAR_SYMLINK && !*entry->target)
		return "a symbolic link to nothing";
	return NULL;
}

/* Turns a member of a level into an entry. */
static int take_member(struct tar *tar, const struct tar_entry *member)
{
	const char *fault = NULL;
	int r = set_path(tar, &tar->path, member->path, &fault);

	tar->entry = *member;
	if (r == 0 && tar->entry.kind == TAR_HARDLINK)
		r = set_target(tar, member->target, &fault);
	if (r == 0)
		fault = entry_fault(tar);
	if (fault)
		r = become_unfit(tar, member->path, fault);
	if (r == 0 && tar->entry.kind == TAR_FILE)
		r = open_if_tar(tar);
	return r;
}

/* The next member of the innermost tar that has one. */
static int next_member(struct tar *tar, struct tar_entry *ret)
{
	for (;;) {
		struct tar_level *level = innermost(tar)->level;
		int r = tar_level_finish(level);

		if (r < 0)
			return tar_fail(tar, r, "damaged within");
		r = tar_level_next(level, ret);
		if (r < 0)
			return tar_fail(tar, r, "damaged after");
		if (r == 0)
			return 0;
		if (!tar_level_ended(level)) {
			err_set(&tar->err, -EBADMSG,
				"cut off there, or not finished by its "
				"writer");
			return tar_fail(tar, -EBADMSG, "no end mark after");
		}
		if (tar->depth == 1)
			return 1;
		close_level(tar);
	}
}

static int next_entry(struct tar *tar)
{
	struct tar_entry member;
	int r = next_member(tar, &member);

	if (r != 0)
		return r;
	tar->unread = tar->left_len = 0;
	r = take_member(tar, &member);
	if (r < 0)
		return tar_fail(tar, r, "damaged within");
	tar->entry.path = tar->path.data;
	tar->unread = tar->entry.kind == TAR_FILE ? tar->entry.size : 0;
	return 0;
}

int tar_next(struct tar *tar, struct tar_entry *ret, struct err *err)
{
	int r = tar->error;

	if (tar->end)
		return 1;
	if (r == 0)
		r = next_entry(tar);
	tar->end = r == 1;
	if (r == 0)
		*ret = tar->entry;
	return r < 0 ? repeat_failure(tar, err) : r;
}

/* --- bytes ------------------------------------------------------------------------------- */

static int refill(struct tar *tar)
{
	const void *block;
	ssize_t n = tar_replay_next(&innermost(tar)->bytes, &block);

	if (n < 0)
		return tar_fail(tar, (int)n, "damaged within");
	/* A level always has as many bytes as it said. */
	if (n == 0)
		return tar_fail(tar, -EIO, "damaged within");
	tar->left = block;
	tar->left_len = (size_t)n;
	return 0;
}

/* Takes at most len bytes of the block in hand. */
static size_t take_bytes(struct tar *tar, void *buf, size_t len)
{
	size_t piece = len < tar->left_len ? len : tar->left_len;

	if (piece == 0)
		return 0;
	memcpy(buf, tar->left, piece);
	tar->left += piece;
	tar->left_len -= piece;
	tar->unread -= piece;
	return piece;
}

int tar_read(struct tar *tar, void *buf, size_t len, struct err *err)
{
	char *to = buf;
	int r = tar->error;

	if (r == 0 && len > tar->unread)
		return -EINVAL;
	for (size_t piece; r == 0 && len > 0; to += piece, len -= piece) {
		piece = take_bytes(tar, to, len);
		if (piece == 0)
			r = refill(tar);
	}
	return r < 0 ? repeat_failure(tar, err) : 0;
}

uint64_t tar_position(const struct tar *tar)
{
	if (tar->zip)
		return tar->depth ? tar_level_position(tar->nests[0].level) : 0;
	return tar->input.bytes;
}

/* --- life -------------------------------------------------------------------------------- */

static int begin_level(struct tar *tar)
{
	const struct tar_blocks bytes = {.next = tar_replay_next, .context = &tar->start};
	int r = buf_adds(&tar->path, "");

	if (r < 0 || !tar->zip)
		return r < 0 ? r : open_nested(tar, &bytes);
	r = tar_level_new_zip(tar->input.fd, &tar->err, &tar->nests[0].level);
	tar->depth = r == 0;
	return r;
}

static int no_tar(const struct tar *tar, struct err *err)
{
	if (tar->input.bytes == 0)
		return err_set(err, -EINVAL, "empty, so it is not a tar");
	return err_set(err, -EINVAL,
		       "not a tar, plain or compressed by gzip, bzip2, xz, zstd or lz4; unpack "
		       "it and pack the folder, or pipe it decompressed into 'foldpack create - "
		       "PACK'");
}

static int tar_begin(struct tar *tar, struct err *err)
{
	int r = begin_level(tar);

	if (r == 0)
		return 0;
	if (r == TAR_LEVEL_NONE)
		return no_tar(tar, err);
	tar_fail(tar, r == TAR_LEVEL_DAMAGED ? -EBADMSG : r, "damaged after");
	return repeat_failure(tar, err);
}

/* Passes on what is read, and keeps it for tar_restart() with `kept`. */
static int open_input(struct tar *tar, int fd, bool kept)
{
	const struct tar_blocks bytes = {.next = tar_input_next, .context = &tar->input};
	int r = tar_input_init(&tar->input, fd);

	tar_replay_begin(&tar->start, &bytes, TAR_LOOK_MAX);
	if (!kept)
		tar_replay_forget(&tar->start);
	return r;
}

static void tar_scope(struct tar **tar)
{
	tar_free(*tar);
}

int tar_new(int fd, enum tar_mode mode, struct tar **ret, struct err *err)
{
	SCOPE(tar_scope) struct tar *tar = calloc(1, sizeof(*tar));
	int r = tar ? open_input(tar, fd, mode == TAR_LOOK) : -ENOMEM;

	if (r < 0)
		return r;
	tar->zip = mode == TAR_ZIP;
	tar->most_depth = mode == TAR_NESTED ? TAR_DEPTH : 1;
	r = tar_begin(tar, err);
	if (r == 0)
		*ret = steal_ptr(&tar);
	return r;
}

int tar_restart(struct tar *tar, bool nested, struct err *err)
{
	while (tar->depth > 0)
		close_level(tar);
	tar_replay_rewind(&tar->start);
	tar->most_depth = nested ? TAR_DEPTH : 1;
	tar->folder.len = tar->path.len = 0;
	tar->end = false;
	tar->error = 0;
	tar->err.text[0] = '\0';
	return tar_begin(tar, err);
}

void tar_free(struct tar *tar)
{
	if (!tar)
		return;
	while (tar->depth > 0)
		close_level(tar);
	tar_replay_release(&tar->start);
	tar_input_release(&tar->input);
	buf_release(&tar->folder);
	buf_release(&tar->path);
	buf_release(&tar->target);
	free(tar);
}
