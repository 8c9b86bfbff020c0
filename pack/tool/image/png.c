#include "pack/tool/image/png.h"

#include "base/be.h"
#include "base/scope.h"
#include "pack/tool/image/png_chunks.h"
#include <errno.h>
#include <setjmp.h>
#include <string.h>

#include <png.h>

#define HEADER_END 33 /* behind the signature and the header's chunk */
#define CHUNK_MOST (8 << 20)

const char *png_library(void)
{
	return png_get_libpng_ver(NULL);
}

/* --- besides the pixels ---------------------------------------------------------------------- */

static bool is_kept_chunk(const uint8_t *chunk)
{
	static const char kept[] = "gAMAcHRMsRGBiCCPcICPeXIfpHYstEXtzTXtiTXt";

	for (size_t i = 0; i + 4 < sizeof(kept); i += 4)
		if (png_chunk_is(chunk, kept + i))
			return true;
	return false;
}

/* All kept chunks come to stand in front of the pixels, where their CRCs count. */
static int keep_png_chunk(struct png_head *head, const uint8_t *chunk)
{
	uint32_t size = be_get32(chunk), crc = htobe32(png_chunk_crc(chunk));

	if (png_chunk_is(chunk, "eXIf")) {
		head->exif = chunk + 8;
		head->exif_len = size;
	}
	if (png_chunk_text(chunk, "Raw profile type exif", &head->raw_exif) < 0 ||
	    png_chunk_text(chunk, "XML:com.adobe.xmp", &head->xmp) < 0)
		return -ENOMEM;
	buf_add(&head->chunks, chunk, 8 + (size_t)size);
	return buf_add(&head->chunks, &crc, sizeof(crc));
}

/* What PIL refuses is no longer there afterwards. */
static int look_at_png_chunk(struct png_head *head, struct png_reading *reading,
			     const uint8_t *chunk)
{
	int r = png_chunk_read(reading, chunk, NULL);

	head->moving |= !reading->pixels && png_chunk_is(chunk, "acTL");
	if (r < 0 || !is_kept_chunk(chunk))
		return r == -ENOMEM ? r : 0;
	if (!reading->pixels && png_chunk_crc(chunk) != be_get32(chunk + 8 + be_get32(chunk)))
		return 0;
	return keep_png_chunk(head, chunk);
}

static int read_chunks(const struct bytes *file, struct png_head *head)
{
	struct png_reading reading = {0};
	size_t at = PNG_FIRST_CHUNK;
	int r = 0;

	while (r == 0) {
		const uint8_t *chunk = file->data + at;

		if (!bytes_have(file, at, PNG_CHUNK_FRAME) ||
		    !bytes_have(file, at, PNG_CHUNK_FRAME + (uint64_t)be_get32(chunk)))
			return reading.pixels ? 0 : -EBADMSG;
		r = look_at_png_chunk(head, &reading, chunk);
		at += PNG_CHUNK_FRAME + (size_t)be_get32(chunk);
	}
	return r;
}

int png_head_read(const uint8_t *data, size_t len, struct png_head *ret, struct err *err)
{
	const struct bytes file = {.data = data, .len = len, .big = true};
	SCOPE(png_head_release) struct png_head head = {0};
	int r = bytes_are(&file, PNG_FIRST_CHUNK, "\0\0\0\rIHDR", 8) ? 0 : -EBADMSG;

	if (r == 0)
		r = read_chunks(&file, &head);
	if (r < 0)
		return err_set(err, r, "PNG: its chunks do not follow each other");
	head.pixel_bytes = bytes_get(&file, 25, 1) & PNG_COLOR_MASK_COLOR ? 4 : 2;
	head.pixel_bytes *= bytes_get(&file, 24, 1) == 16 ? 2 : 1;
	head.width = bytes_get(&file, 16, 4);
	head.height = bytes_get(&file, 20, 4);
	*ret = head;
	head = (struct png_head){0};
	return 0;
}

void png_head_release(struct png_head *head)
{
	buf_release(&head->chunks);
	buf_release(&head->raw_exif);
	buf_release(&head->xmp);
}

/* --- failures, caught ------------------------------------------------------------------------ */

/* libpng reports a failure by a call that must not return. What a function has to give back then is
 * in a struct of its caller. */
struct trap {
	struct err *err;
	int code;
};

__attribute__((noreturn)) static void trap_error(png_structp png, png_const_charp text)
{
	struct trap *trap = png_get_error_ptr(png);

	err_set(trap->err, trap->code, "libpng: %s", text);
	png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp text)
{
	(void)png;
	(void)text;
}

/* --- decoding -------------------------------------------------------------------------------- */

