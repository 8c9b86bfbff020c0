/* The arrays below a folder that zarr or N5 wrote, and which of them have the labels of others: an
 * array of integers beside one of images, as long, by one of the usual names. */
#ifndef PACK_TOOL_IMPORT_ZARR_TREE_H
#define PACK_TOOL_IMPORT_ZARR_TREE_H

#include "pack/tool/import/zarr_chunks.h"

struct zarr_found {
	char *path; /* below the folder; "": the folder itself */
	struct zarr_array array;
	struct zarr_found *labels; /* of images; NULL: they have none */
	unsigned images;	   /* of labels: how many arrays have these */
};

/* The path, to be shown. */
static inline const char *zarr_shown(const struct zarr_found *found)
{
	return *found->path ? found->path : ".";
}

/* Files beside the arrays, which are not zarr's. */
struct zarr_others {
	size_t count;
	struct buf first; /* the path of one; not set if there is none */
};

static inline void zarr_others_release(struct zarr_others *others)
{
	buf_release(&others->first);
}

/* Sets the arrays, as struct zarr_found, sorted by path. Links are not followed. Returns 0; -ENOMSG
 * (the folder is neither zarr nor N5; a sentence in err is about a file that is called as one of
 * theirs); -EBADMSG, -EOPNOTSUPP, -ELOOP (too deep) or -errno: err names the file or the folder. */
int zarr_tree_find(int root, struct buf *ret, struct zarr_others *others, struct err *err);
void zarr_tree_release(struct buf *found);

#endif
