/* What the files of a mount share: mount.c makes it, and runs what is beside the requests,
 * source.c is what the cache reads from, report.c says what it did. */
#pragma once

#include "fs/disk_cache.h"
#include "fs/mount.h"
#include "pack/foreign/foreign.h"
#include "pack/labels.h"
#include "remote/remote.h"
#include <stdatomic.h>

struct mount {
	const struct settings *settings;
	struct packs_label label;
	struct remote_settings remote, remote_copied; /* for packs whose copy is complete */
	struct remote engine;			      /* of all packs that are URLs */
	struct foreign_settings foreign;
	struct pages pages;	       /* of all packs that are of other formats */
	struct disk_cache *disk;       /* NULL: none */
	atomic_bool network, programs; /* needed for a pack: see struct sandbox */
	struct dataset *dataset;
	struct labels_report labels; /* how they compare with the numbers of ImageFolder, */
	struct buf labels_text;	     /* and a sentence; empty: they are those */
	struct cache *cache;
	struct tree tree;
	bool checks_modes;
	struct buf folder; /* the path in the pack of the mount's root */
	struct order_upload *upload;
	struct mount_memory memory;
	mount_limit_fn *limited; /* NULL: nobody holds memory beside the pool */
	void *limited_context;
	struct inval *inval;	    /* NULL if the kernel keeps everything */
	struct notify_store *store; /* NULL if nothing is read ahead */
	atomic_uint serving;	    /* threads that answer the kernel */
	struct pressure *pressure;
	struct fuse_session *fuse; /* once it is started */
	bool opens_files, opens_folders;
	uint64_t started; /* seconds, monotonic */
	_Atomic uint64_t requests[REQUEST_COUNT];
	_Atomic uint64_t served_files;		   /* as often as they were begun, or pushed */
	atomic_uint listed_folders;		   /* as often as that was begun */
	_Atomic uint64_t bad_files, damaged_files; /* that could not be read; of these */
	atomic_bool leaving;
	atomic_bool stale_logged, checksums_logged;
	_Atomic uint8_t *bad; /* a bit for each entry, set if it could not be read and was logged */
};

/* What the cache reads from. */
struct cache_source mount_source(struct mount *mount);

/* What keeps served data, in a word: "kernel", "pool" or "shared". */
const char *mount_keeper(const struct mount *mount);
