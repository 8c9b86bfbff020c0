#include "pack/foreign/index_file.h"
#include "base/math.h"
#include "base/name.h"
#include "base/reader_members.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/index_internal.h"
#include "pack/xxh3.h"
#include <inttypes.h>
#include <string.h>

#define MEMBERS_MOST UINT32_MAX
#define READ_STEP    (1 * MIB)
#define HASHED	     (64 * KIB) /* of the container's start, and of its end */
#define LISTINGS     1		/* plus 1 whenever members become another tree than before */
#define SCANS	     10		/* plus 1 whenever a script finds other files than before */

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

/* What formats take names from: that of the file; and of its folder, where all files of that kind
 * have one name. */
static const char *named_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || strcmp(slash, "/data.mdb") != 0)
		return slash ? slash + 1 : path;
	while (slash > path && slash[-1] != '/')
		slash--;
	return slash;
}

static uint64_t hash_settings(const struct foreign_tree *tree)
{
	const struct foreign_settings *settings = tree->source->settings;
	const uint8_t choices[] = {(uint8_t)settings->layout, (uint8_t)settings->class_folders,
				   settings->empty_classes};
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	hash_text(&state, named_part(tree->source->path));
	hash_text(&state, settings->schema);
	hash_text(&state, settings->image_key);
	hash_text(&state, settings->label_key);
	hash_text(&state, settings->name_key);
	hash_text(&state, tree->classes.name ? "classes" : NULL);
	hash_text(&state, tree->names.name		    ? "names"
			  : foreign_numbers_files(settings) ? "numbers"
							    : NULL);
	XXH3_64bits_update(&state, choices, sizeof(choices));
	XXH3_64bits_update(&state, &settings->strip, sizeof(settings->strip));
	XXH3_64bits_update(&state, tree->classes.text.data, tree->classes.text.len);
	XXH3_64bits_update(&state, tree->names.text.data, tree->names.text.len);
	return XXH3_64bits_digest(&state);
}

static void put_key(const struct foreign_tree *tree, uint64_t size, uint64_t written, uint64_t ends,
		    const char *object, char *ret, size_t room)
{
	snprintf(ret, room,
		 "container=%" PRIu64 " %" PRIu64 " %016" PRIx64 "\nscans=%d\nsettings=%016" PRIx64
		 "\n%s",
		 size, written, ends, SCANS, hash_settings(tree), object);
}

int index_key_make(const struct foreign_tree *tree, struct index_key *ret)
{
	struct reader *reader = tree->source->reader;
	struct reader_identity identity;
	XXH3_state_t state;
	uint64_t ends;
	int r = reader_identity(reader, &identity);

	/* `written` of a URL says nothing, and that of a copy is not the server's. */
	if (name_scheme(tree->source->path))
		identity.written = 0;
	XXH3_64bits_reset(&state);
	if (r == 0)
		r = hash_range(reader, 0, &state);
	if (r == 0 && identity.size > HASHED)
		r = hash_range(reader, identity.size - HASHED, &state);
	if (r < 0)
		return r;
	ends = XXH3_64bits_digest(&state);
	*ret = (struct index_key){0};
	/* Last, since a lone copy has none: then any index of these bytes is taken. */
	if (identity.object)
		snprintf(ret->object, sizeof(ret->object), "object=%016" PRIx64 "\n",
			 identity.object);
	put_key(tree, identity.size, 0, ends, "", ret->published, sizeof(ret->published));
	put_key(tree, identity.size, identity.written, ends, ret->object, ret->text,
		sizeof(ret->text));
	snprintf(ret->copy, sizeof(ret->copy), "foreign %016" PRIx64 " %016" PRIx64, ends,
		 identity.object);
	return 0;
}

void index_key_of_members(const struct foreign_tree *tree, struct index_key *ret)
{
	*ret = (struct index_key){0};
	snprintf(ret->text, sizeof(ret->text), "listing=%d\nsettings=%016" PRIx64 "\n", LISTINGS,
		 hash_settings(tree));
}

