#include "base/json.h"

#include "base/utf8.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct json json_begin(struct buf *buf)
{
	return (struct json){.buf = buf};
}

static void put_text(struct json *json, const char *text)
{
	buf_add(json->buf, text, strlen(text));
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

static void put_quoted(struct json *json, const char *data, size_t len)
{
	size_t from = 0, at = 0; /* data[from..at) may be copied as it is */
	uint32_t code;

	put_text(json, "\"");
	while (at < len) {
		size_t n = utf8_decode(data + at, len - at, &code);

		/* What a terminal obeys means the same when it is escaped. */
		if (n > 0 && code != '"' && code != '\\' && !utf8_commands(code)) {
			at += n;
			continue;
		}
		buf_add(json->buf, data + from, at - from);
		put_escape(json, n > 0 ? code : 0xdc00u + (unsigned char)data[at]);
		from = at += n > 0 ? n : 1;
	}
	if (len > 0)
		buf_add(json->buf, data + from, len - from);
	put_text(json, "\"");
}

/* What precedes each value: the comma, the key. */
static void write_key(struct json *json, const char *key)
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
	write_key(json, key);
	put_text(json, text);
}

static void open_nesting(struct json *json, const char *key, const char *open, char close)
{
	put_value(json, key, open);
	json->close[json->depth] = close;
	json->filled[json->depth++] = false;
}

void json_object(struct json *json, const char *key)
{
	open_nesting(json, key, "{", '}');
}

void json_array(struct json *json, const char *key)
{
	open_nesting(json, key, "[", ']');
}

void json_end(struct json *json)
{
	buf_add(json->buf, &json->close[--json->depth], 1);
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
	write_key(json, key);
	put_quoted(json, data, len);
}
