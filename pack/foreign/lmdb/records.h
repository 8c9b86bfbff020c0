/* The records of an LMDB in the order of their keys, for scans that read the beginning and the end
 * of each value, where a label is. From far, these are asked for ahead: the walk is some records in
 * front of the reader. Elsewhere it is a plain walk. Not thread-safe. */
#ifndef PACK_FOREIGN_LMDB_RECORDS_H
#define PACK_FOREIGN_LMDB_RECORDS_H

#include "pack/foreign/source.h"

struct records {
	struct foreign_source *source;
	size_t head, tail; /* bytes of each value that will be read */
	struct buf ring;   /* struct record_kept */
	struct buf key;	   /* of the one that was taken last */
	uint64_t taken, walked;
	int end; /* of the walk: 1, or -errno; 0: it goes on */
	struct err why;
};

/* To be released in any case. */
struct records records_of(struct foreign_source *source, size_t head, size_t tail);
void records_release(struct records *records);

/* The next one; its key lives until the next call. As walker_next(), or -ENOMEM. */
int records_next(struct records *records, struct walker_record *ret, struct err *err);

#endif