/* --- as a whole ------------------------------------------------------------------------------- */

/* The superblock says how long the file is: what is something else may be of any length. */
static int read_super(struct reader *reader, struct format_super *ret)
{
	uint8_t data[FORMAT_SUPER_BYTES];
	struct reader_identity identity;
	uint64_t end = 0;
	int r = reader_get_full(reader, data, sizeof(data), 0);

	if (r == 0)
		r = format_super_decode(data, sizeof(data), ret, NULL);
	if (r == 0)
		r = index_check_shape(ret, NULL);
	if (r == 0)
		r = reader_identity(reader, &identity);
	for (unsigned i = 0; r == 0 && i < SECTION_COUNT; i++)
		end = max(end, ret->sections[i].offset + ret->sections[i].bytes);
	return r == -ENODATA || (r == 0 && identity.size != end) ? -EBADMSG : r;
}

int index_whole_read(struct reader *reader, uint64_t most, struct index_whole *ret)
{
	const struct format_section_ref *refs = ret->super.sections;
	int r = read_super(reader, &ret->super);

	if (r == 0)
		r = reader_get_all(reader, most, &ret->bytes);
	for (unsigned i = 0; r == 0 && i < SECTION_COUNT; i++)
		if (refs[i].offset > ret->bytes.len ||
		    refs[i].bytes > ret->bytes.len - refs[i].offset ||
		    XXH3_64bits(ret->bytes.data + refs[i].offset, refs[i].bytes) !=
			    refs[i].checksum)
			r = -EBADMSG;
	if (r < 0)
		return r;
	ret->sums = (uint8_t *)ret->bytes.data + refs[SECTION_CHECKSUMS].offset;
	ret->sum_count = refs[SECTION_CHECKSUMS].count;
	buf_add(&ret->options, ret->bytes.data + refs[SECTION_OPTIONS].offset,
		refs[SECTION_OPTIONS].bytes);
	return buf_add(&ret->options, "", 1);
}

void index_whole_release(struct index_whole *whole)
{
	buf_release(&whole->bytes);
	buf_release(&whole->options);
}

void index_make_id(struct format_super *super)
{
	XXH128_canonical_t made;
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		XXH3_128bits_update(&state, &super->sections[i].checksum, sizeof(uint64_t));
	XXH128_canonicalFromHash(&made, XXH3_128bits_digest(&state));
	memcpy(super->id, made.digest, FORMAT_ID_BYTES);
}

int index_whole_seal(struct index_whole *whole, struct iovec *ret)
{
	struct format_section_ref *sums = &whole->super.sections[SECTION_CHECKSUMS];
	struct format_section_ref *options = &whole->super.sections[SECTION_OPTIONS];
	struct buf *bytes = &whole->bytes;

	sums->checksum = XXH3_64bits(whole->sums, sums->bytes);
	/* They are the last section. */
	if (options->offset + options->bytes == bytes->len)
		bytes->len = options->offset;
	options->offset = bytes->len;
	options->bytes = strlen(whole->options.data);
	options->checksum = XXH3_64bits(whole->options.data, options->bytes);
	if (buf_add(bytes, whole->options.data, options->bytes) < 0)
		return -ENOMEM;
	index_make_id(&whole->super);
	format_super_encode(&whole->super, (uint8_t *)bytes->data);
	*ret = (struct iovec){bytes->data, bytes->len};
	return 0;
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

int index_options_read(struct reader *reader, struct buf *ret)
{
	struct format_super super;
	const struct format_section_ref *options = &super.sections[SECTION_OPTIONS];
	int r = read_super(reader, &super);

	if (r == 0)
		r = read_blob(reader, options->offset, options->bytes, ret);
	return r < 0 ? r : buf_add(ret, "", 1);
}

/* --- what is beside the sections -------------------------------------------------------------- */

uint64_t index_extra_hash(const struct buf *text, const struct buf *rows)
{
	return XXH3_64bits(text->data, text->len) + XXH3_64bits(rows->data, rows->len);
}

/* --- members ---------------------------------------------------------------------------------- */

#define MEMBERS "members=%" PRIu64 " %" PRIu64 " %016" PRIx64 " %" PRIu64 "\n"

static uint64_t hash_members(const struct buf *rows, const struct buf *text)
{
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, rows->data, rows->len);
	XXH3_64bits_update(&state, text->data, text->len);
	return XXH3_64bits_digest(&state);
}

