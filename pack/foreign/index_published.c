/* The index that a publisher has laid beside a file, on its server or here: NAME.foldfs-index,
 * which 'foldpack index' writes. It is an index file with all checksums, whose key has no time,
 * since each copy of the file has another, and an object only if it was made of a URL
 * (index_file.h).
 *
 * If it belongs to the file it is kept where those of our own are, with a line `published`: its
 * size and time. That is never published again, and of a file on this machine counts only while the
 * publisher's is there and the same. Nothing in it is believed: it is checked as that of a pack is,
 * leads to no bytes but those of the file, and bytes that do not fit its checksums are not served.
 */
#include "base/io.h"
#include "base/le.h"
#include "base/math.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/index_internal.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define FAR_LEAST   (4 * MIB)  /* the scan of a smaller far file takes no more requests than this */
#define BYTES_LEAST (64 * MIB) /* an index has at most this, or a quarter of the file, up to: */
#define BYTES_MOST  (2048 * MIB)
#define BESIDE_MOST 8 /* files whose state it may depend on: each may be a request */
#define NOT_USED    "the index that lies beside it is not used: "
#define TAKEN	    "published=%" PRIu64 " %" PRIu64 "\n"
#define CONTAINER   "container=%" SCNu64 " %" SCNu64 " %16[0-9a-f]\n%n"

/* --- whether it belongs to the file ----------------------------------------------------------- */

/* Only files that lie in the same folder. */
static bool names_beside(const char *options)
{
	static const char line[] = "\nbeside=", letters[] =
							"abcdefghijklmnopqrstuvwxyz"
							"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
							"0123456789_-.";
	unsigned count = 0;

	for (const char *at = options; (at = strstr(at, line)); count++) {
		at += strlen(line);
		at += *at == '/';
		if (count == BESIDE_MOST || at[strspn(at, letters)] != ' ' ||
		    at[strspn(at, ".")] == ' ')
			return false;
	}
	return true;
}

/* Returns 0, with the lines behind those of the key; -EPROTONOSUPPORT (of other scripts), -ESTALE
 * (of another file), -ETIME (older than the file) or -EBADMSG. */
static int match(const struct foreign_tree *tree, const struct index_key *key, bool older,
		 const char *options, const char **ret)
{
	const char *scans = strstr(key->published, "\nscans=");
	size_t container = (size_t)(scans + strlen("\nscans=") - key->published);
	size_t release = container + strcspn(key->published + container, "\n") + 1;
	const char *end;

	if (strncmp(options, key->published, container) == 0 &&
	    strncmp(options, key->published, release) != 0)
		return -EPROTONOSUPPORT;
	if (strncmp(options, key->published, strlen(key->published)) != 0)
		return -ESTALE;
	*ret = options + strlen(key->published);
	/* Where the index was made of a URL, it says what it was made of. */
	if (strncmp(*ret, "object=", strlen("object=")) == 0) {
		if (key->object[0] ? strncmp(*ret, key->object, strlen(key->object)) != 0 : older)
			return -ESTALE;
		end = strchr(*ret, '\n');
		if (!end)
			return -EBADMSG;
		*ret = end + 1;
	} else if (older) {
		return -ETIME;
	}
	if (!strstr(options, INDEX_SUMS_FULL))
		return -EBADMSG;
	return names_beside(options) && foreign_beside_is(tree->source, options) ? 0 : -ESTALE;
}

/* --- taking ----------------------------------------------------------------------------------- */

static int take(const struct foreign_tree *tree, const struct index_key *key, bool older,
		const struct reader_identity *state, struct index_whole *whole, struct reader **ret)
{
	SCOPE(buf_release) struct buf theirs = whole->options;
	struct iovec all;
	const char *rest;
	int r;

	whole->options = BUF_INIT;
	r = match(tree, key, older, theirs.data, &rest);
	/* 0 would be no checksum: FORMAT_UNCHECKED. */
	for (uint64_t i = 0; r == 0 && i < whole->sum_count; i++)
		if (le_get64(whole->sums + 8 * i) == 0)
			r = -EBADMSG;
	if (r == 0)
		r = buf_addf(&whole->options, "%s" TAKEN "%s", key->text, state->size,
			     state->written, rest);
	if (r == 0)
		r = index_whole_seal(whole, &all);
	return r < 0 ? r : index_place_keep(tree, &all, 1, true, ret);
}

static int open_published(const struct foreign_tree *tree, struct reader **ret)
{
	const struct foreign_settings *settings = tree->source->settings;
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE(buf_release) struct buf name = BUF_INIT;
	bool remote = tree->source->window.remote;
	int r = remote && tree->source->size < FAR_LEAST
			? -ENOENT
			: index_place_name(tree, INDEX_PUBLISHED, &name);

	if (r == 0)
		r = settings->open(settings->context, name.data,
				   settings->how | READER_WHOLE | READER_ONCE, &reader, NULL);
	if (r == 0 && !remote && !index_place_is_trusted(tree, INDEX_PUBLISHED, name.data, reader))
		r = -ENOENT;
	if (r == 0)
		*ret = steal_ptr(&reader);
	return r;
}

