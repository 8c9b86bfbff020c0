#include "base/utf8.h"

/* The range of the second byte rules out overlong forms, surrogates and all above U+10FFFF
 * (Unicode, table 3-7). */
static int second_fits(unsigned char first, unsigned char second)
{
	unsigned char low = 0x80, high = 0xbf;

	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	return second >= low && second <= high;
}

size_t utf8_decode(const char *data, size_t len, uint32_t *ret)
{
	const unsigned char *bytes = (const unsigned char *)data;
	uint32_t code = bytes[0];
	size_t need;

	if (code < 0x80) {
		*ret = code;
		return 1;
	}
	if (code < 0xc2 || code > 0xf4)
		return 0;
	need = code < 0xe0 ? 2 : code < 0xf0 ? 3 : 4;
	if (len < need || !second_fits(bytes[0], bytes[1]))
		return 0;
	code &= 0xffu >> (need + 1);
	for (size_t i = 1; i < need; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (bytes[i] & 0x3fu);
	}
	*ret = code;
	return need;
}

/* U+0080 to U+009F. */
static bool is_c1(const char *text, size_t len, size_t at)
{
	const unsigned char *c = (const unsigned char *)text + at;

	return at + 1 < len && c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0;
}

bool utf8_is_control(const char *text, size_t len, size_t at)
{
	unsigned char c = (unsigned char)text[at];

	return c < 0x20 || c == 0x7f || is_c1(text, len, at) ||
	       (at > 0 && is_c1(text, len, at - 1));
}
