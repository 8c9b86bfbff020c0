/* What dataset.c (opening and reading) and dataset_keys.c (verifying the keys) share. */
#ifndef PACK_DATASET_INTERNAL_H
#define PACK_DATASET_INTERNAL_H

#include "base/reader.h"
#include "pack/dataset.h"
#include "pack/index.h"
#include <pthread.h>
#include <stdatomic.h>

struct dataset {
	struct reader *reader;
	struct format_super super;
	struct format_lmdb_state opened; /* as found at open */
	struct dataset_info info;
	struct index index;

	pthread_mutex_t lock; /* taken to load a cold section, and to look at a changed pack */
	atomic_bool loaded[SECTION_COUNT]; /* set under lock, after the section is in place */
	struct reader_identity seen;	   /* protected by lock */
	_Atomic uint64_t seen_stamp;	   /* of `seen`, to compare without the lock */
	atomic_bool stale;		   /* the pack was written to; never cleared */
};

#endif
