#include "pack/tool/image/webp.h"

#include "base/le.h"
#include "base/scope.h"
#include "pack/tool/image/bytes.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/encode.h>

#define RIFF_HEADER  12
#define CHUNK_HEADER 8
#define EXTENDED     18 /* the chunk VP8X */

enum { HAS_XMP = 4, HAS_EXIF = 8, HAS_ALPHA = 16, HAS_PROFILE = 32 }; /* its flags */

const char *webp_library(char text[static 16])
{
	int version = WebPGetDecoderVersion();

	snprintf(text, 16, "%d.%d.%d", version >> 16 & 255, version >> 8 & 255, version & 255);
	return text;
}

/* --- what it says ---------------------------------------------------------------------------- */

static void look_at_chunk(struct webp_head *head, const uint8_t *chunk, size_t size)
{
	const struct {
		const char *type;
		const uint8_t **at;
		size_t *len;
	} wanted[] = {{"ICCP", &head->profile, &head->profile_len},
		      {"EXIF", &head->exif, &head->exif_len},
		      {"XMP ", &head->xmp, &head->xmp_len}};

	head->lossless |= memcmp(chunk, "VP8L", 4) == 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (memcmp(chunk, wanted[i].type, 4) == 0) {
			*wanted[i].at = chunk + CHUNK_HEADER;
			*wanted[i].len = size;
		}
}

int webp_head_read(const uint8_t *data, size_t len, struct webp_head *ret, struct err *err)
{
	const struct bytes file = {.data = data, .len = len};
	struct webp_head head = {0};
	WebPBitstreamFeatures features;

	if (WebPGetFeatures(data, len, &features) != VP8_STATUS_OK)
		return err_set(err, -EBADMSG, "libwebp: no sound header");
	head.width = (uint32_t)features.width;
	head.height = (uint32_t)features.height;
	head.moving = features.has_animation;
	head.alpha = features.has_alpha;
	for (uint64_t at = RIFF_HEADER; bytes_have(&file, at, CHUNK_HEADER);) {
		uint64_t size = bytes_get(&file, at + 4, 4);

		if (!bytes_have(&file, at + CHUNK_HEADER, size))
			break;
		look_at_chunk(&head, data + at, size);
		at += CHUNK_HEADER + size + (size & 1);
	}
	*ret = head;
	return 0;
}

/* --- decoding -------------------------------------------------------------------------------- */

int webp_decode(const uint8_t *data, size_t len, const struct webp_head *head, struct pixels *ret,
		struct err *err)
{
	SCOPE(pixels_release) struct pixels pixels = {0};
	WebPDecoderConfig config;
	VP8StatusCode status;
	int r = pixels_init(&pixels, head->width, head->height, head->alpha ? 4 : 3);

	if (r < 0)
		return r;
	if (!WebPInitDecoderConfig(&config))
		return err_set(err, -ENOMEM, "libwebp: another version than at build time");
	config.output.colorspace = head->alpha ? MODE_RGBA : MODE_RGB;
	config.output.is_external_memory = 1;
	config.output.u.RGBA.rgba = pixels.data;
	config.output.u.RGBA.stride = (int)pixels_stride(&pixels);
	config.output.u.RGBA.size = pixels_stride(&pixels) * pixels.height;
	status = WebPDecode(data, len, &config);
	if (status != VP8_STATUS_OK)
		return err_set(err, status == VP8_STATUS_OUT_OF_MEMORY ? -ENOMEM : -EBADMSG,
			       "libwebp: its pixels cannot be decoded (%d)", (int)status);
	*ret = pixels;
	pixels = (struct pixels){0};
	return 0;
}

/* --- encoding -------------------------------------------------------------------------------- */

struct encoder {
	WebPPicture picture;
	struct buf bytes;
};

static void webp_encoder_release(struct encoder *encoder)
{
	WebPPictureFree(&encoder->picture);
	buf_release(&encoder->bytes);
}

