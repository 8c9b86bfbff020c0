#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/foreign/index_file.h"
#include "pack/foreign/index_place.h"
#include "pack/foreign/index_published.h"
#include "pack/xxh3.h"
#include <inttypes.h>
#include <string.h>

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

static bool belongs(const struct foreign_tree *tree, const struct index_key *key,
		    const char *options)
{
	return strncmp(options, key->text, strlen(key->text)) == 0 &&
	       index_published_counts(tree, options) &&
	       (foreign_is_lone(tree->source) || foreign_beside_is(tree->source, options));
}

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
		    read_options(reader, &options) != 0)
			continue;
		if (belongs(tree, key, options.data)) {
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
	int r = source->in_memory ? -ENOENT : find_own(tree, key, ret, &changed);

	return r == 0 || source->in_memory || source->settings->unpublished ||
			       foreign_is_lone(source)
		       ? r
		       : index_published_take(tree, key, changed, ret);
}

/* --- what is beside the sections -------------------------------------------------------------- */

uint64_t index_extra_hash(const void *text, size_t text_len, const void *rows, size_t rows_len)
{
	return XXH3_64bits(text, text_len) + XXH3_64bits(rows, rows_len);
}

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
	if (r)
		return r;
	line = strstr(options.data, "\nextra=");
	if (!line || sscanf(line, "\nextra=%" SCNu64 " %" SCNu64 " %" SCNx64, &ret->text,
			    &ret->made_count, &hash) != 3)
		return -EBADMSG;
	ret->full = strstr(options.data, INDEX_SUMS_FULL) != NULL;
	if (ret->text > identity.size || ret->made_count > identity.size / MADE_ROW_BYTES)
		return -EBADMSG;
	r = read_blob(index, INDEX_TEXT, ret->text, &text);
	if (r == 0)
		r = read_blob(index, INDEX_TEXT + ret->text, ret->made_count * MADE_ROW_BYTES,
			      &rows);
	if (r == 0 && index_extra_hash(text.data, text.len, rows.data, rows.len) != hash)
		r = -EBADMSG;
	return r < 0 ? r : take_rows(&rows, ret);
}

void index_extra_release(struct index_extra *extra)
{
	free(extra->made);
	*extra = (struct index_extra){0};
}
