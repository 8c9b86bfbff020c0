/* What a pack would bring on this storage: a sample of a folder, read loose, packed, and read
 * through a mount, each from the disk and in shuffled order.
 *
 * What the kernel holds of the sample's bytes is let go of before each reading, which needs no
 * privilege; what it knows of names and inodes stays, and so does what a server holds: loose
 * files do no worse in it than they would in a first epoch. */
#ifndef PACK_TOOL_CREATE_TRIAL_H
#define PACK_TOOL_CREATE_TRIAL_H

#include "base/err.h"
#include <stdint.h>

struct trial_params {
	const char *source; /* the folder */
	const char *place;  /* the directory to pack the sample into; left as it was */
	uint64_t sample;    /* bytes to take, about */
	unsigned readers;   /* threads that read, as many as a loader has workers */
	unsigned jobs;	    /* of packing */
	/* Before each step: "reading loose files". Returns 0 to go on, else what trial_run()
	 * shall return. */
	int (*step)(void *context, const char *what);
	void *context;
};

struct trial_rate {
	uint64_t files, bytes; /* that were read */
	double seconds;
};

struct trial_result {
	uint64_t files, bytes; /* of the whole source */
	struct trial_rate loose, packing, mounted;
	uint64_t pack_bytes; /* of the sample's pack */
	struct err no_mount; /* why nothing could be mounted; "": it was */
};

/* Returns 0; -ENODATA (there is no file, or none that can be read); -EINTR; -ECANCELED: what failed
 * has been said; or what failed, err saying where. */
int trial_run(const struct trial_params *params, struct trial_result *ret, struct err *err);

#endif
