#include "pack/foreign/record/parquet_names.h"
#include <string.h>

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
static bool enter(struct cursor *c, const char *key)
{
	if (peek(c) != '{')
		return false;
	c->at++;
	while (peek(c) == '"') {
		struct foreign_text found = take_string(c);

		if (foreign_text_is(found, key))
			return true;
		skip_value(c);
	}
	return false;
}

int parquet_names(struct foreign_text json, const char *label, struct buf *ret, struct err *err)
{
	struct cursor c = {json.data, json.data + json.len};
	int r = 0;

	if (!json.data || !enter(&c, "info") || !enter(&c, "features") || !enter(&c, label) ||
	    !enter(&c, "names") || peek(&c) != '[')
		return 0;
	c.at++;
	while (r == 0 && peek(&c) == '"') {
		struct foreign_text name = take_string(&c);

		if (name.len == 0 || memchr(name.data, '\\', name.len))
			return err_set(err, -EOPNOTSUPP,
				       "the name of class %zu has escapes: name them by --classes",
				       BUF_COUNT(ret, name));
		r = buf_add(ret, &name, sizeof(name));
	}
	return r;
}
