/* Folders of classes. ImageFolder numbers folders as they are sorted by name. That these numbers
 * are the labels of the file needs one of two things:
 *
 *	names    sort as their labels do, and none is that of two labels
 *	numbers  the label, with zeros in front, and then the name
 *
 * Where the file or the user has a list of all classes, the list decides, so that all files of a
 * set have the same folders, whichever classes are in them. Elsewhere names come with the records,
 * and all records decide, once they are known. */
#include "base/math.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "pack/foreign/tree_internal.h"
#include <inttypes.h>
#include <string.h>

/* --- order ------------------------------------------------------------------------------------ */

/* A slash sorts before any other character: then the paths below a folder follow it, and siblings
 * are in the order of their names. */
static int compare_rows(const void *a, const void *b, void *tree)
{
	const struct tree_row *x = a, *y = b;
	const char *paths = ((const struct foreign_tree *)tree)->paths.data;
	const char *p = paths + x->path, *q = paths + y->path;

	for (size_t i = 0; i < min(x->path_len, y->path_len); i++) {
		if (p[i] == q[i])
			continue;
		if (p[i] == '/' || q[i] == '/')
			return p[i] == '/' ? -1 : 1;
		return (unsigned char)p[i] < (unsigned char)q[i] ? -1 : 1;
	}
	return x->path_len < y->path_len ? -1 : x->path_len > y->path_len;
}

/* Most formats have their files in order. */
void tree_sort(struct foreign_tree *tree)
{
	struct tree_row *rows = tree_rows(tree);
	size_t count = tree_count(tree), i = 1;

	while (i < count && compare_rows(&rows[i - 1], &rows[i], tree) < 0)
		i++;
	if (i < count)
		qsort_r(rows, count, sizeof(*rows), compare_rows, tree);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static struct foreign_text class_of(const struct foreign_tree *tree, const struct tree_row *row)
{
	return (struct foreign_text){tree->paths.data + row->path, row->class_len};
}

/* Where the last name in the class begins, with its number. */
static size_t name_at(struct foreign_text class)
{
	return class.len - foreign_text_name(class).len;
}

static bool same_folder(struct foreign_text a, struct foreign_text b, size_t a_len, size_t b_len)
{
	return a_len == b_len && memcmp(a.data, b.data, a_len) == 0;
}

/* Whether folders beside each other come in the order of their labels, each with one. The rows are
 * sorted by their bytes, so that those of a class follow each other. Where that is not the order of
 * ImageFolder, it is none. */
static bool is_in_order(const struct foreign_tree *tree)
{
	const struct tree_row *last = NULL;

	for (size_t i = 0; i < tree_count(tree); i++) {
		const struct tree_row *row = &tree_rows(tree)[i];
		struct foreign_text class = class_of(tree, row), before;

		if (row->label < 0)
			continue;
		before = last ? class_of(tree, last) : (struct foreign_text){0};
		if (last && row->label != last->label &&
		    (same_folder(class, before, class.len, before.len) ||
		     ((row->label < last->label ||
		       utf8_compare(before.data, before.len, class.data, class.len) > 0) &&
		      same_folder(class, before, name_at(class), name_at(before)))))
			return false;
		last = row;
	}
	return true;
}

/* Whether labels of a tree in order have no image: their folders can only have numbers. */
static bool has_gaps(const struct foreign_tree *tree)
{
	int64_t last = -1;

	for (size_t i = 0; i < tree_count(tree); i++) {
		int64_t label = tree_rows(tree)[i].label;

		if (label > last + 1)
			return true;
		last = label > last ? label : last;
	}
	return false;
}

static int rename_row(const struct foreign_tree *tree, struct tree_row *row, struct buf *paths,
		      struct err *err)
{
	const char *path = tree->paths.data + row->path, *end = path + row->path_len;
	size_t begin = paths->len, at = name_at(class_of(tree, row));
	const char *name = path + at + row->number_len;
	bool named = name < path + row->class_len;
	size_t number = 0;
	int r;

	buf_add(paths, path, at);
	if (row->label >= 0 && (tree->style.numbered || !named)) {
		number = paths->len;
		tree_add_number(tree, row->label, paths);
		if (named)
			buf_adds(paths, "_");
		number = paths->len - number;
	}
	r = buf_add(paths, name, (size_t)(end - name));
	row->class_len = (uint16_t)(row->class_len + number - row->number_len);
	row->number_len = (uint8_t)number;
	row->path = begin;
	row->path_len = (uint32_t)(paths->len - begin);
	return r == 0 && number ? tree_check_class(paths->data + begin, row->class_len, err) : r;
}

static int number_classes(struct foreign_tree *tree, struct err *err)
{
	SCOPE(buf_release) struct buf paths = BUF_INIT;
	struct buf before = tree->paths;
	struct labels_style *style = &tree->style;
	bool wrong = false;
	int r = 0;

	if (tree->source->settings->class_folders == FOREIGN_FOLDERS_AUTO &&
	    !tree_class_count(tree))
		style->numbered = !is_in_order(tree) ||
				  (tree->source->settings->empty_classes && has_gaps(tree));
	if (labels_width(tree->most_label) > style->width)
		style->width = labels_width(tree->most_label);
	for (size_t i = 0; !wrong && i < tree_count(tree); i++) {
		const struct tree_row *row = &tree_rows(tree)[i];
		bool named = row->class_len > name_at(class_of(tree, row)) + row->number_len;

		wrong = row->label >= 0 &&
			row->number_len != (style->numbered || !named ? style->width + named : 0);
	}
	for (size_t i = 0; wrong && r == 0 && i < tree_count(tree); i++)
		r = rename_row(tree, &tree_rows(tree)[i], &paths, err);
	if (!wrong || r < 0)
		return r;
	tree->paths = paths;
	paths = before;
	tree_sort(tree);
	return 0;
}

/* --- labels ----------------------------------------------------------------------------------- */

/* The folder that the class of a label has by the list, in `above` (as "a/"). */
static int note_class(const struct foreign_tree *tree, int64_t label, struct foreign_text above,
		      struct labels *ret)
{
	struct foreign_text name = tree_item(&tree->classes, (uint64_t)label);
	bool numbered = tree->style.numbered || !name.data;
	SCOPE(buf_release) struct buf folder = BUF_INIT;

	buf_add(&folder, above.data, above.len);
	if (numbered)
		tree_add_number(tree, label, &folder);
	if (name.data)
		buf_addf(&folder, "%s%.*s", numbered ? "_" : "", (int)name.len, name.data);
	return folder.failed ? -ENOMEM : labels_add(ret, label, folder.data, folder.len);
}

/* The classes of the rows; and, in each folder that has some, all classes of the list. */
static int note_classes(const struct foreign_tree *tree, struct labels *ret)
{
	const struct tree_row *last = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < tree_count(tree); i++) {
		const struct tree_row *row = &tree_rows(tree)[i];
		struct foreign_text class = class_of(tree, row), before = class;
		struct foreign_text above = {class.data, row->above_len};

		if (row->label < 0)
			continue;
		if (last)
			before = class_of(tree, last);
		if (!last || row->label != last->label ||
		    !same_folder(class, before, class.len, before.len))
			r = labels_add(ret, row->label, class.data, class.len);
		if (!last || !same_folder(above, before, above.len, last->above_len))
			for (size_t label = 0; r == 0 && label < tree_class_count(tree); label++)
				r = note_class(tree, (int64_t)label, above, ret);
		last = row;
	}
	return r;
}

