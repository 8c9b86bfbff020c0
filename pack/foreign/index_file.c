#include "pack/foreign/index_file.h"
#include "base/le.h"
#include "base/reader_file.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/xxh3.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HASHED	  (64 * KIB) /* of the container's start, and of its end */
#define SUFFIX	  ".foldfs-index"
#define SUMS_NONE "\nchecksums=none\n"
#define SUMS_FULL "\nchecksums=full\n" /* as long */

/* --- what it belongs to ----------------------------------------------------------------------- */

static int hash_range(struct reader *reader, uint64_t offset, XXH3_state_t *state)
{
	SCOPE_FREE void *buf = malloc(HASHED);
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	n = reader_get(reader, buf, HASHED, offset);
	if (n < 0)
		return (int)n;
	XXH3_64bits_update(state, buf, (size_t)n);
	return 0;
}

static void hash_text(XXH3_state_t *state, const char *text)
{
	XXH3_64bits_update(state, text ? text : "", text ? strlen(text) + 1 : 1);
}

static bool is_url(const char *path)
{
	return strstr(path, "://") != NULL;
}

/* Without what is secret in a URL. */
static const char *name_of_source(const struct foreign_tree *tree)
{
	const struct foreign_source *source = tree->source;

	return is_url(source->path) ? source->shown : source->path;
}

/* The names of the file and of its folder, of which some formats make those of classes. */
static const char *last_two(const char *path)
{
	const char *slash = strrchr(path, '/');

	while (slash && slash > path && slash[-1] != '/')
		slash--;
	return slash ? slash : path;
}

static uint64_t hash_settings(const struct foreign_tree *tree)
{
	const struct foreign_settings *settings = tree->source->settings;
	const uint8_t layout = (uint8_t)settings->layout;
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	hash_text(&state, last_two(name_of_source(tree)));
	hash_text(&state, settings->schema);
	hash_text(&state, settings->image_key);
	hash_text(&state, settings->label_key);
	hash_text(&state, settings->name_key);
	hash_text(&state, tree->classes.name ? "classes" : NULL);
	hash_text(&state, tree->names.name ? "names" : NULL);
	XXH3_64bits_update(&state, &layout, 1);
	XXH3_64bits_update(&state, tree->classes.text.data, tree->classes.text.len);
	XXH3_64bits_update(&state, tree->names.text.data, tree->names.text.len);
	return XXH3_64bits_digest(&state);
}

int index_key_make(const struct foreign_tree *tree, struct index_key *ret)
{
	struct reader *reader = tree->source->reader;
	const char *name = name_of_source(tree);
	struct reader_identity identity;
	XXH3_state_t state;
	int r = reader_identity(reader, &identity);

	/* A server tells no time, and that of a copy is its own. */
	if (is_url(name))
		identity.written = 0;
	XXH3_64bits_reset(&state);
	if (r == 0)
		r = hash_range(reader, 0, &state);
	if (r == 0 && identity.size > HASHED)
		r = hash_range(reader, identity.size - HASHED, &state);
	if (r < 0)
		return r;
	snprintf(ret->text, sizeof(ret->text),
		 "container=%" PRIu64 " %" PRIu64 " %016" PRIx64 "\nsettings=%016" PRIx64 "\n",
		 identity.size, identity.written, XXH3_64bits_digest(&state), hash_settings(tree));
	snprintf(ret->copy, sizeof(ret->copy), "foreign %" PRIu64 " %016" PRIx64 " %016" PRIx64,
		 identity.written, XXH3_64bits_digest(&state), XXH3_64bits(name, strlen(name)));
	return 0;
}

/* --- where it is kept ------------------------------------------------------------------------- */

enum place { BESIDE, CACHED, PLACES };

/* 0, -ENOENT where there is no such place, or -ENOMEM. */
static int name_beside(const struct foreign_tree *tree, struct buf *ret)
{
	const char *path = tree->source->path;
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;

	if (is_url(path))
		return -ENOENT;
	return buf_addf(ret, "%.*s.%s" SUFFIX, folder, path, path + folder);
}

