/* The paths of files in foreign formats: what the record says, or what is made up. */
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "base/utf8.h"
#include "pack/foreign/tree_internal.h"
#include "pack/image_kind.h"
#include "pack/made_names.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LOOKED_AT  64 /* files whose first bytes are read for their suffix */
#define HEAD_BYTES 16
#define STEM_MAX   200 /* of 255 that a name may have */

/* Records may share their bytes, and text that stands once in the file may be in the paths of many.
 * Bytes that all files may take here: so many for each byte of the file, and as many in any case.
 * What is made of them takes as much again. */
#define SHARE_MOST  2
#define SHARE_LEAST (256 * MIB)

static int fault(const struct foreign_file *file, int code, const char *what, struct err *err)
{
	return err_set(err, code, "record %" PRIu64 ": %s", file->record, what);
}

/* --- classes ---------------------------------------------------------------------------------- */

struct foreign_text tree_item(const struct tree_list *list, uint64_t number)
{
	const struct foreign_text *items = BUF_ITEMS(&list->items, const struct foreign_text);

	return number < BUF_COUNT(&list->items, *items) ? items[number] : (struct foreign_text){0};
}

void tree_choose_folders(struct foreign_tree *tree)
{
	const struct foreign_text *names =
		BUF_ITEMS(&tree->classes.items, const struct foreign_text);
	int choice = tree->source->settings->class_folders;
	bool sorted = true;

	for (size_t i = 1; sorted && i < tree_class_count(tree); i++)
		sorted = utf8_compare(names[i - 1].data, names[i - 1].len, names[i].data,
				      names[i].len) < 0;
	tree->style.asked = choice != FOREIGN_FOLDERS_AUTO;
	tree->style.numbered =
		choice == FOREIGN_FOLDERS_NUMBERS || (choice == FOREIGN_FOLDERS_AUTO && !sorted);
	tree->style.listed = tree_class_count(tree) > 0;
	tree->style.width = labels_width((int64_t)tree_class_count(tree) - 1);
}

