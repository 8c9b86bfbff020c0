/* Writes one JSON value into a buf, commas and escapes included.
 *
 *	struct json j = json_begin(&buf);
 *	json_object(&j, NULL);
 *	json_u64(&j, "files", 260);
 *	json_end(&j);                        -> {"files": 260}
 *
 * `key` is NULL inside arrays and at the top. File names are bytes. Bytes that are not UTF-8 become
 * lone surrogates U+DC80..U+DCFF, like Python's "surrogateescape", so that
 * os.fsencode(json.loads(...)) returns the same bytes. Each level is closed, and at most JSON_DEPTH
 * are open; buf_error() says whether memory ran out. */
#pragma once

#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

#define JSON_DEPTH 16

struct json {
	struct buf *buf; /* borrowed */
	unsigned depth;
	char close[JSON_DEPTH];	 /* the bracket that ends each open level */
	bool filled[JSON_DEPTH]; /* that level has a member */
};

struct json json_begin(struct buf *buf);
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end(struct json *json); /* closes the innermost level */
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_double(struct json *json, const char *key, double value); /* 6 digits; nan is null */
void json_bool(struct json *json, const char *key, bool value);
void json_string(struct json *json, const char *key, const char *text);
void json_bytes(struct json *json, const char *key, const char *data, size_t len);
