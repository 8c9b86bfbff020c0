/* Makes the tree of a dataset below a directory.
 *
 * Everything is created by name in the descriptor of its directory, exclusively and never through a
 * link. So nothing outside the given directory is touched, whatever is in the pack and whatever
 * else happens there. Directories that exist under their own names are used. Bytes are checked
 * before they are written. A file gets its name once it is whole, where the filesystem has files
 * without a name; elsewhere one that fails is removed. Memory does not depend on the size of files.
 *
 * Directories and symbolic links come first. Then come the files, in the order in which they lie in
 * the pack and by several threads; then the other names of files; and last the modes and times of
 * directories. Where the filesystem refuses modes, times or hard links, the files are there
 * without.
 *
 * Modes are those of the pack less the umask. Where a folder has a default ACL, that counts in
 * place of the umask, and it stays: the kernel makes each entry as it says. */
#pragma once

#include "pack/dataset.h"
#include "pack/tool/read/listing.h"
#include "pack/tool/work/progress.h"
#include <stdatomic.h>

/* What a filesystem refused, of how many entries. */
enum extract_refusal { REFUSED_MODE, REFUSED_TIME, REFUSED_LINK, REFUSALS };
struct extract_refused {
	atomic_uint count;
	atomic_int error; /* of one of them, -errno */
};

struct extract_params {
	struct dataset *dataset;	 /* with DATASET_ATTRS and DATASET_CHECKSUMS loaded */
	const struct subtree *subtree;	 /* what to make */
	int root;			 /* the directory, open */
	bool finish_root;		 /* it gets the root's mode and time */
	unsigned jobs;			 /* threads; at least 1 */
	struct progress *progress;	 /* begun */
	struct extract_refused *refused; /* of each kind; zero at first */
	/* An entry could not be made: -errno; -EBADMSG: its bytes are damaged; -EEXIST: its place
	 * is taken; -ENOTUNIQ: by another name that the filesystem takes for its own. What is in a
	 * directory that could not be made is not reported. Called in the caller's thread, in an
	 * order that does not depend on the number of threads. Returns 0 to go on with the others,
	 * else what extract_tree() is to return. */
	int (*fault)(void *context, uint32_t entry, int error);
	void *context;
};

/* 0, -ENOMEM, -EAGAIN (no thread could be made), -EINTR (interrupt.h; files that were begun are
 * finished or removed), or what fault() returned. */
int extract_tree(const struct extract_params *params);
