/* What extractor.c (the tree) and extract_files.c (the bytes) share. */
#ifndef PACK_TOOL_READ_EXTRACT_INTERNAL_H
#define PACK_TOOL_READ_EXTRACT_INTERNAL_H

#include "pack/tool/import/dirstack.h"
#include "pack/tool/read/extract.h"
#include <pthread.h>

#define EXTRACT_LOCKS 64u

struct large;

struct extractor {
	const struct extract_params *params;
	struct dataset *dataset;
	struct dirstack *directories;
	struct dirstack *first_names; /* for the other end of a hard link */
	struct dirstack **workers;    /* of each thread that makes files */
	uint8_t *lost;		      /* a bit for each entry: a directory that is not there */
	uint32_t *made;		      /* the entry under which each inode has been made, or
					 NOT_MADE; NULL where there are no hard links */
	struct large *larges;	      /* the long files that are being written */
	/* Held while a file is created in a directory of that number modulo theirs. The kernel
	 * has threads that create in one directory wait for each other, spinning: of 200,000 tiny
	 * files that took as much time as all the rest. */
	pthread_mutex_t creating[EXTRACT_LOCKS];
};

#define NOT_MADE UINT32_MAX

/* The name of an entry, NUL-ended. */
void extract_name(const void *dataset, uint32_t number, char ret[FORMAT_NAME_MAX + 1]);

/* Both times of a file: that of its last change. Returns ret. */
const struct timespec *extract_times(const struct dataset_attr *attr, struct timespec ret[2]);

/* Reports what became of an entry: 0 to go on. */
int extract_tell(struct extractor *extractor, uint32_t number, int error);

/* Makes the files, `jobs` at once; each is its inode's first name. `made` loses those that
 * fail. As extract_tree(). */
int extract_files(struct extractor *extractor, uint32_t *files, size_t count, unsigned jobs);

/* Removes what extract_files() has left unfinished. */
void extract_drop_larges(struct extractor *extractor);

#endif
