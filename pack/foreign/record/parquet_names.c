#include "pack/foreign/record/parquet_names.h"
#include "base/utf8.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME 256 /* of a column */

struct cursor {
	const char *at, *end;
};

static char peek(struct cursor *c)
{
	while (c->at < c->end && memchr(" \t\r\n,:", *c->at, 6))
		c->at++;
	return c->at < c->end ? *c->at : '\0';
}

static struct foreign_text take_string(struct cursor *c)
{
	const char *start = ++c->at;

	while (c->at < c->end && *c->at != '"')
		c->at += *c->at == '\\' && c->end - c->at > 1 ? 2 : 1;
	if (c->at < c->end)
		c->at++;
	else
		return (struct foreign_text){0};
	return (struct foreign_text){start, (size_t)(c->at - 1 - start)};
}

/* The four digits behind \u. Returns false where they are none. */
static bool take_digits(struct cursor *c, uint32_t *ret)
{
	uint32_t code = 0;

	if (c->end - c->at < 4)
		return false;
	for (int i = 0; i < 4; i++, c->at++) {
		char digit = *c->at;

		if (!isxdigit((unsigned char)digit))
			return false;
		code = code * 16 + (uint32_t)(isdigit((unsigned char)digit)
						      ? digit - '0'
						      : (digit | 32) - 'a' + 10);
	}
	*ret = code;
	return true;
}

/* Of a high surrogate: the character that it is together with the low one behind it. */
static bool take_pair(struct cursor *c, uint32_t high, uint32_t *ret)
{
	struct cursor next = {c->at + 2, c->end};
	uint32_t low;

	if (c->end - c->at < 2 || memcmp(c->at, "\\u", 2) != 0 || !take_digits(&next, &low) ||
	    low < 0xdc00 || low > 0xdfff)
		return false;
	*c = next;
	*ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

/* The character behind \u; `text` has room. */
static bool take_unicode(struct cursor *c, struct buf *text)
{
	uint32_t code;

	if (!take_digits(c, &code))
		return false;
	if (code >= 0xdc80 && code <= 0xdcff) {
		text->data[text->len++] = (char)code;
		return true;
	}
	if (code >= 0xdc00 && code <= 0xdfff)
		return false;
	if (code >= 0xd800 && code <= 0xdbff && !take_pair(c, code, &code))
		return false;
	text->len += utf8_encode(code, text->data + text->len);
	return true;
}

/* Appends what the inside of a string means, which is never longer; `text` has room. Returns false
 * where it is no text. */
static bool add_meant(struct foreign_text raw, struct buf *text)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	struct cursor c = {raw.data, raw.data + raw.len};

	if (!raw.data)
		return false;
	while (c.at < c.end) {
		char first = *c.at++;
		const char *letter;

		if (first != '\\') {
			text->data[text->len++] = first;
			continue;
		}
		first = c.at < c.end ? *c.at++ : '\0';
		letter = memchr(letters, first, sizeof(letters) - 1);
		if (letter)
			text->data[text->len++] = meant[letter - letters];
		else if (first != 'u' || !take_unicode(&c, text))
			return false;
	}
	return true;
}

static void skip_value(struct cursor *c)
{
	unsigned depth = 0;

	do {
		char first = peek(c);

		if (first == '\0')
			return;
		if (first == '"') {
			take_string(c);
			continue;
		}
		depth += first == '{' || first == '[';
		if ((first == '}' || first == ']') && depth > 0)
			depth--;
		c->at++;
		while (depth == 0 && c->at < c->end && !memchr(",}] \n", *c->at, 5) &&
		       first != '}' && first != ']')
			c->at++;
	} while (depth > 0);
}

/* Moves to the value of a key of the object that begins here. */
static bool enter(struct cursor *c, const char *key, struct buf *text)
{
	if (peek(c) != '{')
		return false;
	c->at++;
	while (peek(c) == '"') {
		struct foreign_text found = take_string(c);
		bool is_text = add_meant(found, text);

		found = (struct foreign_text){text->data, text->len};
		text->len = 0;
		if (is_text && foreign_text_is(found, key))
			return true;
		skip_value(c);
	}
	return false;
}

/* Of a field of a field the path has dots, as the name of a field may. */
static bool enter_path(struct cursor *c, const char *path, struct buf *text)
{
	for (const char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
		struct cursor whole = *c;
		char first[NAME];

		if (enter(&whole, path, text)) {
			*c = whole;
			return true;
		}
		snprintf(first, NAME, "%.*s", (int)(dot - path), path);
		if (!enter(c, first, text))
			return false;
	}
	return enter(c, path, text);
}

int parquet_names(struct foreign_text json, const char *label, struct buf *text, struct buf *ret,
		  struct err *err)
{
	struct cursor c = {json.data, json.data + json.len};
	int r = json.data ? buf_reserve(text, json.len + 1)
			  : 0; /* so that names stay where they are */

	if (r < 0 || !json.data || !enter(&c, "info", text) || !enter(&c, "features", text) ||
	    !enter_path(&c, label, text) || !enter(&c, "names", text) || peek(&c) != '[')
		return r;
	c.at++;
	while (r == 0 && peek(&c) == '"') {
		struct foreign_text name = {text->data + text->len, text->len};

		if (!add_meant(take_string(&c), text))
			return err_set(
				err, -EOPNOTSUPP,
				"the name of class %zu has escapes that mean no text: name the "
				"classes by --classes",
				BUF_COUNT(ret, name));
		name.len = text->len - name.len;
		r = buf_add(ret, &name, sizeof(name));
	}
	return r;
}
