#include "pack/foreign/record/recordio_list.h"
#include "base/search.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct row {
	uint64_t number;
	struct foreign_text path;
};

/* "a/b.jpg", and not the number that other lists have there. */
static bool is_path(struct foreign_text text)
{
	struct foreign_text suffix = foreign_text_after(text, '.');

	return suffix.len && suffix.len < text.len && isalpha((unsigned char)*suffix.data);
}

static int take_line(struct recordio_list *list, struct foreign_text line)
{
	struct row row = {.path = foreign_text_after(line, '\t')};
	size_t digits = foreign_text_number(line, &row.number);
	bool taken = digits && digits < 20 && digits < line.len && line.data[digits] == '\t';

	return taken && is_path(row.path) ? buf_add(&list->rows, &row, sizeof(row)) : 0;
}

static int take_lines(struct recordio_list *list)
{
	struct foreign_text rest = {list->text.data, list->text.len}, line;
	int r = 0;

	while (r == 0 && foreign_text_line(&rest, &line))
		r = take_line(list, line);
	return r;
}

int recordio_list_read(struct recordio_list *list, struct foreign_source *source, struct err *err)
{
	int r = foreign_read_beside(source, ".lst", &list->text, err);

	if (r < 0 || list->text.len == 0)
		return r == -ENOENT ? 0 : r;
	r = take_lines(list);
	if (r == 0)
		buf_sort(&list->rows, sizeof(struct row), search_compare64);
	return r;
}

void recordio_list_release(struct recordio_list *list)
{
	buf_release(&list->text);
	buf_release(&list->rows);
}

struct foreign_text recordio_list_find(const struct recordio_list *list, uint64_t number)
{
	const struct row key = {.number = number};
	const struct row *row = buf_find(&list->rows, &key, sizeof(key), search_compare64);

	return row ? row->path : (struct foreign_text){0};
}
