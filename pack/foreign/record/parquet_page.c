#include "pack/foreign/record/parquet_page.h"
#include "base/le.h"
#include "base/math.h"
#include "base/size.h"
#include "pack/foreign/codec.h"
#include <string.h>

#define HEAD 65536 /* bytes of a page's header that are read; more, where they do not do */

#define LOAD_MOST MIB /* bytes of a page */

enum { DATA, INDEX, DICTIONARY, DATA_V2 };
enum { PLAIN = 0, PLAIN_DICTIONARY = 2, RLE = 3, RLE_DICTIONARY = 8 };

struct header {
	int64_t type, unpacked, packed;
	int64_t values, encoding, level_encoding, levels, repetitions, compressed;
};

static int damaged(struct err *err, const char *what)
{
	return err_set(err, -EBADMSG, "a page is damaged: %s", what);
}

/* --- bytes ------------------------------------------------------------------------------------ */

static int body_get(struct parquet_body *body, uint64_t at, uint64_t len, const uint8_t **ret,
		    struct err *err)
{
	if (at > body->size || len > body->size - at)
		return damaged(err, "a value is cut off");
	if (!body->in_memory)
		return foreign_get(body->source, body->offset + at, len, ret, err);
	*ret = (const uint8_t *)body->unpacked.data + at;
	return 0;
}

static int body_read(struct parquet_column *c, struct parquet_body *body, uint64_t at,
		     uint64_t packed, uint64_t unpacked, bool compressed, struct err *err)
{
	bool load = c->load && packed <= LOAD_MOST;
	const uint8_t *p;
	int r;

	body->source = c->source;
	body->offset = at;
	body->size = compressed ? unpacked : packed;
	body->in_memory = compressed || load;
	body->unpacked.len = body->pieces.len = 0;
	if (!body->in_memory)
		return 0;
	if (compressed && unpacked > FOREIGN_MOST)
		return err_set(err, -EOPNOTSUPP,
			       "a compressed page of over 64 MiB: smaller row groups have "
			       "smaller pages");
	r = foreign_get(c->source, at, packed, &p, err);
	if (r == 0)
		r = buf_reserve(&body->unpacked, body->size + 1);
	if (r == 0 && !compressed)
		return buf_add(&body->unpacked, p, packed);
	if (r == 0 && unpacked)
		r = codec_unpack((enum codec)c->codec, p, packed, body->unpacked.data, unpacked,
				 err);
	if (r == 0 && !c->load)
		r = codec_split((enum codec)c->codec, p, packed, unpacked, &body->pieces);
	return r;
}

static void body_release(struct parquet_body *body)
{
	buf_release(&body->unpacked);
	buf_release(&body->pieces);
}

/* --- values ----------------------------------------------------------------------------------- */

static bool is_bytes(const struct parquet_column *c)
{
	return c->leaf->type == PARQUET_BYTES;
}

static int plain_next(struct parquet_column *c, struct parquet_body *body, uint64_t *at,
		      struct parquet_value *ret, struct err *err)
{
	enum parquet_type type = c->leaf->type;
	uint64_t width = type == PARQUET_INT64 ? 8 : 4;
	const uint8_t *p;
	int r = body_get(body, *at, width, &p, err);

	if (r < 0)
		return r;
	*at += width;
	*ret = (struct parquet_value){.in_memory = body->in_memory, .body = body};
	if (type == PARQUET_INT64)
		ret->number = (int64_t)le_get64(p);
	else if (type == PARQUET_INT32)
		ret->number = (int32_t)le_get32(p);
	if (!is_bytes(c))
		return 0;
	ret->size = le_get32(p);
	ret->offset = *at + (body->in_memory ? 0 : body->offset);
	if (ret->size > body->size - *at)
		return damaged(err, "a value is longer than its page");
	*at += ret->size;
	return 0;
}

/* --- pages ------------------------------------------------------------------------------------ */

/* Of field 5 (data), 7 (dictionary) or 8 (data v2). */
static void read_kind(struct thrift *t, int id, struct header *h)
{
	const struct thrift_want v1[] = {
		{1, &h->values, NULL}, {2, &h->encoding, NULL}, {3, &h->level_encoding, NULL}};
	const struct thrift_want v2[] = {{1, &h->values, NULL},
					 {4, &h->encoding, NULL},
					 {5, &h->levels, NULL},
					 {6, &h->repetitions, NULL},
					 {7, &h->compressed, NULL}};

	if (id == 8)
		thrift_read(t, v2, 5);
	else
		thrift_read(t, v1, id == 5 ? 3 : 2);
}