static int take_bytes(const uint8_t *data, size_t len, const WebPPicture *picture)
{
	return buf_add(picture->custom_ptr, data, len) == 0;
}

static int encode_webp(struct encoder *encoder, const struct pixels *pixels, bool lossless,
		       uint32_t quality, struct err *err)
{
	WebPPicture *picture = &encoder->picture;
	WebPConfig config;
	int stride = (int)pixels_stride(pixels), done;

	if (!WebPConfigInit(&config) || !WebPPictureInit(picture))
		return err_set(err, -EINVAL, "libwebp: another version than at build time");
	config.quality = (float)quality;
	if (lossless)
		WebPConfigLosslessPreset(&config, 6);
	picture->use_argb = lossless;
	picture->width = (int)pixels->width;
	picture->height = (int)pixels->height;
	picture->writer = take_bytes;
	picture->custom_ptr = &encoder->bytes;
	done = pixels->channels == 4 ? WebPPictureImportRGBA(picture, pixels->data, stride)
				     : WebPPictureImportRGB(picture, pixels->data, stride);
	if (done && WebPEncode(&config, picture))
		return 0;
	if (!done || picture->error_code == VP8_ENC_ERROR_OUT_OF_MEMORY ||
	    picture->error_code == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY)
		return -ENOMEM;
	return err_set(err, -EINVAL, "libwebp: no WebP can hold it (%d)", (int)picture->error_code);
}

static void add_chunk(struct buf *out, const char *type, const uint8_t *data, size_t len)
{
	uint8_t size[4];

	if (!data)
		return;
	le_put32(size, (uint32_t)len);
	buf_add(out, type, 4);
	buf_add(out, size, 4);
	buf_add(out, data, len);
	buf_add(out, "", len & 1);
}

static void put24(uint8_t *to, uint32_t value)
{
	to[0] = (uint8_t)value;
	to[1] = (uint8_t)(value >> 8);
	to[2] = (uint8_t)(value >> 16);
}

/* What libwebp made is one chunk, or several behind one that says more: they go in between. */
static int add_extended(struct buf *out, const struct buf *made, const struct pixels *pixels,
			const struct webp_head *head)
{
	const struct bytes file = {.data = (const uint8_t *)made->data, .len = made->len};
	size_t picture = RIFF_HEADER;
	uint8_t extended[10] = {0};

	if (bytes_are(&file, RIFF_HEADER, "VP8X", 4))
		picture += EXTENDED;
	extended[0] =
		(uint8_t)((head->profile ? HAS_PROFILE : 0) | (head->exif ? HAS_EXIF : 0) |
			  (head->xmp ? HAS_XMP : 0) | (pixels->channels == 4 ? HAS_ALPHA : 0));
	put24(extended + 4, pixels->width - 1);
	put24(extended + 7, pixels->height - 1);
	buf_add(out, made->data, RIFF_HEADER);
	add_chunk(out, "VP8X", extended, sizeof(extended));
	add_chunk(out, "ICCP", head->profile, head->profile_len);
	buf_add(out, made->data + picture, made->len - picture);
	add_chunk(out, "EXIF", head->exif, head->exif_len);
	add_chunk(out, "XMP ", head->xmp, head->xmp_len);
	if (!out->failed)
		le_put32((uint8_t *)out->data + 4, (uint32_t)(out->len - 8));
	return buf_error(out);
}

int webp_encode(const struct pixels *pixels, const struct webp_head *head, uint32_t quality,
		struct buf *out, struct err *err)
{
	SCOPE(webp_encoder_release) struct encoder encoder = {0};
	int r = encode_webp(&encoder, pixels, head->lossless, quality, err);

	if (r < 0)
		return r;
	if (head->profile || head->exif || head->xmp)
		return add_extended(out, &encoder.bytes, pixels, head);
	*out = encoder.bytes;
	encoder.bytes = BUF_INIT;
	return 0;
}
