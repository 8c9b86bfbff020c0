/* The files of a pack as files in memory, sealed against all changes, for processes to hold open.
 *
 * A file is copied whole when it is opened, through the cache, which checks it. Of those that were
 * opened last, copies are kept, up to a limit of bytes and one of files; a copy that a job has open
 * or mapped lives on without being counted. All calls are thread-safe. */
#pragma once

#include "fs/mount.h"
#include "fs/nofuse/job.h"
#include "fs/nofuse/resolve.h"

struct store_limits {
	uint64_t bytes, files; /* of copies that are kept */
	uint64_t making;       /* files that are copied at once */
	uint64_t largest;      /* file that can be opened, bytes */
	uint64_t writable;     /* the same, as `ulimit -f` has it */
};

struct store;

/* The mount and the resolver, which names the files, are borrowed. NULL: no memory. */
struct store *store_new(struct mount *mount, const struct resolver *resolver,
			const struct store_limits *limits);
void store_free(struct store *store); /* NULL is fine */

/* From now on so much of the bytes may be kept: `part` of `whole`. What is too much leaves. */
void store_limit(struct store *store, uint64_t part, uint64_t whole);

/* Gives up a copy that is kept. Returns whether there was one. */
bool store_give_up(struct store *store);

/* Opens a file with flags of open(2) that only read. Returns a descriptor, -EFBIG, or what a read
 * of the mount would fail with. */
int store_open(struct store *store, uint32_t entry, int flags, struct opener *opener);
