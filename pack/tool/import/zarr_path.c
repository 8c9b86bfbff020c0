#include "pack/tool/import/zarr_path.h"

#include "base/scope.h"
#include <inttypes.h>
#include <string.h>

int zarr_path(struct name_tree *names, const struct zarr_found *images, uint64_t number,
	      int64_t label, const char *suffix, struct buf *ret, struct err *err)
{
	const char *slash = strrchr(images->path, '/'), *base = slash ? slash + 1 : images->path;
	bool shared = images->labels && images->labels->images > 1;
	size_t above = (size_t)(base - images->path) + (shared ? strlen(base) : 0);
	struct foreign_file file = {.record = number, .label = label};
	SCOPE(buf_release) struct buf below = BUF_INIT;
	struct foreign_text made;
	struct err why = {0};
	char name[48];
	int r;

	if (!images->labels && *base)
		file.class = (struct foreign_text){base, strlen(base)};
	file.name.len = (size_t)snprintf(name, sizeof(name), "%08" PRIu64 "%s", number, suffix);
	file.name.data = name;
	r = foreign_add(name_tree_of(names), &file, &why);
	if (r < 0)
		return err_set(err, r, "%s: %s", zarr_shown(images), err_text(&why, r));
	ret->len = 0;
	r = buf_addf(&below, "%.*s%s", (int)above, images->path, shared ? "/" : "");
	made = foreign_tree_path(name_tree_of(names), 0);
	if (r == 0)
		r = buf_addf(ret, "%s%.*s", below.data, (int)made.len, made.data);
	return r < 0 ? r : name_tree_forget(names, below.data);
}