static void parse_header(struct thrift *t, struct header *h)
{
	struct thrift_field field = {0};

	*h = (struct header){.type = -1, .level_encoding = RLE, .compressed = 1};
	while (thrift_next(t, &field)) {
		if (field.id >= 1 && field.id <= 3) {
			int64_t n = thrift_int(t, field.type);

			*(field.id == 1 ? &h->type : field.id == 2 ? &h->unpacked : &h->packed) = n;
		} else if ((field.id == 5 || field.id == 7 || field.id == 8) &&
			   field.type == THRIFT_STRUCT) {
			read_kind(t, field.id, h);
		} else {
			thrift_skip(t, field.type);
		}
	}
}

/* Its statistics may have the least and the greatest of its values: whole images. */
static int read_header(struct parquet_column *c, struct header *h, struct err *err)
{
	uint64_t most = min(c->end - c->at, FOREIGN_MOST);
	struct thrift t = {.bad = true};
	const uint8_t *p = NULL;
	size_t len = 0;

	if (c->at >= c->end)
		return damaged(err, "there are fewer values than rows");
	for (uint64_t want = HEAD; t.bad && len < most; want *= 16) {
		int r = foreign_peek(c->source, c->at, (size_t)min(most, want), &p, &len);

		if (r < 0)
			return r;
		t = (struct thrift){p, p + len, false};
		parse_header(&t, h);
		if (len < want)
			break;
	}
	c->at += (uint64_t)(t.at - p);
	if (t.bad || h->packed < 0 || h->unpacked < 0 || h->values < 0 || h->levels < 0 ||
	    h->repetitions < 0 || h->levels > h->packed || (uint64_t)h->packed > c->end - c->at)
		return damaged(err, "its header");
	return 0;
}

static int read_dictionary(struct parquet_column *c, const struct header *h, uint64_t at,
			   struct err *err)
{
	uint64_t next = 0;
	int r = body_read(c, &c->dictionary, at, (uint64_t)h->packed, (uint64_t)h->unpacked,
			  c->codec != CODEC_NONE, err);

	c->entries.len = 0;
	if (r == 0 && (uint64_t)h->values > min(c->source->size, c->dictionary.size))
		return damaged(err, "more entries in a dictionary than bytes in the file");
	if (r == 0)
		r = buf_reserve(&c->entries, (size_t)h->values * sizeof(struct parquet_entry));
	for (int64_t i = 0; r == 0 && i < h->values; i++) {
		struct parquet_value value;
		struct parquet_entry entry;

		r = plain_next(c, &c->dictionary, &next, &value, err);
		entry = (struct parquet_entry){is_bytes(c) ? (int64_t)value.offset : value.number,
					       value.size};
		if (r == 0)
			r = buf_add(&c->entries, &entry, sizeof(entry));
	}
	return r;
}

/* In v2 the levels lie in front of the values, which alone are compressed. In v1 they are part of
 * the page, after their length. */
static int read_levels(struct parquet_column *c, const struct header *h, uint64_t at,
		       struct err *err)
{
	unsigned width = 0;
	const uint8_t *p = NULL;
	uint64_t len = (uint64_t)h->levels;
	int r = 0;

	while (c->leaf->optional >> width)
		width++;
	c->next = 0;
	if (h->type == DATA_V2) {
		r = foreign_get(c->source, at, len, &p, err);
	} else if (width > 0) {
		r = body_get(&c->page, 0, 4, &p, err);
		len = r == 0 ? le_get32(p) : 0;
		if (r == 0)
			r = body_get(&c->page, 4, len, &p, err);
		c->next = 4 + len;
	}
	return r < 0 ? r : parquet_runs_begin(&c->level, &c->levels, p, width ? len : 0, width);
}

static int read_indices(struct parquet_column *c, struct err *err)
{
	const uint8_t *p;
	int r = 0;

	if (c->next == c->page.size) {
		c->index = (struct parquet_runs){.width = 1};
		return 0;
	}
	r = body_get(&c->page, c->next, c->page.size - c->next, &p, err);
	if (r == 0 && p[0] > 32)
		return damaged(err, "the width of its indices");
	return r < 0 ? r
		     : parquet_runs_begin(&c->index, &c->indices, p + 1, c->page.size - c->next - 1,
					  p[0]);
}

