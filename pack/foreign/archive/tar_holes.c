#include "pack/foreign/archive/tar_holes.h"
#include "pack/foreign/archive/tar_header.h"
#include <errno.h>
#include <string.h>

#define PIECES_MOST (1u << 20)

enum { FIELD = 12 };

void tar_holes_release(struct tar_holes *holes)
{
	buf_release(&holes->path);
	buf_release(&holes->map);
	*holes = (struct tar_holes){0};
}

static int bad_map(struct err *err)
{
	return err_set(err, -EBADMSG, "the map of its holes contradicts itself");
}

/* --- pax -------------------------------------------------------------------------------------- */

/* Takes a number off that ends with the mark, or with the text. */
static bool take_hole_number(struct foreign_text *text, char mark, uint64_t *ret)
{
	size_t digits = foreign_text_number(*text, ret);

	if (digits == 0 || *ret > INT64_MAX || (digits < text->len && text->data[digits] != mark))
		return false;
	digits += digits < text->len;
	text->data += digits;
	text->len -= digits;
	return true;
}

static int take_hole(struct buf *map, struct foreign_text value, struct err *err)
{
	uint64_t number;

	if (!take_hole_number(&value, ',', &number) || value.len)
		return bad_map(err);
	return buf_add(map, &number, sizeof(number));
}

static int take_map(struct buf *map, struct foreign_text value, struct err *err)
{
	int r = 0;

	map->len = 0;
	while (r == 0 && value.len) {
		uint64_t number;

		if (!take_hole_number(&value, ',', &number))
			return bad_map(err);
		r = buf_add(map, &number, sizeof(number));
	}
	return r;
}

int tar_holes_take(struct tar_holes *holes, struct foreign_text key, struct foreign_text value,
		   struct err *err)
{
	static const char begin[] = "GNU.sparse.";
	struct foreign_text text = value;

	if (key.len < strlen(begin) || memcmp(key.data, begin, strlen(begin)) != 0)
		return 0;
	holes->sparse = true;
	key.data += strlen(begin);
	key.len -= strlen(begin);
	if (foreign_text_is(key, "major"))
		holes->in_front = foreign_text_is(value, "1");
	if (foreign_text_is(key, "size") || foreign_text_is(key, "realsize"))
		return take_hole_number(&text, ',', &holes->size) && !text.len ? 0 : bad_map(err);
	if (foreign_text_is(key, "offset") || foreign_text_is(key, "numbytes"))
		return take_hole(&holes->map, value, err);
	if (foreign_text_is(key, "map"))
		return take_map(&holes->map, value, err);
	if (!foreign_text_is(key, "name"))
		return 0;
	if (value.len > FOREIGN_PATH_MOST)
		return err_set(err, -EBADMSG, "its pax header has a path of over 4095 bytes");
	holes->path.len = 0;
	return buf_add(&holes->path, value.data, value.len);
}

/* The count of the pieces, and two numbers for each, a line each. */
int tar_holes_take_front(struct tar_holes *holes, struct foreign_text text, size_t *ret,
			 struct err *err)
{
	struct foreign_text rest = text;
	uint64_t left = 1, number;
	int r = 0;

	holes->map.len = 0;
	for (bool first = true; r == 0 && left > 0; left--) {
		if (!rest.len || !memchr(rest.data, '\n', rest.len))
			return 1;
		if (!take_hole_number(&rest, '\n', &number) || (first && number > PIECES_MOST))
			return bad_map(err);
		if (first)
			left = 2 * number + 1;
		else
			r = buf_add(&holes->map, &number, sizeof(number));
		first = false;
	}
	if (r == 0)
		*ret = text.len - rest.len;
	return r;
}

/* --- gnu -------------------------------------------------------------------------------------- */

int tar_holes_take_fields(struct tar_holes *holes, const uint8_t *fields, unsigned count,
			  struct err *err)
{
	int r = 0;

	holes->sparse = true;
	for (unsigned i = 0; r == 0 && i < 2 * count; i++, fields += FIELD) {
		int64_t number;

		if (i % 2 == 0 && fields[FIELD] == '\0')
			break;
		if (!tar_number(fields, FIELD, &number) || number < 0)
			return bad_map(err);
		r = buf_add(&holes->map, &number, sizeof(number));
	}
	return r;
}

/* --- all -------------------------------------------------------------------------------------- */

int tar_holes_check(const struct tar_holes *holes, uint64_t stored, uint64_t *ret, struct err *err)
{
	const uint64_t *map = BUF_ITEMS(&holes->map, const uint64_t);
	uint64_t end = 0, sum = 0;

	if (BUF_COUNT(&holes->map, *map) % 2)
		return bad_map(err);
	for (size_t i = 0; i < BUF_COUNT(&holes->map, *map); i += 2) {
		if (map[i] < end || map[i] > holes->size || map[i + 1] > holes->size - map[i])
			return bad_map(err);
		end = map[i] + map[i + 1];
		sum += map[i + 1];
	}
	if (sum != stored || holes->size > INT64_MAX)
		return bad_map(err);
	*ret = holes->size - sum;
	return 0;
}