static int name_cached(const struct foreign_tree *tree, struct buf *ret)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const char *name = name_of_source(tree);
	bool set = cache && *cache == '/';

	if (!set && (!home || *home != '/'))
		return -ENOENT;
	return buf_addf(ret, "%s%s/foldfs/index/%016" PRIx64 SUFFIX, set ? cache : home,
			set ? "" : "/.cache", XXH3_64bits(name, strlen(name)));
}

static int name_of(const struct foreign_tree *tree, enum place place, struct buf *ret)
{
	return place == BESIDE ? name_beside(tree, ret) : name_cached(tree, ret);
}

static int make_folders(const char *path)
{
	SCOPE_FREE char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* --- finding it ------------------------------------------------------------------------------- */

static int read_super(struct reader *reader, struct format_super *ret)
{
	uint8_t bytes[FORMAT_SUPER_BYTES];
	int r = reader_get_full(reader, bytes, sizeof(bytes), 0);

	return r < 0 ? r : format_super_decode(bytes, sizeof(bytes), ret, NULL);
}

static int read_blob(struct reader *index, uint64_t offset, uint64_t len, struct buf *ret)
{
	int r = len > SIZE_MAX / 2 ? -EBADMSG : buf_reserve(ret, len);

	if (r == 0)
		r = reader_get_full(index, ret->data, len, offset);
	if (r == 0)
		ret->len = len;
	return r == -ENODATA ? -EBADMSG : r;
}

static int read_options(struct reader *reader, struct buf *ret)
{
	struct reader_identity identity;
	struct format_super super;
	const struct format_section_ref *options = &super.sections[SECTION_OPTIONS];
	int r = read_super(reader, &super);

	if (r == 0)
		r = reader_identity(reader, &identity);
	if (r == 0 && options->bytes > identity.size)
		r = -EBADMSG;
	if (r == 0)
		r = read_blob(reader, options->offset, options->bytes, ret);
	return r < 0 ? r : buf_add(ret, "", 1);
}

static bool belongs(const struct foreign_tree *tree, struct reader *reader,
		    const struct index_key *key)
{
	SCOPE(buf_release) struct buf options = BUF_INIT;

	return read_options(reader, &options) == 0 &&
	       strncmp(options.data, key->text, strlen(key->text)) == 0 &&
	       (foreign_is_lone(tree->source) || foreign_beside_is(tree->source, options.data));
}

int index_file_find(const struct foreign_tree *tree, const struct index_key *key,
		    struct reader **ret)
{
	for (unsigned place = 0; place < PLACES; place++) {
		SCOPE(buf_release) struct buf name = BUF_INIT;
		SCOPE(reader_release) struct reader *reader = NULL;

		if (name_of(tree, place, &name) == 0 && reader_file_open(name.data, &reader) == 0 &&
		    belongs(tree, reader, key)) {
			*ret = steal_ptr(&reader);
			return 0;
		}
	}
	return -ENOENT;
}

/* --- writing it ------------------------------------------------------------------------------- */

struct writing {
	struct foreign_tree *tree;
	struct index index;
	struct buf rows; /* of struct made_row */
	struct buf options;
	struct format_super super;
	struct buf whole; /* all of it, where it was there before */
	int fd;
};

static void writing_release(struct writing *w)
{
	index_release(&w->index);
	buf_release(&w->rows);
	buf_release(&w->options);
	buf_release(&w->whole);
	scope_close(&w->fd);
}

static int make_index(struct writing *w, struct err *err)
{
	uint64_t next = reader_volumes_after(0, w->tree->source->size);
	uint64_t starts[TREE_VOLUMES] = {[TREE_MADE] = next};

	if (w->tree->made_end)
		next = reader_volumes_after(next, w->tree->made_end);
	starts[TREE_TEXT] = next + INDEX_TEXT;
	return tree_index(w->tree, starts, &w->index, err);
}

static size_t made_count(const struct foreign_tree *tree)
{
	return tree->made.len / sizeof(struct made_row);
}

static int make_rows(struct writing *w)
{
	const struct made_row *all = (const struct made_row *)(const void *)w->tree->made.data;
	int r = 0;

	for (size_t i = 0; r == 0 && i < made_count(w->tree); i++) {
		uint8_t row[MADE_ROW_BYTES];

		made_encode(&all[i], row);
		r = buf_add(&w->rows, row, sizeof(row));
	}
	return r;
}

static uint64_t hash_extra(const void *text, size_t text_len, const void *rows, size_t rows_len)
{
	return XXH3_64bits(text, text_len) + XXH3_64bits(rows, rows_len);
}

static int make_options(struct writing *w, const struct index_key *key, const char *format)
{
	const struct buf *text = &w->tree->text;

	const struct buf *beside = &w->tree->source->beside;
	int r = buf_addf(&w->options, "%sformat=%s\nextra=%zu %zu %016" PRIx64 SUMS_NONE, key->text,
			 format, text->len, made_count(w->tree),
			 hash_extra(text->data, text->len, w->rows.data, w->rows.len));

	return r < 0 ? r : buf_add(&w->options, beside->data, beside->len);
}

static void count_entries(const struct index *index, struct format_super *super)
{
	super->entries = index->entries;
	for (uint32_t e = 0; e < index->entries; e++) {
		enum format_kind kind = index_kind(index, e);

		super->directories += kind == FORMAT_DIRECTORY;
		super->symlinks += kind == FORMAT_SYMLINK;
		super->files += format_is_file(kind);
		if (format_is_file(kind))
			super->bytes += index_get(index, SECTION_SIZE, e);
	}
}

static void make_id(const struct format_super *super, uint8_t id[static FORMAT_ID_BYTES])
{
	XXH128_canonical_t made;
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		XXH3_128bits_update(&state, &super->sections[i].checksum, sizeof(uint64_t));
	XXH128_canonicalFromHash(&made, XXH3_128bits_digest(&state));
	memcpy(id, made.digest, FORMAT_ID_BYTES);
}

static void make_super(struct writing *w)
{
	uint64_t offset = INDEX_TEXT + w->tree->text.len + w->rows.len;

	w->super.version = FORMAT_VERSION;
	w->super.incompat = FORMAT_UNCHECKED;
	count_entries(&w->index, &w->super);
	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		const struct index_section *section = &w->index.sections[i];

		w->super.sections[i] = (struct format_section_ref){
			.offset = offset,
			.bytes = section->bytes,
			.count = section->count,
			.width = section->width,
			.checksum = XXH3_64bits(section->data, section->bytes)};
		offset += section->bytes;
	}
	make_id(&w->super, w->super.id);
}

