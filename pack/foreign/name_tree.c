#include "pack/foreign/name_tree.h"
#include "base/bits.h"
#include "base/scope.h"
#include "pack/foreign/tree_internal.h"
#include <stdlib.h>
#include <string.h>

#define LABELS_MOST 10000 /* that are remembered as noted; others are noted once a file */

struct name_tree {
	struct foreign_source source; /* of which nothing is read */
	struct foreign_tree tree;
	struct buf below;		    /* of the folders that were noted last */
	uint8_t noted[LABELS_MOST / 8 + 1]; /* a bit for each label */
};

int name_tree_new(const struct foreign_settings *settings, const char *shown,
		  struct name_tree **ret, struct err *err)
{
	struct name_tree *names = calloc(1, sizeof(*names));
	int r;

	if (!names)
		return -ENOMEM;
	names->source = (struct foreign_source){
		.settings = settings, .size = UINT64_MAX, .shown = strdup(shown)};
	r = names->source.shown ? foreign_tree_init(&names->tree, &names->source, err) : -ENOMEM;
	if (r < 0) {
		name_tree_free(names);
		return r;
	}
	*ret = names;
	return 0;
}

void name_tree_free(struct name_tree *names)
{
	if (!names)
		return;
	foreign_tree_release(&names->tree);
	buf_release(&names->below);
	free(names->source.shown);
	free(names);
}

struct foreign_tree *name_tree_of(struct name_tree *names)
{
	return &names->tree;
}

/* All classes that have a name, as soon as one has an image. */
static int note_list(struct name_tree *names, struct labels *labels)
{
	size_t count = BUF_COUNT(&names->tree.classes.items, struct foreign_text);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = tree_note_class(&names->tree, (int64_t)i,
				    (struct foreign_text){names->below.data, names->below.len},
				    labels);
	return r;
}

static int note_class(struct name_tree *names, const struct tree_row *row, const char *below,
		      struct labels *labels)
{
	SCOPE(buf_release) struct buf folder = BUF_INIT;
	int64_t label = row->label;
	bool other = !names->below.data || strcmp(names->below.data, below) != 0;
	int r = 0;

	if (!other && label < LABELS_MOST && bit_get(names->noted, (size_t)label))
		return 0;
	if (other) {
		names->below.len = 0;
		memset(names->noted, 0, sizeof(names->noted));
		r = buf_adds(&names->below, below);
		if (r == 0)
			r = note_list(names, labels);
	}
	if (label < LABELS_MOST)
		bit_set(names->noted, (size_t)label);
	if (r == 0)
		r = buf_addf(&folder, "%s%.*s", below, (int)row->class_len,
			     names->tree.paths.data + row->path);
	return r < 0 ? r : labels_add(labels, label, folder.data, folder.len);
}

int name_tree_forget(struct name_tree *names, const char *below)
{
	struct labels *labels = names->source.settings->labels;
	int r = 0;

	for (size_t i = 0; labels && r == 0 && i < tree_count(&names->tree); i++)
		if (tree_rows(&names->tree)[i].label >= 0)
			r = note_class(names, &tree_rows(&names->tree)[i], below, labels);
	names->tree.rows.len = names->tree.paths.len = 0;
	return r;
}
