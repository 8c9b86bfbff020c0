/* Any LMDB of files by their paths, as mmcv and mmengine read them. Comes after the other formats
 * of LMDB, whose keys may be paths as well. */
#include "pack/foreign/lmdb/keyed.h"

static int paths_scan(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	return keyed_scan(source, tree, &(struct keyed){0}, err);
}

const struct foreign_format paths_format = {
	.name = "paths",
	.lmdb = true,
	.probe = keyed_probe,
	.scan = paths_scan,
};
