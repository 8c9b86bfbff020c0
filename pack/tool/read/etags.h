/* Compares the bytes of objects (base/reader_members.h), which have no checksums, with their ETags,
 * where these are MD5s: 32 hex digits in quotes. Those of objects that were uploaded in parts, and
 * of some that servers encrypt, are none. */
#pragma once

#include "pack/tool/read/batch_scan.h"

struct etags;

/* ETAG_NONE: there is none, or the file is not over yet, or could not be read. */
enum etag { ETAG_NONE, ETAG_OTHER, ETAG_SAME, ETAG_DIFFERS };

int etags_new(struct dataset *dataset, struct etags **ret); /* 0 or -ENOMEM */
void etags_free(struct etags *etags);			    /* NULL is fine */

/* The number of a batch among those that are pieces, for etags_compare(). In one thread, in
 * order. */
uint64_t etags_turn(struct etags *etags, const struct batch *batch);
/* Of the file of a batch, which `reader` has read; `read`: without an error. Waits for the pieces
 * before it: to be called for each, in any thread. */
enum etag etags_compare(struct etags *etags, uint64_t turn, const struct batch *batch,
			const struct batch_reader *reader, bool read);
