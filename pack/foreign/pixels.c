#include "pack/foreign/pixels.h"
#include "base/math.h"
#include "base/scope.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_MOST 65535u
#define HEADER	  32 /* bytes, at most */

struct pixels_reader {
	struct reader reader;
	struct reader *source;
	uint64_t size;
	size_t count;
	struct foreign_picture pictures[]; /* by start */
};

static struct pixels_reader *pixels_of(struct reader *reader)
{
	return (struct pixels_reader *)(void *)reader;
}

/* --- one image -------------------------------------------------------------------------------- */

static bool is_gray(const struct foreign_pixels *pixels)
{
	return pixels->layout == FOREIGN_GRAY;
}

static unsigned channels_of(const struct foreign_pixels *pixels)
{
	return is_gray(pixels) ? 1 : 3;
}

static unsigned header_of(const struct foreign_pixels *pixels, char ret[static HEADER])
{
	return (unsigned)snprintf(ret, HEADER, "P%c\n%u %u\n255\n", is_gray(pixels) ? '5' : '6',
				  pixels->width, pixels->height);
}

uint64_t foreign_pixels_bytes(const struct foreign_pixels *pixels)
{
	if (pixels->width == 0 || pixels->height == 0 || pixels->width > SIDE_MOST ||
	    pixels->height > SIDE_MOST)
		return 0;
	return (uint64_t)pixels->width * pixels->height * channels_of(pixels);
}

uint64_t foreign_pixels_size(const struct foreign_pixels *pixels)
{
	char header[HEADER];

	return header_of(pixels, header) + foreign_pixels_bytes(pixels);
}

const char *foreign_pixels_suffix(const struct foreign_pixels *pixels)
{
	return is_gray(pixels) ? ".pgm" : ".ppm";
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_interleaved(struct reader *source, const struct foreign_picture *picture,
			    uint64_t from, uint8_t *out, size_t len)
{
	return reader_get_full(source, out, len, picture->offset + from);
}

/* Samples of whole pixels [first, first + count), of a plane for each channel. */
static int read_planes(struct reader *source, const struct foreign_picture *picture, uint64_t first,
		       size_t count, uint8_t *out)
{
	uint64_t plane = foreign_pixels_bytes(&picture->pixels) / 3;
	SCOPE_FREE uint8_t *samples = malloc(count);
	int r = samples ? 0 : -ENOMEM;

	for (unsigned c = 0; r == 0 && c < 3; c++) {
		r = reader_get_full(source, samples, count, picture->offset + c * plane + first);
		for (size_t i = 0; r == 0 && i < count; i++)
			out[3 * i + c] = samples[i];
	}
	return r;
}

static void swap_red_and_blue(uint8_t *pixels, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t red = pixels[3 * i + 2];

		pixels[3 * i + 2] = pixels[3 * i];
		pixels[3 * i] = red;
	}
}

/* Samples [from, from + len) in the order of a PPM. */
static int read_samples(struct reader *source, const struct foreign_picture *picture, uint64_t from,
			uint8_t *out, size_t len)
{
	enum foreign_layout layout = picture->pixels.layout;
	uint64_t first = from / 3, end = (from + len + 2) / 3;
	size_t count = (size_t)(end - first);
	SCOPE_FREE uint8_t *pixels = NULL;
	int r;

	if (layout == FOREIGN_RGB || layout == FOREIGN_GRAY)
		return read_interleaved(source, picture, from, out, len);
	pixels = malloc(3 * count);
	if (!pixels)
		return -ENOMEM;
	if (layout == FOREIGN_BGR)
		r = read_interleaved(source, picture, 3 * first, pixels, 3 * count);
	else
		r = read_planes(source, picture, first, count, pixels);
	if (layout != FOREIGN_PLANAR_RGB)
		swap_red_and_blue(pixels, count);
	if (r == 0)
		memcpy(out, pixels + (from - 3 * first), len);
	return r;
}

/* Bytes [from, from + len) of the image file, which has them. */
static int read_picture(struct reader *source, const struct foreign_picture *picture, uint64_t from,
			uint8_t *out, size_t len)
{
	char header[HEADER];
	unsigned ahead = header_of(&picture->pixels, header);
	size_t n = 0;

	if (from < ahead) {
		n = min(len, ahead - from);
		memcpy(out, header + from, n);
	}
	if (n == len)
		return 0;
	return read_samples(source, picture, from + n - ahead, out + n, len - n);
}

