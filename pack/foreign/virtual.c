#include "pack/foreign/virtual.h"
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/search.h"
#include <stdio.h>
#include <string.h>

#define FIRST_CODEC 0x100u
#define SIDE_MOST   65535u
#define HEADER	    32 /* bytes of that of a picture, at most */

struct virtual_reader {
	struct reader reader;
	struct reader *source;
	struct pages *pages;
	uint64_t size;
	size_t count;
	struct virtual_row rows[]; /* by start */
};

static struct virtual_reader *virtual_of(struct reader *reader)
{
	return (struct virtual_reader *)(void *)reader;
}

/* --- pictures --------------------------------------------------------------------------------- */

static bool is_gray(const struct foreign_pixels *pixels)
{
	return pixels->layout == FOREIGN_GRAY;
}

static unsigned header_of(const struct foreign_pixels *pixels, char ret[static HEADER])
{
	return (unsigned)snprintf(ret, HEADER, "P%c\n%u %u\n255\n", is_gray(pixels) ? '5' : '6',
				  pixels->width, pixels->height);
}

uint64_t foreign_pixels_bytes(const struct foreign_pixels *pixels)
{
	if (pixels->width == 0 || pixels->height == 0 || pixels->width > SIDE_MOST ||
	    pixels->height > SIDE_MOST || pixels->layout > FOREIGN_PLANAR_BGR)
		return 0;
	return (uint64_t)pixels->width * pixels->height * (is_gray(pixels) ? 1 : 3);
}

const char *foreign_pixels_suffix(const struct foreign_pixels *pixels)
{
	return is_gray(pixels) ? ".pgm" : ".ppm";
}

/* Samples of whole pixels [first, first + count), of a plane for each channel. */
static int read_planes(struct reader *source, const struct foreign_pixels *pixels, uint64_t offset,
		       uint64_t first, size_t count, uint8_t *out)
{
	uint64_t plane = foreign_pixels_bytes(pixels) / 3;
	SCOPE_FREE uint8_t *samples = malloc(count);
	int r = samples ? 0 : -ENOMEM;

	for (unsigned c = 0; r == 0 && c < 3; c++) {
		r = reader_get_full(source, samples, count, offset + c * plane + first);
		for (size_t i = 0; r == 0 && i < count; i++)
			out[3 * i + c] = samples[i];
	}
	return r;
}

/* Samples [from, from + len) in the order of a PPM. */
static int read_samples(struct reader *source, const struct foreign_pixels *pixels, uint64_t offset,
			uint64_t from, uint8_t *out, size_t len)
{
	enum foreign_layout layout = pixels->layout;
	uint64_t first = from / 3, end = (from + len + 2) / 3;
	size_t count = (size_t)(end - first);
	SCOPE_FREE uint8_t *whole = NULL;
	int r;

	if (layout == FOREIGN_RGB || layout == FOREIGN_GRAY)
		return reader_get_full(source, out, len, offset + from);
	whole = malloc(3 * count);
	if (!whole)
		return -ENOMEM;
	if (layout == FOREIGN_BGR)
		r = reader_get_full(source, whole, 3 * count, offset + 3 * first);
	else
		r = read_planes(source, pixels, offset, first, count, whole);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) { /* of BGR, RGB */
		uint8_t red = whole[3 * i + 2];

		whole[3 * i + 2] = whole[3 * i];
		whole[3 * i] = red;
	}
	memcpy(out, whole + (from - 3 * first), len);
	return 0;
}

/* Bytes [from, from + len) of the image file, which has them, where its samples begin at `offset`
 * of the source. */
static int read_picture(struct reader *source, const struct foreign_pixels *pixels, uint64_t offset,
			uint64_t from, uint8_t *out, size_t len)
{
	char header[HEADER];
	unsigned ahead = header_of(pixels, header);
	size_t n = 0;

	if (from < ahead) {
		n = min(len, ahead - from);
		memcpy(out, header + from, n);
	}
	if (n == len)
		return 0;
	return read_samples(source, pixels, offset, from + n - ahead, out + n, len - n);
}

/* --- rows ------------------------------------------------------------------------------------- */

uint64_t virtual_size(const struct virtual_row *row)
{
	char header[HEADER];

	if (row->is_page)
		return row->page.unpacked;
	return header_of(&row->pixels, header) + foreign_pixels_bytes(&row->pixels);
}

/* Bytes as they are, and zeros behind them: a piece of a file with holes. */
static bool is_piece(const struct virtual_row *row)
{
	return row->is_page && row->page.codec == CODEC_HOLE;
}

uint64_t virtual_end(const struct virtual_row *row)
{
	if (is_piece(row))
		return row->start + virtual_size(row);
	return row->start + (virtual_size(row) + READER_PAGE - 1) / READER_PAGE * READER_PAGE;
}

/* Bytes of the source that it is made of; 0: there is nothing like that. */
static uint64_t bytes_of(const struct virtual_row *row)
{
	if (is_piece(row))
		return row->page.packed;
	return row->is_page ? page_bytes(&row->page) : foreign_pixels_bytes(&row->pixels);
}

void virtual_encode(const struct virtual_row *row, uint8_t ret[static VIRTUAL_ROW_BYTES])
{
	const struct foreign_pixels *pixels = &row->pixels;
	const struct page *page = &row->page;

	le_put64(ret, row->start);
	le_put64(ret + 8, row->offset);
	le_put32(ret + 16, row->is_page ? page->packed : pixels->height);
	le_put32(ret + 20, row->is_page ? page->unpacked : pixels->width);
	le_put64(ret + 24, row->is_page ? FIRST_CODEC + page->codec : pixels->layout);
}

