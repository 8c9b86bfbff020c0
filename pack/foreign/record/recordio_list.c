#include "pack/foreign/record/recordio_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct row {
	uint64_t number;
	size_t at; /* of the path, in the text */
	size_t len;
};

static int row_compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* "a/b.jpg", and not the number that other lists have there. */
static bool is_path(const char *text, size_t len)
{
	const char *dot = memrchr(text, '.', len);

	return dot && dot + 1 < text + len && isalpha((unsigned char)dot[1]);
}

static bool take_number(const char *line, const char *end, uint64_t *ret)
{
	uint64_t number = 0;
	const char *at = line;

	for (; at < end && isdigit((unsigned char)*at) && at - line < 19; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	*ret = number;
	return at > line && at < end && *at == '\t';
}

static int take_line(struct recordio_list *list, const char *line, const char *end)
{
	const char *tab = memrchr(line, '\t', (size_t)(end - line));
	struct row row;

	if (!tab || !take_number(line, end, &row.number))
		return 0;
	row.at = (size_t)(tab + 1 - list->text.data);
	row.len = (size_t)(end - (tab + 1));
	return is_path(tab + 1, row.len) ? buf_add(&list->rows, &row, sizeof(row)) : 0;
}

static int take_lines(struct recordio_list *list)
{
	const char *at = list->text.data, *end = at + list->text.len;
	int r = 0;

	while (r == 0 && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		r = take_line(list, at, stop > at && stop[-1] == '\r' ? stop - 1 : stop);
		at = newline ? newline + 1 : end;
	}
	return r;
}

int recordio_list_read(struct recordio_list *list, struct foreign_source *source, struct err *err)
{
	int r = foreign_read_beside(source, ".lst", &list->text, err);

	if (r < 0 || list->text.len == 0)
		return r == -ENOENT ? 0 : r;
	r = take_lines(list);
	if (r == 0 && list->rows.len)
		qsort(list->rows.data, list->rows.len / sizeof(struct row), sizeof(struct row),
		      row_compare);
	return r;
}

void recordio_list_release(struct recordio_list *list)
{
	buf_release(&list->text);
	buf_release(&list->rows);
}

struct foreign_text recordio_list_find(const struct recordio_list *list, uint64_t number)
{
	const struct row key = {.number = number}, *row = NULL;

	if (list->rows.len)
		row = bsearch(&key, list->rows.data, list->rows.len / sizeof(key), sizeof(key),
			      row_compare);
	if (!row)
		return (struct foreign_text){0};
	return (struct foreign_text){list->text.data + row->at, row->len};
}
