#include "remote/response.h"
#include "base/date.h"
#include "base/scope.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* --- JSON ----------------------------------------------------------------------------------- */

static bool take_character(const char **at, char c)
{
	while (**at == ' ' || **at == '\t' || **at == '\r' || **at == '\n')
		++*at;
	if (**at != c)
		return false;
	++*at;
	return true;
}

/* XXXX of \uXXXX; 0: there is none. */
static uint32_t take_unit(const char **at)
{
	char digits[5] = "";

	if (strspn(*at, "0123456789abcdefABCDEF") < 4)
		return 0;
	memcpy(digits, *at, 4);
	*at += 4;
	return (uint32_t)strtoul(digits, NULL, 16);
}

/* The character of \uXXXX, or of two that are a surrogate pair, as UTF-8. Returns its length, or
 * -EINVAL. */
static int unicode_escape(const char **at, char *ret)
{
	uint32_t code = take_unit(at), low = 0;
	const char *next = *at + 2;

	if (code >> 10 == 0xd800 >> 10 && strncmp(*at, "\\u", 2) == 0)
		low = take_unit(&next);
	if (low >> 10 == 0xdc00 >> 10) {
		code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
		*at = next;
	}
	return code ? (int)utf8_encode(code, ret) : -EINVAL;
}

static int escape(const char **at, char *ret)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char c = *(*at)++;
	const char *found = c ? strchr(letters, c) : NULL;

	if (c == 'u')
		return unicode_escape(at, ret);
	if (!found)
		return -EINVAL;
	*ret = meant[found - letters];
	return 1;
}

/* After the opening quote. */
static int skip_string(const char **at)
{
	for (; **at && **at != '"'; ++*at)
		if (**at == '\\' && *++*at == '\0')
			return -EINVAL;
	return take_character(at, '"') ? 0 : -EINVAL;
}

/* The same of a string that is wanted. */
static int take_string(const char **at, char **ret)
{
	const char *end = *at;
	SCOPE_FREE char *text = NULL;
	char *out;
	int r = skip_string(&end);

	if (r < 0)
		return r;
	out = text = malloc((size_t)(end - *at)); /* a string never gets longer */
	if (!text)
		return -ENOMEM;
	while (**at != '"') {
		*out = *(*at)++;
		r = *out == '\\' ? escape(at, out) : 1;
		if (r < 0)
			return r;
		out += r;
	}
	*out = '\0';
	*at = end;
	*ret = steal_ptr(&text);
	return 0;
}

