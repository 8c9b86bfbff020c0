#include "pack/tool/image/png_chunks.h"

#include "base/be.h"
#include "base/math.h"
#include "base/size.h"
#include <ctype.h>
#include <errno.h>
#include <zlib.h>

#define TEXT_MOST MIB	     /* MAX_TEXT_CHUNK of PIL */
#define ALL_MOST  (64 * MIB) /* MAX_TEXT_MEMORY; here with profiles, so that time is bounded */
#define PART	  16384

enum { GREY = 0, COLOUR = 2 }; /* types in the header */

uint32_t png_chunk_crc(const uint8_t *chunk)
{
	return (uint32_t)crc32_z(0, chunk + 4, 4 + (size_t)be_get32(chunk));
}

/* --- what is compressed ---------------------------------------------------------------------- */

/* Unpacks as PIL does, into `to` unless it is NULL. What is damaged counts as nothing. 0, -EFBIG
 * (more than TEXT_MOST) or -ENOMEM. */
static int unpack(const uint8_t *data, size_t len, struct buf *to, uint64_t *made)
{
	z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)len};
	uint8_t out[PART];
	int r = inflateInit(&stream), kept = 0;

	while (r == Z_OK && kept == 0 && stream.avail_in > 0 && stream.total_out < TEXT_MOST) {
		stream.next_out = out;
		stream.avail_out = (uInt)min(sizeof(out), TEXT_MOST - stream.total_out);
		r = inflate(&stream, Z_SYNC_FLUSH);
		if (to)
			kept = buf_add(to, out, (size_t)(stream.next_out - out));
	}
	*made += stream.total_out;
	inflateEnd(&stream);
	if (kept < 0 || r == Z_MEM_ERROR)
		return -ENOMEM;
	if (r != Z_STREAM_END && r != Z_OK && r != Z_BUF_ERROR && to)
		to->len = 0;
	return (r == Z_OK || r == Z_BUF_ERROR) && stream.avail_in ? -EFBIG : 0;
}

/* --- text ------------------------------------------------------------------------------------ */

/* The parts of a chunk of text. */
struct words {
	const uint8_t *at; /* the text, perhaps compressed */
	size_t len;
	size_t keyword; /* its length */
	bool packed;
};

/* What follows the next NUL; NULL: there is none. */
static const uint8_t *behind_nul(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *nul = at ? memchr(at, 0, (size_t)(end - at)) : NULL;

	return nul ? nul + 1 : NULL;
}

static bool is_text(const uint8_t *chunk)
{
	return png_chunk_is(chunk, "tEXt") || png_chunk_is(chunk, "zTXt") ||
	       png_chunk_is(chunk, "iTXt");
}

/* tEXt: keyword, NUL, text. zTXt: keyword, NUL, method, text. iTXt: keyword, NUL, whether it is
 * packed, method, language, NUL, keyword, NUL, text. 0; 1: PIL finds no text in it; -EBADMSG. */
static int split_text(const uint8_t *chunk, struct words *ret)
{
	const uint8_t *data = chunk + 8, *end = data + be_get32(chunk),
		      *text = behind_nul(data, end);

	if (!text)
		return 1;
	*ret = (struct words){.keyword = (size_t)(text - data - 1)};
	if (png_chunk_is(chunk, "zTXt")) {
		if (text < end && *text != 0)
			return -EBADMSG;
		ret->packed = true;
		text += text < end;
	} else if (png_chunk_is(chunk, "iTXt")) {
		if (end - text < 2 || (text[0] && text[1]))
			return 1;
		ret->packed = text[0];
		text = behind_nul(behind_nul(text + 2, end), end);
	}
	ret->at = text;
	ret->len = text ? (size_t)(end - text) : 0;
	return text ? 0 : 1;
}

int png_chunk_text(const uint8_t *chunk, const char *keyword, struct buf *text)
{
	struct words words;
	uint64_t made = 0;
	int r = is_text(chunk) ? split_text(chunk, &words) : 1;

	if (r != 0 || words.keyword != strlen(keyword) ||
	    memcmp(chunk + 8, keyword, words.keyword) != 0)
		return 1;
	if (!words.packed)
		return buf_add(text, words.at, words.len);
	r = unpack(words.at, words.len, text, &made);
	return r == -EFBIG ? 1 : r;
}

static int too_much(struct err *err, const uint8_t *chunk)
{
	return err_set(err, -EFBIG, "its chunk %.4s unpacks to over 1 MiB",
		       (const char *)chunk + 4);
}

static int bad(struct err *err, const uint8_t *chunk, const char *why)
{
	return err_set(err, -EBADMSG, "its chunk %.4s %s", (const char *)chunk + 4, why);
}

static int read_text(struct png_reading *reading, const uint8_t *chunk, struct err *err)
{
	struct words words;
	int r = split_text(chunk, &words);

	if (r < 0)
		return bad(err, chunk, "is packed in an unknown way");
	if (r == 1)
		return 0;
	if (words.packed)
		r = unpack(words.at, words.len, NULL, &reading->unpacked);
	else
		reading->unpacked += words.len;
	return r == -EFBIG ? too_much(err, chunk) : r;
}