struct decoder {
	png_structp png;
	png_infop info;
	struct bytes file;
	size_t at;
	png_bytepp rows;
	struct png_image image;
};

static void decoder_release(struct decoder *decoder)
{
	if (decoder->png)
		png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
	free(decoder->rows);
	png_image_release(&decoder->image);
}

void png_image_release(struct png_image *image)
{
	pixels_release(&image->pixels);
	buf_release(&image->profile);
}

static void read_bytes(png_structp png, png_bytep to, size_t len)
{
	struct decoder *decoder = png_get_io_ptr(png);

	if (!bytes_have(&decoder->file, decoder->at, len))
		png_error(png, "ends too early");
	memcpy(to, decoder->file.data + decoder->at, len);
	decoder->at += len;
}

/* Hostile files get no more than they need. */
static void limit(png_structp png)
{
	png_set_user_limits(png, INT32_MAX, INT32_MAX);
	png_set_chunk_malloc_max(png, CHUNK_MOST);
	png_set_chunk_cache_max(png, 128);
}

static void take_palette(struct decoder *decoder)
{
	struct png_image *image = &decoder->image;
	png_colorp colours = NULL;
	png_bytep clear = NULL;
	int count = 0;

	if (png_get_PLTE(decoder->png, decoder->info, &colours, &count))
		for (int i = 0; i < count && i < 256; i++, image->palette_len++)
			memcpy(image->palette[i],
			       (uint8_t[]){colours[i].red, colours[i].green, colours[i].blue}, 3);
	count = 0;
	if (png_get_tRNS(decoder->png, decoder->info, &clear, &count, NULL) && clear)
		for (int i = 0; i < count && i < 256; i++)
			image->clear[image->clear_len++] = clear[i];
}

static void take_key(struct decoder *decoder)
{
	struct png_image *image = &decoder->image;
	png_color_16p key = NULL;

	image->keyed = png_get_tRNS(decoder->png, decoder->info, NULL, NULL, &key) && key;
	if (image->keyed && image->type == PNG_COLOR_TYPE_GRAY)
		image->key[0] = key->gray;
	else if (image->keyed)
		memcpy(image->key, (uint16_t[]){key->red, key->green, key->blue},
		       sizeof(image->key));
}

static int take_profile(struct decoder *decoder)
{
	png_charp name;
	png_bytep profile;
	png_uint_32 len;
	int method;

	if (!png_get_iCCP(decoder->png, decoder->info, &name, &method, &profile, &len))
		return 0;
	return buf_add(&decoder->image.profile, profile, len);
}

/* Reads up to the pixels, and sets how they are to come. */
static void begin_png(struct decoder *decoder)
{
	png_structp png = decoder->png;
	struct png_image *image = &decoder->image;

	png_read_info(png, decoder->info);
	image->type = png_get_color_type(png, decoder->info);
	image->depth = png_get_bit_depth(png, decoder->info);
	image->alpha = image->type & PNG_COLOR_MASK_ALPHA;
	if (image->type == PNG_COLOR_TYPE_PALETTE)
		take_palette(decoder);
	else
		take_key(decoder);
	if (image->depth < 8)
		png_set_packing(png);
	png_set_interlace_handling(png);
	png_read_update_info(png, decoder->info);
}

static int read_pixels(struct decoder *decoder)
{
	png_structp png = decoder->png;
	struct png_image *image = &decoder->image;
	uint32_t width = png_get_image_width(png, decoder->info);
	uint32_t height = png_get_image_height(png, decoder->info);
	size_t row = png_get_rowbytes(png, decoder->info);
	int r = pixels_init(&image->pixels, width, height, (uint32_t)(row / width));

	if (r == 0) {
		decoder->rows = calloc(height, sizeof(*decoder->rows));
		r = decoder->rows ? 0 : -ENOMEM;
	}
	for (uint32_t y = 0; r == 0 && y < height; y++)
		decoder->rows[y] = pixels_row(&image->pixels, y);
	return r;
}

static int decode_png(struct decoder *decoder, const struct trap *trap)
{
	int r;

	if (setjmp(png_jmpbuf(decoder->png)))
		return trap->code;
	limit(decoder->png);
	png_set_read_fn(decoder->png, decoder, read_bytes);
	begin_png(decoder);
	r = take_profile(decoder);
	if (r == 0)
		r = read_pixels(decoder);
	if (r == 0)
		png_read_image(decoder->png, decoder->rows);
	return r;
}