/* The options are a section like any other. */
static int take_options(struct writing *w)
{
	struct index_section *section = &w->index.sections[SECTION_OPTIONS];

	free(section->data);
	if (index_section_alloc(section, w->options.len, 0) < 0)
		return -ENOMEM;
	memcpy(section->data, w->options.data, w->options.len);
	return 0;
}

static int put(const struct writing *w, const void *data, uint64_t len, uint64_t *offset)
{
	const char *at = data;

	while (len) {
		ssize_t n = pwrite(w->fd, at, len, (off_t)*offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (uint64_t)n;
		*offset += (uint64_t)n;
	}
	return 0;
}

static int put_all(const struct writing *w)
{
	uint8_t super[FORMAT_SUPER_BYTES];
	uint64_t offset = 0;
	int r;

	if (w->whole.len)
		return put(w, w->whole.data, w->whole.len, &offset);
	format_super_encode(&w->super, super);
	r = put(w, super, sizeof(super), &offset);
	if (r == 0)
		r = put(w, w->tree->text.data, w->tree->text.len, &offset);
	if (r == 0)
		r = put(w, w->rows.data, w->rows.len, &offset);
	for (unsigned i = 0; r == 0 && i < SECTION_COUNT; i++)
		r = put(w, w->index.sections[i].data, w->index.sections[i].bytes, &offset);
	return r;
}

/* --- its place -------------------------------------------------------------------------------- */

/* Names tell of what is in the container: who may not read that shall not read these. */
static mode_t mode_of(const struct foreign_tree *tree)
{
	struct stat st;

	return stat(tree->source->path, &st) == 0 ? st.st_mode & 0666 : 0600;
}

static int link_file(int fd, const char *temporary, const char *name)
{
	char opened[64];

	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, opened, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	if (rename(temporary, name) == 0)
		return 0;
	unlink(temporary);
	return -errno;
}

/* A file without a name until it is whole, where the filesystem has those. */
static int write_unnamed(struct writing *w, const char *name, const char *temporary)
{
	SCOPE_FREE char *folder = strdup(name);
	int r;

	if (!folder)
		return -ENOMEM;
	folder[strrchr(folder, '/') ? strrchr(folder, '/') - folder : 0] = '\0';
	w->fd = open(strchr(name, '/') ? (*folder ? folder : "/") : ".",
		     O_TMPFILE | O_RDWR | O_CLOEXEC, mode_of(w->tree));
	if (w->fd < 0)
		return -EOPNOTSUPP;
	r = put_all(w);
	return r < 0 ? r : link_file(w->fd, temporary, name);
}

static int write_temporary(struct writing *w, const char *name, const char *temporary)
{
	int r;

	w->fd = open(temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode_of(w->tree));
	if (w->fd < 0)
		return -errno;
	r = put_all(w);
	if (r == 0 && rename(temporary, name) < 0)
		r = -errno;
	if (r < 0)
		unlink(temporary);
	return r;
}

static int write_in_place(struct writing *w, enum place place)
{
	SCOPE(buf_release) struct buf name = BUF_INIT, temporary = BUF_INIT;
	int r = name_of(w->tree, place, &name);

	if (r == 0 && place == CACHED)
		r = make_folders(name.data);
	if (r == 0)
		r = buf_addf(&temporary, "%s.%d", name.data, (int)gettid());
	if (r == 0)
		r = write_unnamed(w, name.data, temporary.data);
	if (r == -EOPNOTSUPP || r == -ENOENT)
		r = temporary.len ? write_temporary(w, name.data, temporary.data) : r;
	if (r < 0)
		scope_close(&w->fd);
	if (r < 0)
		w->fd = -1;
	return r;
}

static int write_in_memory(struct writing *w)
{
	w->fd = memfd_create("foldfs-index", MFD_CLOEXEC);
	return w->fd < 0 ? -errno : put_all(w);
}

static int write_on_disk(struct writing *w)
{
	int r = -ENOENT;

	if (w->tree->source->settings->decompressed)
		return r;
	for (unsigned place = 0; r < 0 && place < PLACES; place++)
		r = write_in_place(w, place);
	return r;
}

static int write_somewhere(struct writing *w)
{
	int r = write_on_disk(w);

	return r < 0 ? write_in_memory(w) : r;
}

static int open_again(int fd, struct reader **ret)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return reader_file_open(name, ret);
}