struct virtual_row virtual_decode(const uint8_t bytes[static VIRTUAL_ROW_BYTES])
{
	struct virtual_row row = {.start = le_get64(bytes), .offset = le_get64(bytes + 8)};
	uint32_t low = le_get32(bytes + 16), high = le_get32(bytes + 20);
	uint64_t kind = min(le_get64(bytes + 24), UINT32_MAX);

	row.is_page = kind >= FIRST_CODEC;
	if (row.is_page)
		row.page = (struct page){low, high, (enum codec)(kind - FIRST_CODEC)};
	else
		row.pixels = (struct foreign_pixels){high, low, (enum foreign_layout)kind};
	return row;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The last that does not begin beyond the offset; there is one. */
static const struct virtual_row *row_at(const struct virtual_reader *all, uint64_t offset)
{
	return &all->rows[search_last(all->rows, all->count, sizeof(all->rows[0]), offset)];
}

static ssize_t virtual_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct virtual_reader *all = virtual_of(reader);
	size_t done = 0;

	if (offset >= all->size)
		return 0;
	len = min(len, all->size - offset);
	memset(buf, 0, len);
	while (done < len) {
		const struct virtual_row *row = row_at(all, offset + done);
		uint64_t from = offset + done - row->start;
		size_t n = min(len - done, sub_sat(virtual_size(row), from));
		uint8_t *out = (uint8_t *)buf + done;
		int r = 0;

		if (is_piece(row))
			n = min(n, sub_sat(row->page.packed, from));
		if (n && is_piece(row))
			r = reader_get_full(all->source, out, n, row->offset + from);
		else if (n && row->is_page)
			r = pages_read(all->pages, all->source, &row->page, row->offset, from, out,
				       n);
		else if (n)
			r = read_picture(all->source, &row->pixels, row->offset, from, out, n);
		if (r < 0)
			return r;
		done += min(len - done, virtual_end(row) - row->start - from);
	}
	return (ssize_t)len;
}

static int virtual_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			uint64_t needed)
{
	uint64_t done = 0;

	for (int i = 0; i < count && done < needed; i++) {
		ssize_t n = (ssize_t)iov[i].iov_len;

		if (iov[i].iov_base)
			n = virtual_get(reader, iov[i].iov_base, iov[i].iov_len, offset + done);
		if (n < 0)
			return (int)n;
		done += (uint64_t)n;
	}
	return done < needed ? -ENODATA : 0;
}

static int virtual_identity(struct reader *reader, struct reader_identity *ret)
{
	int r = reader_identity(virtual_of(reader)->source, ret);

	ret->size = virtual_of(reader)->size;
	return r;
}

/* Not far: a picture may take a request for each channel. So as many are read at once as there are
 * threads. */
static void virtual_hints(const struct reader *reader, struct reader_hints *ret)
{
	*ret = reader_hints(((const struct virtual_reader *)(const void *)reader)->source);
	ret->remote = false;
	ret->direct = false;
}

static bool virtual_bad(struct reader *reader, uint64_t offset, uint64_t len)
{
	struct virtual_reader *all = virtual_of(reader);
	bool again = false;

	if (offset >= all->size)
		return false;
	for (const struct virtual_row *row = row_at(all, offset);
	     row < all->rows + all->count && row->start < offset + len; row++) {
		if (row->is_page)
			pages_forget(all->pages, all->source, row->offset);
		if (bytes_of(row))
			again |= reader_bad(all->source, row->offset, bytes_of(row));
	}
	return again;
}

static void virtual_free(struct reader *reader)
{
	pages_drop(virtual_of(reader)->pages, virtual_of(reader)->source);
	free(virtual_of(reader));
}

static const struct reader_ops virtual_ops = {
	.read = virtual_read,
	.get = virtual_get,
	.identity = virtual_identity,
	.hints = virtual_hints,
	.bad = virtual_bad,
	.free = virtual_free,
};

/* --- opening ---------------------------------------------------------------------------------- */

/* Each begins where the one before ends. */
static int check_rows(struct virtual_reader *all, uint64_t source_size, struct err *err)
{
	const struct virtual_row *last = NULL; /* page: its codec is there */

	for (size_t i = 0; i < all->count; i++) {
		const struct virtual_row *row = &all->rows[i];
		uint64_t bytes = bytes_of(row);

		if (row->start != all->size || (bytes == 0 && !is_piece(row)) ||
		    virtual_size(row) == 0 || (is_piece(row) && bytes > virtual_size(row)) ||
		    row->offset > source_size || bytes > source_size - row->offset)
			return -EBADMSG;
		all->size = virtual_end(row);
		if (row->is_page && !is_piece(row) &&
		    (!last || last->page.codec != row->page.codec)) {
			int r = codec_check(row->page.codec, err);

			if (r < 0)
				return r == -EOPNOTSUPP ? -EBADMSG : r;
			last = row;
		}
	}
	return 0;
}

int virtual_reader_new(struct reader *source, const struct virtual_row *rows, size_t count,
		       struct pages *pages, struct reader **ret, struct err *err)
{
	SCOPE_FREE struct virtual_reader *all = calloc(1, sizeof(*all) + count * sizeof(*rows));
	struct reader_identity identity;
	int r = reader_identity(source, &identity);

	if (r < 0)
		return r;
	if (!all)
		return -ENOMEM;
	all->reader.ops = &virtual_ops;
	all->source = source;
	all->pages = pages;
	all->count = count;
	memcpy(all->rows, rows, count * sizeof(*rows));
	r = check_rows(all, identity.size, err);
	if (r < 0)
		return r;
	*ret = &steal_ptr(&all)->reader;
	return 0;
}