/* The last that does not begin beyond the offset; there is one. */
static const struct foreign_picture *picture_at(const struct pixels_reader *all, uint64_t offset)
{
	size_t low = 0, high = all->count - 1;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (all->pictures[middle].start <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	return &all->pictures[low];
}

/* What lies between two image files is zero. */
static ssize_t pixels_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	const struct pixels_reader *all = pixels_of(reader);
	size_t done = 0;

	if (offset >= all->size)
		return 0;
	len = min(len, all->size - offset);
	memset(buf, 0, len);
	while (done < len) {
		const struct foreign_picture *picture = picture_at(all, offset + done);
		uint64_t from = offset + done - picture->start;
		uint64_t size = foreign_pixels_size(&picture->pixels);
		uint64_t room = (size + READER_PAGE - 1) / READER_PAGE * READER_PAGE - from;
		size_t n = min(len - done, sub_sat(size, from));
		int r = n ? read_picture(all->source, picture, from, (uint8_t *)buf + done, n) : 0;

		if (r < 0)
			return r;
		done += min(len - done, room);
	}
	return (ssize_t)len;
}

static int pixels_prepare(struct reader *reader, enum reader_io io)
{
	(void)reader;
	(void)io;
	return 0;
}

static int pixels_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
		       uint64_t needed)
{
	uint64_t done = 0;

	for (int i = 0; i < count && done < needed; i++) {
		ssize_t n = pixels_get(reader, iov[i].iov_base, iov[i].iov_len, offset + done);

		if (n < 0)
			return (int)n;
		done += (uint64_t)n;
	}
	return done < needed ? -ENODATA : 0;
}

static int pixels_identity(struct reader *reader, struct reader_identity *ret)
{
	int r = reader_identity(pixels_of(reader)->source, ret);

	ret->size = pixels_of(reader)->size;
	return r;
}

/* A row of the source is a request: as many as there are threads, for now. */
static void pixels_hints(const struct reader *reader, struct reader_hints *ret)
{
	*ret = reader_hints(((const struct pixels_reader *)(const void *)reader)->source);
	ret->far = false;
	ret->direct = false;
}

static void pixels_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	(void)reader;
	(void)offset;
	(void)len;
}

static bool pixels_bad(struct reader *reader, uint64_t offset, uint64_t len)
{
	const struct pixels_reader *all = pixels_of(reader);
	const struct foreign_picture *end = all->pictures + all->count;
	bool again = false;

	if (offset >= all->size)
		return false;
	for (const struct foreign_picture *picture = picture_at(all, offset);
	     picture < end && picture->start < offset + len; picture++)
		again |= reader_bad(all->source, picture->offset,
				    foreign_pixels_bytes(&picture->pixels));
	return again;
}

static void pixels_free(struct reader *reader)
{
	free(pixels_of(reader));
}

static const struct reader_ops pixels_ops = {
	.prepare = pixels_prepare,
	.read = pixels_read,
	.get = pixels_get,
	.will_get = pixels_will_get,
	.identity = pixels_identity,
	.hints = pixels_hints,
	.bad = pixels_bad,
	.free = pixels_free,
};

/* Each begins where the one before ends. */
static int check_table(struct pixels_reader *all, uint64_t source_size)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct foreign_picture *picture = &all->pictures[i];
		uint64_t bytes = foreign_pixels_bytes(&picture->pixels);

		if (picture->start != all->size || bytes == 0 ||
		    picture->pixels.layout > FOREIGN_PLANAR_BGR || picture->offset > source_size ||
		    bytes > source_size - picture->offset)
			return -EBADMSG;
		all->size += (foreign_pixels_size(&picture->pixels) + READER_PAGE - 1) /
			     READER_PAGE * READER_PAGE;
	}
	return 0;
}

int foreign_pixels_reader(struct reader *source, const struct foreign_picture *pictures,
			  size_t count, struct reader **ret)
{
	SCOPE_FREE struct pixels_reader *all = calloc(1, sizeof(*all) + count * sizeof(*pictures));
	struct reader_identity identity;
	int r = reader_identity(source, &identity);

	if (r < 0)
		return r;
	if (!all)
		return -ENOMEM;
	all->reader.ops = &pixels_ops;
	all->source = source;
	all->count = count;
	memcpy(all->pictures, pictures, count * sizeof(*pictures));
	r = check_table(all, identity.size);
	if (r < 0)
		return r;
	*ret = &steal_ptr(&all)->reader;
	return 0;
}