/* Any value; with `ret`, it is kept if it is a string or a whole number. */
static int take_value(const char **at, char **ret)
{
	size_t len, depth = 0;

	if (take_character(at, '"'))
		return ret ? take_string(at, ret) : skip_string(at);
	len = strspn(*at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
	if (len && ret && strspn(*at, "0123456789") == len) {
		*ret = strndup(*at, len);
		if (!*ret)
			return -ENOMEM;
	}
	*at += len;
	if (len)
		return 0;
	if (**at != '{' && **at != '[')
		return -EINVAL;
	do {
		char c = **at;

		if (c == '\0')
			return -EINVAL;
		++*at;
		if (c == '"' && skip_string(at) < 0)
			return -EINVAL;
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
	} while (depth);
	return 0;
}

static bool is_object(const char *at)
{
	return at[strspn(at, " \t\r\n")] == '{';
}

/* What follows the name of an object, and a dot, in the name of what is wanted; NULL: it is not in
 * there. */
static const char *inside(const char *wanted, const char *name)
{
	size_t len = strlen(name);

	return strncmp(wanted, name, len) == 0 && wanted[len] == '.' ? wanted + len + 1 : NULL;
}

/* Of members of the same name, the first that is kept counts. */
static int take_object(const char **at, const char *const *names, char **ret, size_t count)
{
	if (!take_character(at, '{'))
		return -EINVAL;
	if (take_character(at, '}'))
		return 0;
	do {
		SCOPE_FREE char *name = NULL;
		char **wanted = NULL;
		const char *deeper = NULL;
		int r = take_character(at, '"') ? take_string(at, &name) : -EINVAL;

		if (r == 0 && !take_character(at, ':'))
			r = -EINVAL;
		for (size_t i = 0; r == 0 && i < count && !deeper; i++) {
			deeper = ret[i] || !is_object(*at) ? NULL : inside(names[i], name);
			if (deeper || (!ret[i] && strcmp(name, names[i]) == 0))
				wanted = &ret[i];
		}
		if (r == 0)
			r = deeper ? take_object(at, &deeper, wanted, 1) : take_value(at, wanted);
		if (r < 0)
			return r;
	} while (take_character(at, ','));
	return take_character(at, '}') ? 0 : -EINVAL;
}

int response_json_next(const char **at, const char *const *names, char **ret, size_t count)
{
	bool first = take_character(at, '[');

	if (take_character(at, ']'))
		return 1;
	if (!first && !take_character(at, ','))
		return -EINVAL;
	return take_object(at, names, ret, count);
}

int response_json(const char *text, const char *name, char **ret)
{
	SCOPE_FREE char *found = NULL;
	int r = take_object(&text, &name, &found, 1);

	if (r == 0 && found)
		*ret = steal_ptr(&found);
	else if (r == 0)
		r = 1;
	return r;
}

/* --- XML ------------------------------------------------------------------------------------ */

/* The character of &#N; or &#xN; as UTF-8, at most as long as that. Returns its length; 0: it is
 * none. */
static size_t numbered_entity(const char **at, char *ret)
{
	bool hex = (*at)[2] == 'x';
	const char *digits = *at + 2 + hex;
	size_t len = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
	unsigned long code = len && len < 8 ? strtoul(digits, NULL, hex ? 16 : 10) : 0;
	size_t written = code && digits[len] == ';' ? utf8_encode((uint32_t)code, ret) : 0;

	*at = written ? digits + len + 1 : *at;
	return written;
}

static size_t named_entity(const char **at, char *ret)
{
	static const struct {
		const char *entity;
		char c;
	} table[] = {
		{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strncmp(*at, table[i].entity, strlen(table[i].entity)) == 0) {
			*ret = table[i].c;
			*at += strlen(table[i].entity);
			return 1;
		}
	}
	return 0;
}

/* Replaces entities by their characters, in place. */
static void unescape(char *text)
{
	const char *at = text;
	char *out = text;

	while (*at) {
		char utf8[4];
		size_t len = strncmp(at, "&#", 2) == 0 ? numbered_entity(&at, utf8)
						       : named_entity(&at, utf8);

		if (len == 0)
			*utf8 = *at++, len = 1;
		memcpy(out, utf8, len);
		out += len;
	}
	*out = '\0';
}

int response_xml(const char *text, const char *name, char **ret)
{
	size_t len = strlen(name);
	char *value;

	for (; (text = strchr(text, '<')); text++)
		if (strncmp(text + 1, name, len) == 0 && text[len + 1] == '>')
			break;
	if (!text)
		return 1;
	text += len + 2;
	value = strndup(text, strcspn(text, "<"));
	if (!value)
		return -ENOMEM;
	unescape(value);
	*ret = value;
	return 0;
}

int response_time(const char *text, int64_t *ret)
{
	struct tm tm = {0};
	char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm), sign;
	double part = rest && *rest == '.' ? strtod(rest, &rest) : 0;
	int hours = 0, minutes = 0, seconds;
	bool zoned;

	if (!rest)
		return -EINVAL;
	zoned = strcmp(rest, "Z") == 0 || sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) == 3;
	seconds = (hours * 60 + minutes) * (*rest == '-' ? -60 : 60);
	*ret = date_of((struct timespec){timegm(&tm) - seconds,
					 part >= 0 && part < 1 ? (long)(part * 1e9) : 0});
	return zoned ? 0 : 1;
}