static int note_gap(const void *tree, int64_t label, struct buf *above, struct labels *ret)
{
	return note_class(tree, label, (struct foreign_text){above->data, above->len}, ret);
}

static int add_folders(struct foreign_tree *tree, const struct labels *labels, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < labels_count(labels); i++) {
		struct err why = {0};
		const struct foreign_file folder = {
			.path = {labels_folder(labels, i), labels_row(labels, i)->len},
			.label = FOREIGN_NO_LABEL,
			.directory = true};

		r = foreign_add(tree, &folder, &why);
		if (r == -EBADMSG)
			return err_set(err, -EOPNOTSUPP,
				       "'--empty-classes': the name of the class of label %" PRId64
				       " cannot be that of a folder: --classes gives classes other "
				       "names",
				       labels_row(labels, i)->label);
		if (r < 0)
			return err_set(err, r,
				       "'--empty-classes': the class of label %" PRId64 ": %s",
				       labels_row(labels, i)->label, err_text(&why, r));
	}
	tree_sort(tree);
	return r;
}

int tree_classes(struct foreign_tree *tree, struct labels *ret, struct err *err)
{
	int r = number_classes(tree, err);

	if (r == 0)
		r = note_classes(tree, ret);
	labels_sort(ret);
	if (r < 0 || !tree->source->settings->empty_classes)
		return r;
	r = labels_add_gaps(ret, note_gap, tree, err);
	return r < 0 ? r : add_folders(tree, ret, err);
}