int foreign_tree_classes(struct foreign_tree *tree, const struct foreign_text *names, size_t count)
{
	struct tree_list *list = &tree->classes;
	size_t bytes = 0;
	int r = 0;

	if (list->name || list->items.len || count == 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		bytes += names[i].len;
	r = buf_reserve(&list->text, bytes + 1); /* so that items stay where they are */
	for (size_t i = 0; r == 0 && i < count; i++) {
		const struct foreign_text item = {list->text.data + list->text.len, names[i].len};

		buf_add(&list->text, names[i].data, names[i].len);
		r = buf_add(&list->items, &item, sizeof(item));
	}
	foreign_text_flatten(list->text.data, list->text.len);
	tree_choose_folders(tree);
	return r;
}

/* --- parts of a path -------------------------------------------------------------------------- */

/* Appends the parts of a path that are names. */
static int add_path(struct buf *ret, const struct foreign_file *file, struct foreign_text text,
		    struct err *err)
{
	const char *at = text.data, *end = text.len ? at + text.len : at;
	size_t begin = ret->len;
	int r = 0;

	while (r == 0 && at < end) {
		const char *slash = memchr(at, '/', (size_t)(end - at));
		size_t len = (size_t)((slash ? slash : end) - at);

		if (len && !(len == 1 && *at == '.')) {
			if (!format_name_valid(at, len))
				return fault(file, -EBADMSG,
					     "its name is not one that a file can have", err);
			if (ret->len > begin)
				buf_add(ret, "/", 1);
			r = buf_add(ret, at, len);
		}
		at += len + 1;
	}
	if (r == 0 && ret->len == begin && !file->directory)
		r = fault(file, -EBADMSG, "its name is empty", err);
	return r;
}

/* A name may come from a list of classes, which is not damaged where a name is odd. */
static int add_class_name(struct buf *ret, const struct foreign_file *file,
			  struct foreign_text name, struct err *err)
{
	SCOPE(buf_release) struct buf flat = BUF_INIT;
	struct err why = {0};
	size_t begin = ret->len;
	int r = buf_add(&flat, name.data, name.len);

	if (r == 0 && !file->class_is_path)
		foreign_text_flatten(flat.data, flat.len);
	if (r == 0)
		r = add_path(ret, file, (struct foreign_text){flat.data, flat.len}, &why);
	if (r != -EBADMSG && (r < 0 || ret->len > begin))
		return r;
	return err_set(err, -EOPNOTSUPP,
		       "record %" PRIu64
		       ": '%.*s' is the name of its class, and cannot be that of a folder: %s",
		       file->record, (int)min(name.len, (size_t)80), name.data,
		       file->label >= 0
			       ? "--classes gives classes other names"
			       : "it has no label, by which --classes would name it; --label-key "
				 "names another field, and --layout=tree shows a tar as it is");
}

/* A class whose label is known. */
static int add_labelled(struct foreign_tree *tree, const struct foreign_file *file,
			struct foreign_text name, struct tree_row *row, struct err *err)
{
	struct label_classes *found = &tree->found;
	struct label_class class = {.label = file->label,
				    .text = found->texts.len,
				    .above = (uint32_t)file->above.len,
				    .root = (uint32_t)file->above.len,
				    .below = ""};
	int r = buf_add(&found->texts, file->above.data, file->above.len);
	size_t len;

	if (r == 0 && name.data)
		r = add_class_name(&found->texts, file, name, err);
	if (r < 0)
		return r;
	len = found->texts.len - class.text;
	if (name.data)
		class.above = (uint32_t)labels_style_last(found->texts.data + class.text, len);
	class.name = (uint32_t)len - class.above;
	tree->in_folders += len + 1;
	tree->most_label = file->label > tree->most_label ? file->label : tree->most_label;
	r = label_classes_add(found, &class, &row->class);
	if (r == 0)
		label_class_rows(&found->rows)[row->class - 1].files++;
	return r;
}

/* A label below 0 is none: -1, as test splits have it, and others that losses ignore. */
static int add_class(struct foreign_tree *tree, const struct foreign_file *file,
		     struct tree_row *row, struct err *err)
{
	struct foreign_text name = file->class;

	if (file->label >= 0 || name.data)
		tree->classed++;
	else
		tree->unlabelled++;
	tree->odd += file->label < -1 && file->label != FOREIGN_NO_LABEL;
	tree->only_named += file->label < 0 && name.data && !file->class_is_path;
	if (file->label < 0) {
		if (buf_add(&tree->paths, file->above.data, file->above.len) < 0)
			return -ENOMEM;
		return name.data ? add_class_name(&tree->paths, file, name, err)
				 : buf_adds(&tree->paths, "images");
	}
	if (!name.data)
		name = tree_item(&tree->classes, (uint64_t)file->label);
	if (!name.data && tree->classes.name)
		return err_set(err, -EINVAL,
			       "record %" PRIu64 ": its label is %" PRId64
			       ", and %s ends with label %zu",
			       file->record, file->label, tree->classes.name,
			       BUF_COUNT(&tree->classes.items, struct foreign_text) - 1);
	return add_labelled(tree, file, name, row, err);
}

/* --- suffixes --------------------------------------------------------------------------------- */

/* A scan reads no images: if many have one suffix, the others get it too. A wrong one is harmless,
 * as all readers go by the content. What is in memory costs nothing to look at: labels and counts
 * are smaller than images, and get no suffix of one. */
static int look_for_suffix(struct foreign_tree *tree, const struct foreign_file *file,
			   const char **ret)
{
	const char *found;
	const uint8_t *head;
	size_t len;
	int r = 0;

	if (!file->in_memory && tree->sniffed >= LOOKED_AT && tree->suffix) {
		*ret = tree->suffix;
		return 0;
	}
	if (file->head.data) {
		head = (const uint8_t *)file->head.data;
		len = file->head.len;
	} else {
		r = foreign_peek(tree->source, file->offset, min(HEAD_BYTES, file->size), &head,
				 &len);
	}
	if (r < 0)
		return r;
	found = image_suffix(head, len);
	*ret = found ? found : ".bin";
	if (file->in_memory)
		return 0;
	if (tree->sniffed++ == 0)
		tree->suffix = *ret;
	else if (tree->suffix && strcmp(tree->suffix, *ret) != 0)
		tree->suffix = NULL;
	return 0;
}

static int add_suffix(struct foreign_tree *tree, const struct foreign_file *file)
{
	const char *suffix;
	int r;

	if (file->pixels)
		return buf_adds(&tree->paths, foreign_pixels_suffix(file->pixels));
	r = look_for_suffix(tree, file, &suffix);
	return r < 0 ? r : buf_adds(&tree->paths, suffix);
}

/* --- names ------------------------------------------------------------------------------------ */

int foreign_tree_prefix(struct foreign_tree *tree)
{
	const char *path = tree->source->path, *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	bool nameless = strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0 ||
			strncmp(path, "/dev/fd/", strlen("/dev/fd/")) == 0;
	size_t len = nameless ? 0 : made_names_stem(base, strlen(base));
	size_t cut = (size_t)sub_sat(len, STEM_MAX);

	free(tree->prefix);
	if (asprintf(&tree->prefix, "%.*s%s", (int)(len - cut), base + cut, len ? "-" : "") < 0)
		tree->prefix = NULL;
	return tree->prefix ? 0 : -ENOMEM;
}

static int add_name(struct foreign_tree *tree, const struct foreign_file *file,
		    struct foreign_text name, struct tree_row *row, struct err *err)
{
	SCOPE(buf_release) struct buf kept = BUF_INIT;
	int r = 0;

	/* Adding the class may read, which ends the life of the name. */
	if (name.data)
		r = buf_add(&kept, name.data, name.len);
	if (r == 0)
		r = add_class(tree, file, row, err);
	if (r == 0 && !row->class)
		r = buf_add(&tree->paths, "/", 1);
	if (r < 0)
		return r;
	if (!name.data) {
		r = buf_addf(&tree->paths, "%s%0*" PRIu64, tree->prefix ? tree->prefix : "",
			     MADE_NAMES_DIGITS, file->record);
		tree->made_up++;
		return r < 0 ? r : add_suffix(tree, file);
	}
	return add_path(&tree->paths, file, (struct foreign_text){kept.data, kept.len}, err);
}

/* The file is not damaged where its list is wrong. */
static int refuse_listed(const struct foreign_tree *tree, const struct foreign_file *file,
			 struct foreign_text name, struct err *err)
{
	return err_set(err, -EINVAL,
		       "record %" PRIu64 ": '%.*s' in %s is not a name that a file can have",
		       file->record, (int)min(name.len, (size_t)80), name.data, tree->names.name);
}

int tree_name(struct foreign_tree *tree, const struct foreign_file *file, struct tree_row *row,
	      struct err *err)
{
	struct foreign_text name = file->name, path = file->path;
	size_t begin = tree->paths.len;
	uint64_t above = tree->in_folders;
	bool plain = file->plain;
	bool listed = tree->names.name && row->volume != TREE_TEXT && !file->directory;
	int r;

	tree->named += name.data || path.data;
	if (foreign_numbers_files(tree->source->settings) && row->volume != TREE_TEXT)
		name = (struct foreign_text){0};
	if (listed) {
		name = tree_item(&tree->names, file->record);
		if (!name.data)
			return err_set(err, -EINVAL,
				       "record %" PRIu64 ": %s ends with the name of record %zu",
				       file->record, tree->names.name,
				       BUF_COUNT(&tree->names.items, struct foreign_text) - 1);
		path = memchr(name.data, '/', name.len) ? name : (struct foreign_text){0};
		plain = false;
	}
	r = path.data ? add_path(&tree->paths, file, path, err)
		      : add_name(tree, file, name, row, err);
	if (r == 0 && plain && (path.data || name.data))
		r = add_suffix(tree, file);
	if (r == 0 && tree->paths.len - begin + tree->in_folders - above > FOREIGN_PATH_MOST)
		r = fault(file, -EBADMSG, "its path is longer than 4095 bytes", err);
	if (r < 0)
		return r == -EBADMSG && listed ? refuse_listed(tree, file, name, err) : r;
	if (tree->paths.len + tree->in_folders + tree->rows.len >
	    max(SHARE_LEAST, SHARE_MOST * tree->source->size))
		return fault(file, -EOVERFLOW,
			     "the file repeats so many of its bytes that the list of its files "
			     "takes too much memory: divide it into several",
			     err);
	row->path = begin;
	row->path_len = (uint32_t)(tree->paths.len - begin);
	return 0;
}
