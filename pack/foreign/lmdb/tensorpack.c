/* LMDB files of tensorpack's LMDBSerializer, which Efficient-PyTorch has for a second tool: the
 * number of a record -> [array of uint8, label], by msgpack_numpy, pyarrow.serialize() or pickle,
 * as the version of tensorpack was. The array is the bytes of the file, or pixels as OpenCV has
 * them. */
#include "pack/foreign/format.h"
#include "pack/foreign/lmdb/numbered.h"

static int tensorpack_probe(struct foreign_source *source)
{
	int kind = numbered_kind(source);

	return kind < 0 ? kind : kind == NUMBERED_ARRAY;
}

static int tensorpack_scan(struct foreign_source *source, struct foreign_tree *tree,
			   struct err *err)
{
	return numbered_scan(source, tree, NULL, NULL, err);
}

const struct foreign_format tensorpack_format = {
	.name = "tensorpack",
	.about = "LMDB: number -> [array, label], msgpack, pyarrow or pickle",
	.lmdb = true,
	.probe = tensorpack_probe,
	.scan = tensorpack_scan,
};
