/* Modes and times of what is made from a pack, and what a filesystem refuses of them.
 *
 * Modes are those of the pack less the umask. Where a folder has a default ACL, that counts in
 * place of the umask, and it stays: the kernel makes each entry as it says. */
#pragma once

#include "pack/dataset.h"
#include <stdatomic.h>

/* What was refused, of how many entries. */
enum attributes_refusal { ATTRIBUTES_MODE, ATTRIBUTES_TIME, ATTRIBUTES_LINK, ATTRIBUTES_REFUSALS };
struct attributes_refused {
	atomic_uint count;
	atomic_int error; /* of one of them, -errno */
};

struct attributes {
	mode_t mask;			    /* io_umask() */
	struct attributes_refused *refused; /* of each kind; the caller's */
};

/* Any thread may call these. They return 0, also where the filesystem refuses, which is counted; or
 * -errno. */

/* The mode that a file is to be created with: without setuid and setgid, since its owner is the
 * user who extracts. A folder gets 0700 as well, until it is complete. */
static inline mode_t attributes_mode(const struct dataset_attr *attr)
{
	return attr->mode & 01777;
}

/* Of a file that was created so in a folder. */
int attributes_set(const struct attributes *attributes, int folder, int fd,
		   const struct dataset_attr *attr);
/* Of a folder that is complete. `found`: it was there before. */
int attributes_set_folder(const struct attributes *attributes, int fd, bool found,
			  const struct dataset_attr *attr);
void attributes_refuse(const struct attributes *attributes, enum attributes_refusal kind,
		       int error);