int index_file_write(struct foreign_tree *tree, const struct index_key *key, const char *format,
		     struct reader **ret, struct err *err)
{
	SCOPE(writing_release) struct writing w = {.tree = tree, .fd = -1};
	int r = make_index(&w, err);

	if (r == 0)
		r = make_rows(&w);
	if (r == 0)
		r = make_options(&w, key, format);
	if (r == 0)
		r = take_options(&w);
	if (r < 0)
		return r;
	make_super(&w);
	r = write_somewhere(&w);
	return r < 0 ? r : open_again(w.fd, ret);
}

/* --- with checksums --------------------------------------------------------------------------- */

/* Where a section lies in the whole file; NULL: it does not. */
static char *section_in(struct writing *w, enum format_section section)
{
	const struct format_section_ref *ref = &w->super.sections[section];

	return ref->offset <= w->whole.len && ref->bytes <= w->whole.len - ref->offset
		       ? w->whole.data + ref->offset
		       : NULL;
}

static void hash_section(struct writing *w, enum format_section section)
{
	struct format_section_ref *ref = &w->super.sections[section];

	ref->checksum = XXH3_64bits(w->whole.data + ref->offset, ref->bytes);
}

static int put_sums(struct writing *w, const uint64_t *rows, uint64_t count)
{
	const struct format_section_ref *ref = &w->super.sections[SECTION_CHECKSUMS];
	char *sums = section_in(w, SECTION_CHECKSUMS);

	if (!sums || ref->count != count || ref->width != 8 || ref->bytes != 8 * count)
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++)
		le_put64((uint8_t *)sums + 8 * i, rows[i]);
	hash_section(w, SECTION_CHECKSUMS);
	return 0;
}

