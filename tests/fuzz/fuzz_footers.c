/* Parquet files that are built field by field, in any order, as no mutation of bytes finds them:
 * the input says which field of a struct comes next, and its value. Pages come first, then the
 * footer; a scan reads the file, or refuses it. */
#include "base/buf.h"
#include "base/le.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/scan.h"
#include <string.h>

#define MOST  (1u << 20) /* bytes of the file */
#define PAGES 4u

extern const struct foreign_format parquet_format;

/* ROWS: an I64 that is small, as rows that repeat an image become files. */
enum kind { END, I64 = 6, TEXT = 8, LIST = 9, STRUCT = 12, ROWS = 16 };

struct field {
	uint8_t id;
	enum kind kind;
	const struct field *of; /* the fields of the struct, or of the structs of the list */
};

#define NUMBER(id)            \
	{                     \
		id, I64, NULL \
	}
static const struct field page_v1[] = {NUMBER(1), NUMBER(2), NUMBER(3), NUMBER(4), {0}};
static const struct field page_v2[] = {NUMBER(1), NUMBER(2), NUMBER(3), NUMBER(4),
				       NUMBER(5), NUMBER(6), NUMBER(7), {0}};
static const struct field page_header[] = {NUMBER(1),
					   NUMBER(2),
					   NUMBER(3),
					   {5, STRUCT, page_v1},
					   {7, STRUCT, page_v1},
					   {8, STRUCT, page_v2},
					   {0}};
static const struct field element[] = {NUMBER(1), NUMBER(3), {4, TEXT, NULL}, NUMBER(5), {0}};
static const struct field column[] = {NUMBER(1), NUMBER(4),  NUMBER(5), NUMBER(7),
				      NUMBER(9), NUMBER(11), {0}};
static const struct field chunk[] = {{3, STRUCT, column}, {1, TEXT, NULL}, NUMBER(2), {0}};
static const struct field group[] = {{1, LIST, chunk}, NUMBER(2), {3, ROWS, NULL}, {0}};
static const struct field note[] = {{1, TEXT, NULL}, {2, TEXT, NULL}, {0}};
static const struct field footer[] = {NUMBER(1),	{2, LIST, element}, NUMBER(3),
				      {4, LIST, group}, {5, LIST, note},    {0}};

struct building {
	const uint8_t *at, *end; /* of the input */
	struct buf file;
	int64_t starts[PAGES + 1]; /* of pages, and the end of the last one */
	unsigned pages;
};

/* Behind the end of the input each struct ends. */
static uint8_t next_byte(struct building *b)
{
	return b->at < b->end ? *b->at++ : UINT8_MAX;
}

static void put(struct building *b, const void *bytes, size_t len)
{
	if (b->file.len + len <= MOST)
		must(buf_add(&b->file, bytes, len) == 0);
}

static void put_byte(struct building *b, unsigned byte)
{
	put(b, &(uint8_t){(uint8_t)byte}, 1);
}

static void put_varint(struct building *b, uint64_t n)
{
	for (; n > 0x7f; n >>= 7)
		put_byte(b, (n & 0x7f) | 0x80);
	put_byte(b, (unsigned)n);
}

static void put_zigzag(struct building *b, int64_t n)
{
	put_varint(b, (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0));
}

/* Small ones as they are; otherwise what is at an edge, or a place or a length of pages. */
static int64_t next_number(struct building *b)
{
	const int64_t edges[] = {-1, 65536, INT32_MAX, INT64_MAX, INT64_MIN, 1 << 20};
	unsigned n = next_byte(b), edge_count = sizeof(edges) / sizeof(*edges);

	if (n < 200)
		return n;
	n -= 200;
	if (n < edge_count)
		return edges[n];
	n -= edge_count;
	if (n <= PAGES)
		return b->starts[n];
	n = (n - PAGES - 1) % (PAGES + 1);
	return n < PAGES ? b->starts[n + 1] - b->starts[n] : b->starts[PAGES] - b->starts[0];
}

static void put_text(struct building *b)
{
	static const char *const words[] = {
		"root",
		"image",
		"bytes",
		"path",
		"label",
		"a.b",
		"",
		"huggingface",
		"list",
		"fine_label",
		"{\"info\":{\"features\":{\"label\":{\"names\":[\"cat\",\"dog\"]}}}}",
	};
	const char *word = words[next_byte(b) % (sizeof(words) / sizeof(*words))];

	put_varint(b, strlen(word));
	put(b, word, strlen(word));
}

static void put_struct(struct building *b, const struct field *fields);

static void put_list(struct building *b, const struct field *fields)
{
	unsigned count = next_byte(b) % 14;

	put_byte(b, count << 4 | STRUCT);
	while (count-- > 0)
		put_struct(b, fields);
}

static void put_struct(struct building *b, const struct field *fields)
{
	unsigned count = 0, which;

	while (fields[count].kind != END)
		count++;
	while (which = next_byte(b), which < count) {
		const struct field *field = &fields[which];

		put_byte(b, field->kind == ROWS ? I64 : field->kind);
		put_zigzag(b, field->id);
		if (field->kind == ROWS)
			put_zigzag(b, next_byte(b) * 2);
		else if (field->kind == I64)
			put_zigzag(b, next_number(b));
		else if (field->kind == TEXT)
			put_text(b);
		else if (field->kind == LIST)
			put_list(b, field->of);
		else
			put_struct(b, field->of);
	}
	put_byte(b, END);
}

/* Headers, each with some bytes of the input. */
static void put_pages(struct building *b)
{
	b->pages = next_byte(b) % (PAGES + 1);
	for (unsigned i = 0; i <= PAGES; i++) {
		size_t len;

		b->starts[i] = (int64_t)b->file.len;
		if (i >= b->pages)
			continue;
		put_struct(b, page_header);
		len = next_byte(b);
		if (len > (size_t)(b->end - b->at))
			len = (size_t)(b->end - b->at);
		put(b, b->at, len);
		b->at += len;
	}
}

static void put_file(struct building *b)
{
	uint8_t len[4];
	size_t begin;

	put(b, "PAR1", 4);
	put_pages(b);
	begin = b->file.len;
	put_struct(b, footer);
	le_put32(len, (uint32_t)(b->file.len - begin));
	put(b, len, 4);
	put(b, "PAR1", 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct building b = {.at = data, .end = data + size};
	SCOPE(reader_release) struct reader *reader = NULL;

	put_file(&b);
	SCOPE_CLOSE int fd = fuzz_file((const uint8_t *)b.file.data, b.file.len);
	must(reader_file_borrow(fd, &reader) == 0);
	fuzz_scan(&parquet_format, &(struct foreign_settings){0}, reader, "x");
	buf_release(&b.file);
	return 0;
}
