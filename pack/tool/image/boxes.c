#include "pack/tool/image/boxes.h"

/* A box is its size (4 bytes, big-endian), its type, and its content. Size 1: the 8 bytes after the
 * type have the size. Size 0: the box reaches to the end of what it is in. */
struct box {
	uint64_t type, content, end; /* where type and content begin, and what follows */
};

/* The box at *at within another one; *at goes to the next. */
static bool box_next(const struct bytes *file, const struct box *in, uint64_t *at, struct box *ret)
{
	uint64_t header = 8, size = bytes_get(file, *at, 4);

	if (*at >= in->end || !bytes_have(file, *at, header))
		return false;
	if (size == 1) {
		header = 16;
		size = (uint64_t)bytes_get(file, *at + 8, 4) << 32 | bytes_get(file, *at + 12, 4);
	} else if (size == 0) {
		size = in->end - *at;
	}
	if (size < header || size > in->end - *at)
		return false;
	*ret = (struct box){.type = *at + 4, .content = *at + header, .end = *at + size};
	*at += size;
	return true;
}

/* The first box of a type in another one; its content begins `skip` bytes later. */
static bool box_find(const struct bytes *file, const struct box *in, const char *type,
		     unsigned skip, struct box *ret)
{
	uint64_t at = in->content;
	struct box box;

	while (box_next(file, in, &at, &box)) {
		if (!bytes_are(file, box.type, type, 4))
			continue;
		box.content += skip;
		*ret = box;
		return true;
	}
	return false;
}

#define FULL_BOX 4 /* bytes of version and flags before the content of some boxes */

static const struct box whole_file = {.end = UINT64_MAX};

/* --- AVIF: ISO/IEC 23008-12, and the AV1 Image File Format -------------------------------------
 *
 *	ftyp                brands, one of them "avif" or "avis"
 *	meta  pitm          the item that is the picture; others are its tiles, alpha, thumbnails
 *	      iprp  ipco    properties, among them sizes: ispe
 *	            ipma    which item has which, as numbers from 1 */

static bool is_avif(const struct bytes *file)
{
	uint32_t size = bytes_get(file, 0, 4);

	if (!bytes_are(file, 4, "ftyp", 4))
		return false;
	/* The major brand, its version, and the brands that it is compatible with. */
	for (uint64_t at = 8; at + 4 <= size && bytes_have(file, at, 4); at += at == 8 ? 8 : 4)
		if (bytes_are(file, at, "avif", 4) || bytes_are(file, at, "avis", 4))
			return true;
	return false;
}

/* Whether property `number` is a size. */
static bool ispe_get(const struct bytes *file, const struct box *ipco, uint32_t number,
		     uint32_t *ret_width, uint32_t *ret_height)
{
	uint64_t at = ipco->content;
	struct box box;

	for (; number > 0; number--)
		if (!box_next(file, ipco, &at, &box))
			return false;
	if (at == ipco->content || !bytes_are(file, box.type, "ispe", 4))
		return false;
	*ret_width = bytes_get(file, box.content + FULL_BOX, 4);
	*ret_height = bytes_get(file, box.content + FULL_BOX + 4, 4);
	return true;
}

/* Looks for the size among the properties of an item. Only the first list of an item counts: to
 * look at very many lists could take hours. */
static void size_of_item(const struct bytes *file, const struct box *ipma, const struct box *ipco,
			 uint32_t item, uint32_t *ret_width, uint32_t *ret_height)
{
	unsigned id_bytes = bytes_get(file, ipma->content - FULL_BOX, 1) ? 4 : 2;
	unsigned number_bytes = bytes_get(file, ipma->content - 1, 1) & 1 ? 2 : 1;
	uint32_t essential = number_bytes == 2 ? 0x8000 : 0x80; /* a flag, not part of the number */
	uint64_t at = ipma->content + 4;

	while (at < ipma->end && bytes_have(file, at, id_bytes + 1u)) {
		bool found = bytes_get(file, at, id_bytes) == item;
		uint32_t count = bytes_get(file, at + id_bytes, 1);

		at += id_bytes + 1;
		for (; found && count > 0; count--, at += number_bytes)
			if (ispe_get(file, ipco, bytes_get(file, at, number_bytes) & ~essential,
				     ret_width, ret_height))
				return;
		if (found)
			return;
		at += count * number_bytes;
	}
}

