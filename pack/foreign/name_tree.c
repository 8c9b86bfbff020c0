#include "pack/foreign/name_tree.h"
#include "pack/foreign/tree_internal.h"
#include <stdlib.h>
#include <string.h>

struct name_tree {
	struct foreign_source source; /* of which nothing is read */
	struct foreign_tree tree;
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
	free(names->source.shown);
	free(names);
}

struct foreign_tree *name_tree_of(struct name_tree *names)
{
	return &names->tree;
}

void name_tree_forget(struct name_tree *names)
{
	names->tree.rows.len = names->tree.paths.len = 0;
}
