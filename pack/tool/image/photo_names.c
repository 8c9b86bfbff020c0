#include "pack/tool/image/photo_names.h"

#include "base/utf8.h"
#include "pack/image_kind.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define LONGEST 255

enum { WHOLE, BEGIN }; /* kinds of names in the set */

void photo_names_release(struct photo_names *names)
{
	number_table_release(&names->table);
	*names = (struct photo_names){0};
}

/* --- a set of hashes ------------------------------------------------------------------------- */

/* 63 bits stand for a name: a billion words beside 14 million names meet a wrong one with a chance
 * of 0.2 %. */
static uint64_t photo_hash(const char *text, size_t len, int kind)
{
	char lower[LONGEST];

	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)text[i]);
	return XXH3_64bits_withSeed(lower, len, (uint64_t)kind) | 1;
}

/* The hash, or 0. */
static uint64_t photo_find(const struct photo_names *names, const char *text, size_t len, int kind)
{
	uint64_t hash;
	uint32_t number;
	size_t at = 0;

	if (len == 0 || len > LONGEST)
		return 0;
	hash = photo_hash(text, len, kind);
	do {
		number = number_table_next(&names->table, (uint32_t)(hash >> 32), &at);
	} while (number && number != (uint32_t)hash);
	return number ? hash : 0;
}

/* 1: it is new; 0 or -ENOMEM. */
static int photo_put(struct photo_names *names, const char *text, size_t len, int kind)
{
	uint64_t hash = photo_hash(text, len, kind);

	if (photo_find(names, text, len, kind))
		return 0;
	return number_table_add(&names->table, (uint32_t)(hash >> 32), (uint32_t)hash) < 0 ? -ENOMEM
											   : 1;
}

/* --- names ----------------------------------------------------------------------------------- */

static size_t stem_len(const char *name, size_t len)
{
	const char *dot = len ? memrchr(name, '.', len) : NULL;

	return dot && dot > name && image_is_named(name, len) ? (size_t)(dot - name) : len;
}

static uint64_t length_bit(size_t len)
{
	return (uint64_t)1 << (len < 63 ? len : 63);
}

static bool parts_words(char c)
{
	return c && strchr("._- ", c);
}

/* What is in front of the last word; 0 if it has no digit. */
static size_t begin_len(const char *stem, size_t len)
{
	while (len > 0 && !parts_words(stem[len - 1]))
		len--;
	for (size_t i = 0; i + 1 < len; i++)
		if (isdigit((unsigned char)stem[i]))
			return len - 1;
	return 0;
}

int photo_names_add(struct photo_names *names, const char *name)
{
	size_t len = strlen(name), stem = stem_len(name, len), begin = begin_len(name, stem);
	int r;

	if (stem == 0 || stem > LONGEST)
		return 0;
	for (size_t i = 0; i < len; i++)
		names->odd |= !photo_names_word(name[i]) || (uint8_t)name[i] >= 0x80;
	names->lengths |= length_bit(stem);
	r = photo_put(names, name, stem, WHOLE);
	names->count += r == 1;
	if (r >= 0 && begin)
		r = photo_put(names, name, begin, BEGIN);
	return r < 0 ? r : 0;
}

/* Most words are of a length that no name has. */
uint64_t photo_names_find(const struct photo_names *names, const char *text, size_t len)
{
	size_t stem = stem_len(text, len);

	return names->lengths & length_bit(stem) ? photo_find(names, text, stem, WHOLE) : 0;
}

/* "\u00e9" of JSON. */
static size_t take_escape(const char *at, const char *end, char ret[static 4])
{
	char digits[5] = "";
	char *last;
	unsigned long code;

	if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
		return 0;
	memcpy(digits, at + 2, 4);
	code = strtoul(digits, &last, 16);
	return last == digits + 4 ? utf8_encode((uint32_t)code, ret) : 0;
}

uint64_t photo_names_find_between(const struct photo_names *names, const char *text,
				  const char *end)
{
	char name[LONGEST + 1];
	size_t len = 0, step;

	for (const char *at = text; at < end; at++)
		if (*at == '/' || (*at == '\\' && at + 1 < end && at[1] != 'u'))
			text = at + 1;
	while (text < end && isspace((unsigned char)*text))
		text++;
	while (text < end && isspace((unsigned char)end[-1]))
		end--;
	if ((size_t)(end - text) > sizeof(name))
		return 0;
	while (text < end && len + 4 <= sizeof(name)) {
		step = take_escape(text, end, name + len);
		if (step) {
			len += step;
			text += 6;
		} else {
			name[len++] = *text++;
		}
	}
	return photo_names_find(names, name, len);
}

bool photo_names_share(const struct photo_names *names, const char *name)
{
	size_t len = strlen(name);
	const char *dot = strrchr(name, '.');

	for (size_t at = 0; at <= len; at++)
		if ((at == len || parts_words(name[at])) &&
		    (photo_find(names, name, at, WHOLE) || photo_find(names, name, at, BEGIN)))
			return true;
	len = dot ? (size_t)(dot - name) : len;
	for (size_t at = 1; at < len; at++)
		if (parts_words(name[at - 1]) && photo_find(names, name + at, len - at, WHOLE))
			return true;
	return false;
}
