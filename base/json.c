#include "base/json.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct json json_begin(struct buf *buf)
{
	return (struct json){.buf = buf};
}

static void put(struct json *json, const char *data, size_t len)
{
	if (json->error == 0)
		json->error = buf_add(json->buf, data, len);
}

static void put_text(struct json *json, const char *text)
{
	put(json, text, strlen(text));
}

/* The length of the UTF-8 character at data, or 0. The second byte's range rules out
 * overlong forms, surrogates and all behind U+10FFFF (Unicode, table 3-7). */
static size_t utf8_length(const unsigned char *data, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t need;

	if (data[0] < 0x80)
		return 1;
	if (data[0] < 0xc2 || data[0] > 0xf4)
		return 0;
	need = data[0] < 0xe0 ? 2 : data[0] < 0xf0 ? 3 : 4;
	if (len < need)
		return 0;
	if (data[0] == 0xe0)
		low = 0xa0;
	else if (data[0] == 0xed)
		high = 0x9f;
	else if (data[0] == 0xf0)
		low = 0x90;
	else if (data[0] == 0xf4)
		high = 0x8f;
	if (data[1] < low || data[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if ((data[i] & 0xc0) != 0x80)
			return 0;
	return need;
}

static void put_escape(struct json *json, unsigned code)
{
	static const char plain[] = "\"\\\b\f\n\r\t";
	static const char letters[] = "\"\\bfnrt";
	const char *found = code ? strchr(plain, (int)code) : NULL;
	char text[8];

	if (found)
		snprintf(text, sizeof(text), "\\%c", letters[found - plain]);
	else
		snprintf(text, sizeof(text), "\\u%04x", code);
	put_text(json, text);
}

static bool needs_escape(unsigned char c)
{
	return c < 0x20 || c == 0x7f || c == '"' || c == '\\';
}

static void put_quoted(struct json *json, const char *data, size_t len)
{
	const unsigned char *bytes = (const unsigned char *)data;
	size_t from = 0, at = 0; /* bytes[from..at) may be copied as they are */

	put_text(json, "\"");
	while (at < len) {
		size_t n = utf8_length(bytes + at, len - at);

		if (n > 0 && !needs_escape(bytes[at])) {
			at += n;
			continue;
		}
		put(json, data + from, at - from);
		put_escape(json, n > 0 ? bytes[at] : 0xdc00u + bytes[at]);
		from = ++at;
	}
	if (len > 0)
		put(json, data + from, len - from);
	put_text(json, "\"");
}

/* What stands before each value: the comma, the key. */
static void put_key(struct json *json, const char *key)
{
	if (json->depth > 0) {
		if (json->filled[json->depth - 1])
			put_text(json, ", ");
		json->filled[json->depth - 1] = true;
	}
	if (key) {
		put_quoted(json, key, strlen(key));
		put_text(json, ": ");
	}
}

static void put_value(struct json *json, const char *key, const char *text)
{
	put_key(json, key);
	put_text(json, text);
}

static void open_level(struct json *json, const char *key, const char *open, char close)
{
	put_value(json, key, open);
	if (json->error == 0 && json->depth == JSON_DEPTH)
		json->error = -E2BIG;
	if (json->error)
		return;
	json->close[json->depth] = close;
	json->filled[json->depth] = false;
	json->depth++;
}

void json_object(struct json *json, const char *key)
{
	open_level(json, key, "{", '}');
}

void json_array(struct json *json, const char *key)
{
	open_level(json, key, "[", ']');
}

void json_end(struct json *json)
{
	if (json->error)
		return;
	if (json->depth == 0) {
		json->error = -EINVAL;
		return;
	}
	json->depth--;
	put(json, &json->close[json->depth], 1);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_value(json, key, text);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put_value(json, key, text);
}

void json_double(struct json *json, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value);
	put_value(json, key, isfinite(value) ? text : "null");
}

void json_bool(struct json *json, const char *key, bool value)
{
	put_value(json, key, value ? "true" : "false");
}

void json_string(struct json *json, const char *key, const char *text)
{
	json_bytes(json, key, text, strlen(text));
}

void json_bytes(struct json *json, const char *key, const char *data, size_t len)
{
	put_key(json, key);
	put_quoted(json, data, len);
}

int json_finish(const struct json *json)
{
	if (json->error)
		return json->error;
	return json->depth > 0 ? -EINVAL : 0;
}
