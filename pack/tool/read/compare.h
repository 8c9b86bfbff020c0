/* Compares a folder with a dataset: first the trees, then the bytes of the files that both have.
 *
 * Symbolic links are compared, never followed. Only the bytes of files count, not whether they are
 * hard links. Files of different sizes are not read. */
#pragma once

#include "pack/dataset.h"
#include "pack/tool/work/progress.h"

enum compare_difference {
	COMPARE_SAME,		/* is never reported */
	COMPARE_ONLY_IN_FOLDER, /* with everything below */
	COMPARE_ONLY_IN_PACK,	/* with all below */
	COMPARE_KIND,		/* a file here is a directory or link there, and so on */
	COMPARE_BYTES,
	COMPARE_TARGET, /* of symbolic links */
	COMPARE_MODE,
	COMPARE_TIME,
	COMPARE_UNREADABLE, /* something of the folder cannot be read */
	COMPARE_DAMAGED,    /* a file of the pack cannot be read; -EBADMSG: its bytes are damaged */
};

struct compare_finding {
	enum compare_difference difference;
	const char *reason; /* for the last two */
	int error;	    /* -errno, of COMPARE_DAMAGED */
	const char *path;   /* relative to the root, NUL-ended; "" is the root itself */
	size_t len;
	const char *folder, *pack; /* what it is in each, of COMPARE_KIND ("a directory") and
				      COMPARE_MODE ("0644") */
};

struct compare_params {
	struct dataset *dataset; /* for attributes with DATASET_ATTRS loaded */
	int root;		 /* the folder, open */
	bool attributes;	 /* also modes and times of files and directories */
	unsigned jobs;		 /* threads; at least 1 */
	/* Begun by the caller. Counts what is found in the folder, then begins again with the files
	 * and bytes that are compared. */
	struct progress *progress;
	/* Called in the caller's thread, about the trees first, in the order of paths, and then
	 * about bytes in the order in which files lie in the pack, whatever the number of threads.
	 * Returns 0 to go on, else -errno, which becomes the result. */
	int (*found)(void *context, const struct compare_finding *finding);
	void *context;
};

/* FORMAT_DIRECTORY, _SYMLINK or _FILE: a file is a file, however its bytes are stored. */
enum format_kind compare_kind(unsigned kind);
/* "a directory" and so on. */
const char *compare_kind_text(enum format_kind kind);

/* 0 (whatever was found), -ENOMEM, -EAGAIN (no thread could be made), or what found() returned. */
int compare(const struct compare_params *params);