static int take_published(const struct foreign_tree *tree, const struct index_key *key,
			  bool changed, struct reader **ret)
{
	const struct foreign_source *source = tree->source;
	uint64_t most = min(max(source->size / 4, BYTES_LEAST), BYTES_MOST);
	SCOPE(index_whole_release) struct index_whole whole = {0};
	SCOPE(reader_release) struct reader *reader = NULL;
	struct reader_identity state;
	int r;

	if (open_published(tree, &reader) != 0)
		return -ENOENT;
	r = reader_identity(reader, &state);
	if (r == 0)
		r = index_whole_read(reader, most, &whole);
	if (r == 0)
		r = take(tree, key,
			 (changed && !source->window.remote) ||
				 (state.written > 0 && state.written < source->opened.written),
			 &state, &whole, ret);
	if (r == 0)
		return 0;
	foreign_say(source->settings, source->shown,
		    r == -EFBIG ? NOT_USED
			    "it is larger than a quarter of the file (64 MiB at "
			    "least, 2 GiB at most)"
		    : r == -ETIME  ? NOT_USED "it is older than the file"
		    : r == -ESTALE ? NOT_USED
			    "it is of another file, or was made with other options"
				   : NOT_USED "it is damaged, or of another release");
	return -ENOENT;
}

static bool published_counts(const struct foreign_tree *tree, const char *options)
{
	const char *line = strstr(options, "\npublished=");
	SCOPE(reader_release) struct reader *reader = NULL;
	struct reader_identity now;
	char state[64];

	if (!line || tree->source->settings->unpublished)
		return !line;
	if (tree->source->window.remote || foreign_is_lone(tree->source))
		return true;
	if (open_published(tree, &reader) != 0 || reader_identity(reader, &now) < 0)
		return false;
	snprintf(state, sizeof(state), TAKEN, now.size, now.written);
	return strncmp(line + 1, state, strlen(state)) == 0;
}

/* --- finding ---------------------------------------------------------------------------------- */

/* `ret_changed`: one is of the file as it was before. */
static int find_own(const struct foreign_tree *tree, const struct index_key *key,
		    struct reader **ret, bool *ret_changed)
{
	size_t container = strcspn(key->text, "\n");

	*ret_changed = false;
	for (unsigned place = 0; place < INDEX_PLACES; place++) {
		SCOPE(buf_release) struct buf name = BUF_INIT, options = BUF_INIT;
		SCOPE(reader_release) struct reader *reader = NULL;

		if (index_place_name(tree, place, &name) < 0 ||
		    reader_file_open(name.data, &reader) < 0 ||
		    !index_place_is_trusted(tree, place, name.data, reader) ||
		    index_options_read(reader, &options) != 0)
			continue;
		if (strncmp(options.data, key->text, strlen(key->text)) == 0 &&
		    published_counts(tree, options.data) &&
		    (foreign_is_lone(tree->source) ||
		     foreign_beside_is(tree->source, options.data))) {
			*ret = steal_ptr(&reader);
			return 0;
		}
		*ret_changed |= strncmp(options.data, key->text, container) != 0;
	}
	return -ENOENT;
}

int index_file_find(const struct foreign_tree *tree, const struct index_key *key,
		    struct reader **ret)
{
	const struct foreign_source *source = tree->source;
	bool changed = false;

	if (source->in_memory)
		return -ENOENT;
	if (find_own(tree, key, ret, &changed) == 0)
		return 0;
	return source->settings->unpublished || foreign_is_lone(source)
		       ? -ENOENT
		       : take_published(tree, key, changed, ret);
}

/* --- publishing ------------------------------------------------------------------------------- */

/* Whether nothing is there, or an index, of any release. After a loss of power one may be empty. */
static bool may_replace(const char *path)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	uint8_t super[FORMAT_SUPER_BYTES];
	struct format_super decoded;
	struct stat st;
	int r;

	if (lstat(path, &st) < 0)
		return errno == ENOENT;
	if (!S_ISREG(st.st_mode) || reader_file_open(path, &reader) < 0)
		return false;
	r = reader_get_full(reader, super, sizeof(super), 0);
	if (r == 0)
		r = format_super_decode(super, sizeof(super), &decoded, NULL);
	return r == 0 || r == -EPROTONOSUPPORT || st.st_size == 0;
}

int index_published_write(struct reader *index, const char *path, mode_t mode, struct err *err)
{
	SCOPE(index_whole_release) struct index_whole whole = {0};
	SCOPE(buf_release) struct buf own = BUF_INIT;
	SCOPE_CLOSE int fd = -1;
	uint64_t size, written;
	struct iovec all;
	char hash[17];
	int end = 0, r = index_whole_read(index, SIZE_MAX / 2, &whole);

	if (r < 0)
		return r;
	own = whole.options;
	whole.options = BUF_INIT;
	if (sscanf(own.data, CONTAINER, &size, &written, hash, &end) != 3 || !end)
		return -EBADMSG;
	r = buf_addf(&whole.options, "container=%" PRIu64 " 0 %s\n%s", size, hash, own.data + end);
	if (r == 0)
		r = index_whole_seal(&whole, &all);
	if (r < 0)
		return r;
	if (!may_replace(path))
		return err_set(err, -EEXIST, "exists and is not an index; nothing was written");
	fd = io_put(path, mode, &all, 1);
	return fd < 0 ? fd : 0;
}
