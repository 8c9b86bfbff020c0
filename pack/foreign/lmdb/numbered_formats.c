/* LMDB files of labelled images by the numbers of their records:
 *
 *	folder2lmdb   Efficient-PyTorch's: (bytes of the file, label), by pyarrow.serialize();
 *		      pytorch_lmdb_imagenet's is the same by pickle
 *	tensorpack    LMDBSerializer, which Efficient-PyTorch has for a second tool: [array of
 *		      uint8, label], by msgpack_numpy, pyarrow.serialize() or pickle, as the
 *		      version of tensorpack was. The array is the bytes of the file, or pixels as
 *		      OpenCV has them. */
#include "pack/foreign/format.h"
#include "pack/foreign/lmdb/numbered.h"

static int folder2lmdb_probe(struct foreign_source *source)
{
	int kind = numbered_kind(source);

	return kind < 0 ? kind : kind == NUMBERED_LABELED || kind == NUMBERED_OTHER;
}

static int tensorpack_probe(struct foreign_source *source)
{
	int kind = numbered_kind(source);

	return kind < 0 ? kind : kind == NUMBERED_ARRAY;
}

static int scan_labelled(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	return numbered_scan(source, tree, NULL, NULL, err);
}

const struct foreign_format folder2lmdb_format = {
	.name = "folder2lmdb",
	.lmdb = true,
	.probe = folder2lmdb_probe,
	.scan = scan_labelled,
};

const struct foreign_format tensorpack_format = {
	.name = "tensorpack",
	.lmdb = true,
	.probe = tensorpack_probe,
	.scan = scan_labelled,
};
