/* What the files of a dataset share: dataset.c (reading), keys.c (verifying the keys) and
 * dataset_open.c (opening), and merge.c, dataset_merge.c (several packs) and delta.c, which are
 * above them. */
#pragma once

#include "base/reader.h"
#include "pack/dataset.h"
#include "pack/index.h"
#include <pthread.h>
#include <stdatomic.h>

struct dataset {
	struct reader *reader;	     /* the bytes of the files */
	struct reader *index_reader; /* the sections: the same one, in a pack */
	struct reader *below[3];     /* that `reader` reads through, or NULL */
	struct format_super super;
	struct format_lmdb_state opened; /* as found at open */
	struct dataset_info info;
	struct index index;

	pthread_mutex_t lock; /* held to load a cold section and to look at a changed pack */
	atomic_bool loaded[SECTION_COUNT]; /* set under lock, after the section is in place */
	struct reader_identity seen;	   /* protected by lock */
	_Atomic uint64_t seen_stamp;	   /* of `seen`, to compare without the lock */
	atomic_bool stale;		   /* the pack was written to; never cleared */

	struct dataset_packs *packs; /* that it was merged from; NULL: it is one pack */
	struct dataset *base; /* of a delta: volume 0 of `reader`; its own file is volume 1 */
	char *name;	      /* of its file, where there are several; else NULL */
};

/* A dataset with nothing in it. It owns the reader, unless memory is short: then it is NULL. */
struct dataset *dataset_new(struct reader *reader);
/* Sets info from the superblock and the index. */
void dataset_fill_info(struct dataset *dataset);
/* Loads the hot sections. As dataset_load(). */
int dataset_load_hot(struct dataset *dataset, struct err *err);
/* Says that a section will be loaded soon, where storage can use that. */
void dataset_will_load(struct dataset *dataset, enum format_section section);
/* Loads a section unless it is there. 0, -EBADMSG, -EIO or -ENOMEM. */
int dataset_need_section(struct dataset *dataset, enum format_section section, struct err *err);

/* Says that an entry is damaged. Returns what found() did, or -ENOMEM. */
int dataset_say_fault(const struct dataset *dataset, uint32_t entry, const char *damage,
		      const char *text, dataset_fault_fn *found, void *context);

/* --- of several packs --- */

/* What a merged dataset keeps of its packs. */
struct dataset_packs {
	/* Loads a section, as dataset_need_section(). Under the lock. */
	int (*gather)(struct dataset *dataset, enum format_section section, struct err *err);
	uint32_t *origins; /* of each entry: its number when those of all packs are counted */
	uint64_t *firsts;  /* the number of each pack's first entry; one more at the end */
	unsigned count;
	struct dataset *all[];
};

/* The dataset of the file that an extent is in: one of its packs, its base or itself. */
struct dataset *dataset_file_of(struct dataset *dataset, uint64_t extent);
/* Gives it a copy of the name. 0 or -ENOMEM. */
int dataset_set_name(struct dataset *dataset, const char *name);
