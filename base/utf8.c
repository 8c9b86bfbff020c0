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

static size_t decode_any(const char *data, size_t len, uint32_t *ret)
{
	size_t n = utf8_decode(data, len, ret);

	if (n == 0)
		*ret = 0xdc00u | (uint8_t)*data;
	return n ? n : 1;
}

int utf8_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	uint32_t left, right;
	size_t a_at = 0, b_at = 0;

	while (a_at < a_len && b_at < b_len) {
		a_at += decode_any(a + a_at, a_len - a_at, &left);
		b_at += decode_any(b + b_at, b_len - b_at, &right);
		if (left != right)
			return left < right ? -1 : 1;
	}
	return (a_at < a_len) - (b_at < b_len);
}

size_t utf8_encode(uint32_t code, char ret[static 4])
{
	size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	if (code > 0x10ffff)
		return 0;
	for (size_t i = len - 1; i > 0; i--, code >>= 6)
		ret[i] = (char)(0x80 | (code & 0x3f));
	ret[0] = (char)(len == 1 ? code : (0xf00u >> len & 0xff) | code);
	return len;
}

bool utf8_commands(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

bool utf8_is_control(const char *text, size_t len, size_t at)
{
	size_t begin = at;
	uint32_t code;

	while (begin > 0 && at - begin < 3 && (text[begin] & 0xc0) == 0x80)
		begin--;
	return utf8_decode(text + begin, len - begin, &code) <= at - begin || utf8_commands(code);
}

int utf8_add_shown(struct buf *buf, const char *text, size_t len)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < len; i++)
		r = utf8_is_control(text, len, i) ? buf_addf(buf, "\\%03o", (unsigned char)text[i])
						  : buf_addf(buf, "%c", text[i]);
	return r;
}