int index_members_write(const struct foreign_tree *tree, uint64_t listed, struct buf *ret)
{
	return buf_addf(ret, MEMBERS, tree->members.len / READER_MEMBERS_ROW,
			(uint64_t)tree->members_text.len,
			hash_members(&tree->members, &tree->members_text), listed);
}

/* The table, which stays where it is, is only compared with its hash. */
static int read_members(struct reader *index, const char *options, struct index_extra *ret)
{
	const char *line = strstr(options, "\nmembers=");
	uint64_t hash, at = INDEX_TEXT + ret->text + ret->made_count * VIRTUAL_ROW_BYTES, end;
	SCOPE_FREE void *buf = NULL;
	XXH3_state_t state;
	int r = 0;

	if (!line)
		return 0;
	if (sscanf(line, "\nmembers=%" SCNu64 " %" SCNu64 " %" SCNx64 " %" SCNu64,
		   &ret->members_count, &ret->members_text, &hash, &ret->listed) != 4 ||
	    ret->members_count > MEMBERS_MOST || ret->members_text > MEMBERS_MOST * KIB)
		return -EBADMSG;
	ret->members_offset = at;
	end = at + ret->members_count * READER_MEMBERS_ROW + ret->members_text;
	buf = malloc(READ_STEP);
	if (!buf)
		return -ENOMEM;
	XXH3_64bits_reset(&state);
	for (size_t n; r == 0 && at < end; at += n) {
		n = (size_t)min(READ_STEP, end - at);
		r = reader_get_full(index, buf, n, at);
		if (r == 0)
			XXH3_64bits_update(&state, buf, n);
	}
	if (r == -ENODATA || (r == 0 && XXH3_64bits_digest(&state) != hash))
		r = -EBADMSG;
	return r;
}

int index_extra_read(struct reader *index, struct index_extra *ret)
{
	SCOPE(buf_release) struct buf options = BUF_INIT, text = BUF_INIT, rows = BUF_INIT;
	struct reader_identity identity;
	const char *line;
	uint64_t hash;
	int r = index_options_read(index, &options);

	if (r == 0)
		r = reader_identity(index, &identity);
	if (r)
		return r;
	line = strstr(options.data, "\nextra=");
	if (!line || sscanf(line, "\nextra=%" SCNu64 " %" SCNu64 " %" SCNx64, &ret->text,
			    &ret->made_count, &hash) != 3)
		return -EBADMSG;
	ret->full = strstr(options.data, INDEX_SUMS_FULL) != NULL;
	if (ret->text > identity.size || ret->made_count > identity.size / VIRTUAL_ROW_BYTES)
		return -EBADMSG;
	r = read_blob(index, INDEX_TEXT, ret->text, &text);
	if (r == 0)
		r = read_blob(index, INDEX_TEXT + ret->text, ret->made_count * VIRTUAL_ROW_BYTES,
			      &rows);
	if (r == 0 && index_extra_hash(&text, &rows) != hash)
		r = -EBADMSG;
	if (r < 0)
		return r;
	r = read_members(index, options.data, ret);
	if (r < 0)
		return r;
	ret->made = calloc(ret->made_count + 1, sizeof(*ret->made));
	for (uint64_t i = 0; ret->made && i < ret->made_count; i++)
		ret->made[i] = virtual_decode((const uint8_t *)rows.data + i * VIRTUAL_ROW_BYTES);
	return ret->made ? 0 : -ENOMEM;
}

void index_extra_release(struct index_extra *extra)
{
	free(extra->made);
	*extra = (struct index_extra){0};
}