bool avif_header(const struct bytes *head, uint32_t *ret_width, uint32_t *ret_height)
{
	const struct bytes file = {.data = head->data, .len = head->len, .big = true};
	struct box meta, pitm, iprp, ipco, ipma;
	uint32_t item;

	if (!is_avif(&file))
		return false;
	*ret_width = *ret_height = 0;
	if (!box_find(&file, &whole_file, "meta", FULL_BOX, &meta) ||
	    !box_find(&file, &meta, "pitm", FULL_BOX, &pitm) ||
	    !box_find(&file, &meta, "iprp", 0, &iprp) ||
	    !box_find(&file, &iprp, "ipco", 0, &ipco) ||
	    !box_find(&file, &iprp, "ipma", FULL_BOX, &ipma))
		return true;
	item = bytes_get(&file, pitm.content, bytes_get(&file, pitm.content - FULL_BOX, 1) ? 4 : 2);
	size_of_item(&file, &ipma, &ipco, item, ret_width, ret_height);
	return true;
}

/* --- JPEG XL: ISO/IEC 18181-1, 18181-2 ---------------------------------------------------------
 *
 * A codestream begins with ff 0a and the size, in bits, the lowest bit of each byte first:
 *
 *	u1 small; height; u3 ratio; width, if the ratio is 0
 *
 * If small, a side is in units of 8, as 5 bits; otherwise 2 bits say how many bits follow. All
 * values are one less than the sides. */

struct bits {
	const struct bytes *file;
	uint64_t at; /* in bits */
};

/* Zeros beyond the end. */
static uint32_t bits_take(struct bits *bits, unsigned count)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < count; i++, bits->at++)
		value |= (bytes_get(bits->file, bits->at / 8, 1) >> bits->at % 8 & 1) << i;
	return value;
}

static uint32_t jxl_side(struct bits *bits, bool small)
{
	static const uint8_t counts[] = {9, 13, 18, 30};

	if (small)
		return 8 * (bits_take(bits, 5) + 1);
	return bits_take(bits, counts[bits_take(bits, 2)]) + 1;
}

static void jxl_size(const struct bytes *file, uint64_t codestream, uint32_t *ret_width,
		     uint32_t *ret_height)
{
	static const uint8_t ratios[][2] = {{1, 1},  {12, 10}, {4, 3}, {3, 2},
					    {16, 9}, {5, 4},   {2, 1}};
	struct bits bits = {.file = file, .at = 8 * (codestream + 2)};
	bool small = bits_take(&bits, 1);
	uint32_t height = jxl_side(&bits, small), ratio = bits_take(&bits, 3), width;

	if (ratio == 0)
		width = jxl_side(&bits, small);
	else
		width = (uint32_t)((uint64_t)height * ratios[ratio - 1][0] / ratios[ratio - 1][1]);
	if (!bytes_are(file, codestream, "\xff\x0a", 2) || bits.at > 8 * (uint64_t)file->len)
		return;
	*ret_width = width;
	*ret_height = height;
}

/* Two bytes alone prove little: a codestream without boxes must have its size, too. */
bool jxl_header(const struct bytes *head, uint32_t *ret_width, uint32_t *ret_height)
{
	const struct bytes file = {.data = head->data, .len = head->len, .big = true};
	struct box box;

	*ret_width = *ret_height = 0;
	if (bytes_are(&file, 0, "\0\0\0\x0cJXL \r\n\x87\n", 12)) {
		if (box_find(&file, &whole_file, "jxlc", 0, &box) ||
		    box_find(&file, &whole_file, "jxlp", 4, &box)) /* after the part's number */
			jxl_size(&file, box.content, ret_width, ret_height);
		return true;
	}
	jxl_size(&file, 0, ret_width, ret_height);
	return *ret_width > 0;
}