int png_decode(const uint8_t *data, size_t len, struct png_image *ret, struct err *err)
{
	SCOPE(decoder_release) struct decoder decoder = {.file = {.data = data, .len = len}};
	struct trap trap = {.err = err, .code = -EBADMSG};
	int r;

	decoder.png =
		png_create_read_struct(PNG_LIBPNG_VER_STRING, &trap, trap_error, ignore_warning);
	if (decoder.png)
		decoder.info = png_create_info_struct(decoder.png);
	r = decoder.info ? decode_png(&decoder, &trap) : -ENOMEM;
	if (r < 0)
		return r;
	*ret = decoder.image;
	decoder.image = (struct png_image){0};
	return 0;
}

int png_key_to_alpha(struct png_image *image)
{
	const struct pixels *from = &image->pixels;
	const uint8_t *pixel = from->data, *end = pixel + from->height * pixels_stride(from);
	uint32_t channels = from->channels;
	struct pixels to;
	uint8_t *out;
	int r = pixels_init(&to, from->width, from->height, channels + 1);

	if (r < 0)
		return r;
	for (out = to.data; pixel < end; pixel += channels, out += channels + 1) {
		uint32_t same = 0;

		while (same < channels && pixel[same] == image->key[same])
			same++;
		memcpy(out, pixel, channels);
		out[channels] = same == channels ? 0 : UINT8_MAX;
	}
	pixels_release(&image->pixels);
	image->pixels = to;
	image->type |= PNG_COLOR_MASK_ALPHA;
	image->alpha = true;
	image->keyed = false;
	return 0;
}

/* --- encoding -------------------------------------------------------------------------------- */

struct encoder {
	png_structp png;
	png_infop info;
	struct buf *out;
	const struct buf *chunks; /* NULL: they are written */
};

static void png_encoder_release(struct encoder *encoder)
{
	if (encoder->png)
		png_destroy_write_struct(&encoder->png, &encoder->info);
}

static void append_bytes(png_structp png, struct buf *out, const void *bytes, size_t len)
{
	if (buf_add(out, bytes, len) < 0)
		png_error(png, "out of memory");
}

/* The kept chunks come right behind the header. */
static void write_bytes(png_structp png, png_bytep bytes, size_t len)
{
	struct encoder *encoder = png_get_io_ptr(png);

	append_bytes(png, encoder->out, bytes, len);
	if (encoder->out->len == HEADER_END && encoder->chunks) {
		append_bytes(png, encoder->out, encoder->chunks->data, encoder->chunks->len);
		encoder->chunks = NULL;
	}
}

static void flush(png_structp png)
{
	(void)png;
}

static void set_palette(struct encoder *encoder, const struct png_image *image)
{
	png_color colours[256];

	for (int i = 0; i < image->palette_len; i++)
		colours[i] = (png_color){image->palette[i][0], image->palette[i][1],
					 image->palette[i][2]};
	png_set_PLTE(encoder->png, encoder->info, colours, image->palette_len);
	if (image->clear_len)
		png_set_tRNS(encoder->png, encoder->info, image->clear, image->clear_len, NULL);
}

static void set_key(struct encoder *encoder, const struct png_image *image)
{
	const uint16_t *key = image->key;
	const png_color_16 colour = {
		.gray = key[0], .red = key[0], .green = key[1], .blue = key[2]};

	png_set_tRNS(encoder->png, encoder->info, NULL, 0, &colour);
}

static int encode_png(struct encoder *encoder, const struct png_image *image,
		      const struct trap *trap)
{
	png_structp png = encoder->png;

	if (setjmp(png_jmpbuf(png)))
		return trap->code;
	png_set_write_fn(png, encoder, write_bytes, flush);
	png_set_IHDR(png, encoder->info, image->pixels.width, image->pixels.height, image->depth,
		     image->type, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
		     PNG_FILTER_TYPE_DEFAULT);
	if (image->type == PNG_COLOR_TYPE_PALETTE)
		set_palette(encoder, image);
	else if (image->keyed)
		set_key(encoder, image);
	png_write_info(png, encoder->info);
	if (image->depth < 8)
		png_set_packing(png);
	for (uint32_t y = 0; y < image->pixels.height; y++)
		png_write_row(png, pixels_row(&image->pixels, y));
	png_write_end(png, NULL);
	return 0;
}

int png_encode(const struct png_image *image, const struct buf *chunks, struct buf *out,
	       struct err *err)
{
	SCOPE(png_encoder_release)
	struct encoder encoder = {.out = out, .chunks = chunks->len ? chunks : NULL};
	struct trap trap = {.err = err, .code = -EINVAL};

	encoder.png =
		png_create_write_struct(PNG_LIBPNG_VER_STRING, &trap, trap_error, ignore_warning);
	if (encoder.png)
		encoder.info = png_create_info_struct(encoder.png);
	return encoder.info ? encode_png(&encoder, image, &trap) : -ENOMEM;
}