/* A name, NUL, the method, the profile. */
static int read_profile(struct png_reading *reading, const uint8_t *chunk, struct err *err)
{
	const uint8_t *data = chunk + 8, *end = data + be_get32(chunk), *at = behind_nul(data, end);
	int r;

	if (!at || at == end || *at != 0)
		return bad(err, chunk, "is packed in an unknown way");
	r = unpack(at + 1, (size_t)(end - at - 1), NULL, &reading->unpacked);
	return r == -EFBIG ? too_much(err, chunk) : r;
}

/* --- animations ------------------------------------------------------------------------------ */

/* Size and place of a frame. One in front of IDAT is all of the picture. */
static bool frame_fits(const struct png_reading *reading, const uint8_t *fctl)
{
	uint64_t width = be_get32(fctl + 4), height = be_get32(fctl + 8);

	if (!reading->pixels && (width != reading->width || height != reading->height))
		return false;
	return width + be_get32(fctl + 12) <= reading->width &&
	       height + be_get32(fctl + 16) <= reading->height;
}

/* The numbers of fcTL and fdAT follow each other, and fcTL comes first. */
static int read_frame(struct png_reading *reading, const uint8_t *chunk, struct err *err)
{
	bool header = png_chunk_is(chunk, "fcTL");
	const uint8_t *data = chunk + 8;

	if (be_get32(data) != reading->next || (!header && reading->next == 0))
		return bad(err, chunk, "is not the next part of the animation");
	reading->next++;
	if (header && !frame_fits(reading, data))
		return bad(err, chunk, "is of another size than the picture");
	return 0;
}

/* A second one makes it a still. */
static void read_animation(struct png_reading *reading, const uint8_t *chunk)
{
	uint32_t frames = be_get32(chunk + 8);

	reading->frames = reading->frames || frames > (uint32_t)INT32_MAX + 1 ? 0 : frames;
}

/* --- one chunk, and all ---------------------------------------------------------------------- */

static uint32_t least_bytes(const struct png_reading *reading, const uint8_t *chunk)
{
	static const struct {
		char type[5];
		uint32_t bytes;
	} least[] = {{"cHRM", 32}, {"fcTL", 26}, {"IHDR", 13}, {"pHYs", 9},
		     {"acTL", 8},  {"gAMA", 4},	 {"fdAT", 4},  {"sRGB", 1}};

	if (png_chunk_is(chunk, "tRNS") && reading->type == COLOUR)
		return 6;
	if (png_chunk_is(chunk, "tRNS") && reading->type == GREY)
		return 2;
	for (size_t i = 0; i < sizeof(least) / sizeof(least[0]); i++)
		if (png_chunk_is(chunk, least[i].type))
			return least[i].bytes;
	return 0;
}

int png_chunk_read(struct png_reading *reading, const uint8_t *chunk, struct err *err)
{
	const uint8_t *data = chunk + 8;
	int r = 0;

	if (be_get32(chunk) < least_bytes(reading, chunk))
		return bad(err, chunk, "is too short");
	if (png_chunk_is(chunk, "cHRM") && be_get32(chunk) % 4)
		return bad(err, chunk, "is not made of numbers");
	if (png_chunk_is(chunk, "IHDR")) {
		reading->width = be_get32(data);
		reading->height = be_get32(data + 4);
		reading->type = data[9];
	} else if (png_chunk_is(chunk, "IDAT")) {
		/* A picture in front of the frames is one more. */
		reading->frames += !reading->pixels && reading->frames && !reading->next;
		reading->pixels = true;
	} else if (png_chunk_is(chunk, "acTL") && !reading->pixels) {
		read_animation(reading, chunk);
	} else if (png_chunk_is(chunk, "fcTL") || png_chunk_is(chunk, "fdAT")) {
		r = read_frame(reading, chunk, err);
	} else if (png_chunk_is(chunk, "iCCP")) {
		r = read_profile(reading, chunk, err);
	} else if (is_text(chunk)) {
		r = read_text(reading, chunk, err);
	}
	if (r == 0 && reading->unpacked > ALL_MOST)
		return err_set(err, -EFBIG, "its texts take over 64 MiB");
	return r;
}

/* As PIL's pattern for types has it. */
static bool is_word(const uint8_t *type)
{
	for (int i = 0; i < 4; i++)
		if (!isascii(type[i]) || (!isalnum(type[i]) && type[i] != '_'))
			return false;
	return true;
}

int png_chunks_read(const struct bytes *file, struct err *err)
{
	struct png_reading reading = {0};
	uint64_t at = PNG_FIRST_CHUNK;
	int r = 0;

	while (r == 0 && bytes_have(file, at, 8)) {
		const uint8_t *chunk = file->data + at;
		uint32_t len = be_get32(chunk);

		if (!is_word(chunk + 4) || png_chunk_is(chunk, "IEND") ||
		    (png_chunk_is(chunk, "fcTL") && reading.pixels && reading.frames > 1))
			break;
		if (!bytes_have(file, at + 8, len))
			return err_set(err, -ENODATA, "ends in its chunk %.4s",
				       (const char *)chunk + 4);
		r = png_chunk_read(&reading, chunk, err);
		at += PNG_CHUNK_FRAME + len;
	}
	return r;
}
