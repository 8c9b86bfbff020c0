#include "pack/foreign/formats.h"

extern const struct foreign_format known_format;
extern const struct foreign_format parquet_format;
extern const struct foreign_format folder2lmdb_format;
extern const struct foreign_format image2lmdb_format;
extern const struct foreign_format tensorpack_format;
extern const struct foreign_format caffe_format;
extern const struct foreign_format crnn_format;
extern const struct foreign_format lsun_format;
extern const struct foreign_format basicsr_format;
extern const struct foreign_format sodtools_format;
extern const struct foreign_format paths_format;

/* First those that recognise a magic number, then LMDBs by their keys and values, last any LMDB of
 * files. */
const struct foreign_format *const foreign_formats[] = {
	&known_format,	     &parquet_format,  &image2lmdb_format, &tensorpack_format,
	&folder2lmdb_format, &caffe_format,    &crnn_format,	   &lsun_format,
	&basicsr_format,     &sodtools_format, &paths_format,	   NULL,
};
