/* LMDB files of Efficient-PyTorch's folder2lmdb, and of pytorch_lmdb_imagenet, which is the same
 * with pickles: the number of a record -> (bytes of the file, label), by pyarrow.serialize() or
 * pickle. */
#include "pack/foreign/format.h"
#include "pack/foreign/lmdb/numbered.h"

static int folder2lmdb_probe(struct foreign_source *source)
{
	int kind = numbered_kind(source);

	return kind < 0 ? kind : kind == NUMBERED_LABELED || kind == NUMBERED_OTHER;
}

static int folder2lmdb_scan(struct foreign_source *source, struct foreign_tree *tree,
			    struct err *err)
{
	return numbered_scan(source, tree, NULL, NULL, err);
}

const struct foreign_format folder2lmdb_format = {
	.name = "folder2lmdb",
	.about = "LMDB: number -> (image, label), pyarrow or pickle",
	.lmdb = true,
	.probe = folder2lmdb_probe,
	.scan = folder2lmdb_scan,
};
