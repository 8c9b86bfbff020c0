/* Names of classes in the JSON that Hugging Face's datasets writes into a Parquet file:
 * {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}} */
#ifndef PACK_FOREIGN_RECORD_PARQUET_NAMES_H
#define PACK_FOREIGN_RECORD_PARQUET_NAMES_H

#include "pack/foreign/tree.h"

/* Appends a struct foreign_text for each name, which lie in the JSON; none where it has none.
 * Returns 0, -ENOMEM, or -EOPNOTSUPP: a name is written with escapes. */
int parquet_names(struct foreign_text json, const char *label, struct buf *ret, struct err *err);

#endif