static int not_read(const struct parquet_column *c, int64_t encoding, struct err *err)
{
	static const char *const names[] = {"PLAIN",
					    "GROUP_VAR_INT",
					    "PLAIN_DICTIONARY",
					    "RLE",
					    "BIT_PACKED",
					    "DELTA_BINARY_PACKED",
					    "DELTA_LENGTH_BYTE_ARRAY",
					    "DELTA_BYTE_ARRAY",
					    "RLE_DICTIONARY",
					    "BYTE_STREAM_SPLIT"};
	bool known = encoding >= 0 && encoding < (int64_t)(sizeof(names) / sizeof(*names));

	return err_set(err, -EOPNOTSUPP,
		       "the column '%s' has %s, which is not read: pyarrow's "
		       "write_table(read_table(FILE), NEW) writes one that is",
		       c->leaf->name, known ? names[encoding] : "a newer encoding");
}

static int read_data(struct parquet_column *c, const struct header *h, uint64_t at, struct err *err)
{
	uint64_t ahead = h->type == DATA_V2 ? (uint64_t)h->levels : 0;
	int r;

	c->by_dictionary = h->encoding == PLAIN_DICTIONARY || h->encoding == RLE_DICTIONARY;
	if (!c->by_dictionary && h->encoding != PLAIN)
		return not_read(c, h->encoding, err);
	if (c->leaf->optional && h->level_encoding != RLE)
		return not_read(c, h->level_encoding, err);
	if ((uint64_t)h->unpacked < ahead || h->repetitions)
		return damaged(err, "its header");
	r = body_read(c, &c->page, at + ahead, (uint64_t)h->packed - ahead,
		      (uint64_t)h->unpacked - ahead, c->codec != CODEC_NONE && h->compressed, err);
	if (r == 0)
		r = read_levels(c, h, at, err);
	if (r == 0 && c->by_dictionary)
		r = read_indices(c, err);
	c->left = (uint64_t)h->values;
	return r;
}

static int read_page(struct parquet_column *c, struct err *err)
{
	struct header h;
	int r = read_header(c, &h, err);
	uint64_t at = c->at;

	if (r < 0)
		return r;
	c->at += (uint64_t)h.packed;
	if (h.type == DICTIONARY)
		return read_dictionary(c, &h, at, err);
	return h.type == DATA || h.type == DATA_V2 ? read_data(c, &h, at, err) : 0;
}

/* --- columns ---------------------------------------------------------------------------------- */

void parquet_column_init(struct parquet_column *c, struct foreign_source *source,
			 const struct parquet_leaf *leaf, const struct parquet_chunk *chunk,
			 bool load)
{
	parquet_column_release(c);
	*c = (struct parquet_column){.source = source,
				     .leaf = leaf,
				     .codec = chunk->codec,
				     .load = load,
				     .at = chunk->offset,
				     .end = chunk->offset + chunk->size};
}

static int dictionary_next(struct parquet_column *c, uint64_t *count, struct parquet_value *ret,
			   struct err *err)
{
	const struct parquet_entry *entry = BUF_ITEMS(&c->entries, const struct parquet_entry);
	uint32_t n;
	uint64_t same = parquet_runs_look(&c->index, &n);

	if (!same || n >= BUF_COUNT(&c->entries, *entry))
		return damaged(err, "an index outside of the dictionary");
	*count = min(*count, same);
	parquet_runs_pass(&c->index, *count);
	entry += n;
	*ret = (struct parquet_value){.in_memory = c->dictionary.in_memory, .body = &c->dictionary};
	ret->size = entry->size;
	if (is_bytes(c))
		ret->offset = (uint64_t)entry->number;
	else
		ret->number = entry->number;
	return 0;
}

int parquet_column_next(struct parquet_column *c, uint64_t most, struct parquet_value *ret,
			uint64_t *ret_count, struct err *err)
{
	uint64_t same, count;
	uint32_t n;
	int r = 0;

	while (r == 0 && c->left == 0)
		r = read_page(c, err);
	if (r < 0)
		return r;
	same = parquet_runs_look(&c->level, &n);
	if (!same)
		return damaged(err, "its definition levels are cut off");
	count = min(min(most, c->left), same);
	if (n < c->leaf->optional) {
		*ret = (struct parquet_value){.null = true};
	} else if (c->by_dictionary) {
		r = dictionary_next(c, &count, ret, err);
	} else {
		count = 1;
		r = plain_next(c, &c->page, &c->next, ret, err);
	}
	if (r < 0)
		return r;
	parquet_runs_pass(&c->level, count);
	c->left -= count;
	*ret_count = count;
	return 0;
}

void parquet_column_release(struct parquet_column *c)
{
	body_release(&c->page);
	body_release(&c->dictionary);
	buf_release(&c->entries);
	buf_release(&c->levels);
	buf_release(&c->indices);
}
