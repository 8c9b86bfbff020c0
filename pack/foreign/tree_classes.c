/* Where the file or the user has a list of all classes, the list decides what their folders are
 * called, so that all files of a set have the same ones, whichever classes are in them. Elsewhere
 * names come with the records, and all records decide, once they are known. */
#include "base/bytes.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/tree_internal.h"
#include <inttypes.h>
#include <string.h>

/* --- order ------------------------------------------------------------------------------------ */

int tree_compare_paths(const char *a, size_t a_len, const char *b, size_t b_len)
{
	for (size_t i = 0; i < min(a_len, b_len); i++) {
		if (a[i] == b[i])
			continue;
		if (a[i] == '/' || b[i] == '/')
			return a[i] == '/' ? -1 : 1;
		return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
	}
	return (a_len > b_len) - (a_len < b_len);
}

static int compare_rows(const void *left, const void *right, void *paths)
{
	const struct tree_row *a = left, *b = right;

	return tree_compare_paths((char *)paths + a->path, a->path_len, (char *)paths + b->path,
				  b->path_len);
}

/* Most formats have their files in order. */
static void tree_sort(struct foreign_tree *tree)
{
	struct tree_row *rows = tree_rows(tree);
	size_t count = tree_count(tree), i = 1;

	while (i < count && compare_rows(&rows[i - 1], &rows[i], tree->paths.data) < 0)
		i++;
	if (i < count)
		qsort_r(rows, count, sizeof(*rows), compare_rows, tree->paths.data);
}

/* --- folders ---------------------------------------------------------------------------------- */

/* Whether labels of classes in order have no image: their folders can only have numbers. */
static bool has_gaps(const struct buf *by_name)
{
	int64_t last = -1;

	for (size_t i = 0; i < label_class_count(by_name); i++) {
		int64_t label = label_class_rows(by_name)[i].label;

		if (label > last + 1)
			return true;
		last = label > last ? label : last;
	}
	return false;
}

static int choose_style(struct foreign_tree *tree)
{
	const struct foreign_settings *settings = tree->source->settings;
	SCOPE(buf_release) struct buf by_name = BUF_INIT;
	struct labels_style *style = &tree->style;
	bool in_order;
	int r;

	style->width = (unsigned)max(style->width, labels_width(tree->most_label));
	if (settings->class_folders != FOREIGN_FOLDERS_AUTO || tree_class_count(tree))
		return 0;
	r = label_classes_by_name(&tree->found, style->width, &by_name);
	if (r == 0)
		r = label_classes_order(&tree->found, &by_name, NULL, NULL, &in_order);
	if (r == 0)
		style->numbered = !in_order || (settings->empty_classes && has_gaps(&by_name));
	return r;
}

/* The folder that the class of a label has by the list, in `above` (as "a/"). */
static int note_class(const struct foreign_tree *tree, int64_t label, struct foreign_text above,
		      struct labels *ret)
{
	struct foreign_text name = tree_item(&tree->classes, (uint64_t)label);
	SCOPE(buf_release) struct buf folder = BUF_INIT;
	int r;

	buf_add(&folder, above.data, above.len);
	r = labels_style_add(&tree->style, label, name.data, name.len, &folder);
	return r < 0 ? r : labels_add(ret, label, folder.data, folder.len);
}

static int note_gap(const void *tree, int64_t label, struct buf *above, struct labels *ret)
{
	return note_class(tree, label, (struct foreign_text){above->data, above->len}, ret);
}

/* The folders of the classes, as text; those that have files; and, in each folder that has some,
 * all classes of the list. `ends`: size_t, where each ends in the text. */
static int note_classes(const struct foreign_tree *tree, struct buf *folders, struct buf *ends,
			struct labels *ret, struct err *err)
{
	const struct label_class *all = label_class_rows(&tree->found.rows);
	struct foreign_text listed = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < label_class_count(&tree->found.rows); i++) {
		const char *text = tree->found.texts.data + all[i].text;
		struct foreign_text root = {text, all[i].root};
		size_t begin = folders->len, last = begin + all[i].above;

		buf_add(folders, text, all[i].above);
		r = labels_style_add(&tree->style, all[i].label, text + all[i].above, all[i].name,
				     folders);
		if (r == 0)
			r = buf_add(ends, &folders->len, sizeof(folders->len));
		if (r < 0 || !all[i].files)
			continue;
		if (folders->len - last > FORMAT_NAME_MAX)
			return err_set(err, -EBADMSG,
				       "'%.60s...': the name of a class that is too long for a "
				       "folder with its label; --class-folders=names leaves labels "
				       "out",
				       folders->data + last);
		r = labels_add(ret, all[i].label, folders->data + begin, folders->len - begin);
		if (listed.data && bytes_compare(root.data, root.len, listed.data, listed.len) == 0)
			continue;
		listed = root;
		for (size_t label = 0; r == 0 && label < tree_class_count(tree); label++)
			r = note_class(tree, (int64_t)label, root, ret);
	}
	return r;
}

static int put_into_folders(struct foreign_tree *tree, const struct buf *folders,
			    const struct buf *ends, struct err *err)
{
	const size_t *end = BUF_ITEMS(ends, const size_t);
	SCOPE(buf_release) struct buf paths = BUF_INIT;
	struct buf before = tree->paths;
	int r = 0;

	for (size_t i = 0; r == 0 && i < tree_count(tree); i++) {
		struct tree_row *row = &tree_rows(tree)[i];
		size_t begin = paths.len, folder = row->class > 1 ? end[row->class - 2] : 0;

		if (row->class) {
			buf_add(&paths, folders->data + folder, end[row->class - 1] - folder);
			buf_add(&paths, "/", 1);
		}
		r = buf_add(&paths, before.data + row->path, row->path_len);
		row->path = begin;
		row->path_len = (uint32_t)(paths.len - begin);
		if (row->path_len > FOREIGN_PATH_MOST)
			return err_set(err, -EBADMSG,
				       "record %" PRIu32 ": its path is longer than 4095 bytes",
				       row->record);
	}
	tree->paths = paths;
	paths = before;
	return r;
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
	SCOPE(buf_release) struct buf folders = BUF_INIT, ends = BUF_INIT;
	int r = choose_style(tree);

	if (r == 0)
		r = note_classes(tree, &folders, &ends, ret, err);
	if (r == 0 && ends.len)
		r = put_into_folders(tree, &folders, &ends, err);
	if (r < 0)
		return r;
	tree_sort(tree);
	labels_sort(ret);
	if (!tree->source->settings->empty_classes)
		return 0;
	r = labels_add_gaps(ret, note_gap, tree, err);
	return r < 0 ? r : add_folders(tree, ret, err);
}