static int put_full(struct writing *w)
{
	const struct format_section_ref *ref = &w->super.sections[SECTION_OPTIONS];
	char *options = section_in(w, SECTION_OPTIONS), *line;

	if (!options || XXH3_64bits(options, ref->bytes) != ref->checksum)
		return -EBADMSG;
	line = memmem(options, ref->bytes, SUMS_NONE, strlen(SUMS_NONE));
	if (!line)
		return -EBADMSG;
	memcpy(line, SUMS_FULL, strlen(SUMS_FULL));
	hash_section(w, SECTION_OPTIONS);
	return 0;
}

int index_file_add_sums(struct foreign_tree *tree, struct reader *old, const uint64_t *rows,
			uint64_t count, bool full)
{
	SCOPE(writing_release) struct writing w = {.tree = tree, .fd = -1};
	struct reader_identity identity;
	int r = reader_identity(old, &identity);

	if (r == 0)
		r = read_super(old, &w.super);
	if (r == 0)
		r = read_blob(old, 0, identity.size, &w.whole);
	if (r == 0)
		r = put_sums(&w, rows, count);
	if (r == 0 && full)
		r = put_full(&w);
	if (r < 0)
		return r;
	make_id(&w.super, w.super.id);
	format_super_encode(&w.super, (uint8_t *)w.whole.data);
	return write_on_disk(&w);
}

/* --- reading what is beside the sections ------------------------------------------------------ */

static int take_rows(const struct buf *rows, struct index_extra *ret)
{
	ret->made = calloc(ret->made_count + 1, sizeof(*ret->made));
	if (!ret->made)
		return -ENOMEM;
	for (uint64_t i = 0; i < ret->made_count; i++)
		ret->made[i] = made_decode((const uint8_t *)rows->data + i * MADE_ROW_BYTES);
	return 0;
}

int index_extra_read(struct reader *index, struct index_extra *ret)
{
	SCOPE(buf_release) struct buf options = BUF_INIT, text = BUF_INIT, rows = BUF_INIT;
	struct reader_identity identity;
	const char *line;
	uint64_t hash;
	int r = read_options(index, &options);

	if (r == 0)
		r = reader_identity(index, &identity);
	if (r < 0)
		return r;
	line = strstr(options.data, "\nextra=");
	if (!line || sscanf(line, "\nextra=%" SCNu64 " %" SCNu64 " %" SCNx64, &ret->text,
			    &ret->made_count, &hash) != 3)
		return -EBADMSG;
	ret->full = strstr(options.data, SUMS_FULL) != NULL;
	if (ret->text > identity.size || ret->made_count > identity.size / MADE_ROW_BYTES)
		return -EBADMSG;
	r = read_blob(index, INDEX_TEXT, ret->text, &text);
	if (r == 0)
		r = read_blob(index, INDEX_TEXT + ret->text, ret->made_count * MADE_ROW_BYTES,
			      &rows);
	if (r == 0 && hash_extra(text.data, text.len, rows.data, rows.len) != hash)
		r = -EBADMSG;
	return r < 0 ? r : take_rows(&rows, ret);
}

void index_extra_release(struct index_extra *extra)
{
	free(extra->made);
	*extra = (struct index_extra){0};
}
