/* Names of classes in the JSON that Hugging Face's datasets writes into a Parquet file:
 * {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}} */
#pragma once

#include "pack/foreign/tree.h"

/* Appends a struct foreign_text for each name, which lie in `text`, which is empty; none where it
 * has none. A half of a pair of surrogates is the byte that Python's surrogateescape means by it.
 * Returns 0, -ENOMEM, or -EOPNOTSUPP: a name has escapes that mean no text. */
int parquet_names(struct foreign_text json, const char *label, struct buf *text, struct buf *ret,
		  struct err *err);
