/* One mount: the dataset, the cache before it, and what the kernel asked for.
 *
 *	request -> ops.c: decode -> tree: dataset -> reply
 *	                         -> bytes: cache -> (source.c) dataset -> reply
 */
#pragma once

#include "cache/cache.h"
#include "fs/disk_cache.h"
#include "fs/life/sandbox.h"
#include "fs/options.h"
#include "fs/tree.h"
#include "pack/foreign/foreign.h"
#include "pack/labels.h"
#include "pack/packs.h"
#include "remote/remote.h"
#include <stdatomic.h>

enum request {
	REQUEST_READ,
	REQUEST_LOOKUP,
	REQUEST_GETATTR,
	REQUEST_READDIR,
	REQUEST_READDIRPLUS,
	REQUEST_OPEN,
	REQUEST_IOCTL,
	REQUEST_GETXATTR,
	REQUEST_LISTXATTR,
	REQUEST_FORGET,
	REQUEST_NOTIFY,
	REQUEST_COUNT
};

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
	struct tree tree;  /* what the mount shows of it */
	bool checks_modes; /* foldfs checks modes: the caller made the mount, perhaps without
			      default_permissions */
	struct buf folder; /* the path in the pack of the mount's root */
	struct order_upload *upload; /* takes an order from foldstat */
	uint64_t budget, memory;     /* bytes: of the pool; of available memory at the start */
	uint64_t residency; /* bytes of served data that the kernel keeps, or RESIDENCY_ALL */
	/* What follows belongs to the session: */
	struct session *session;
	bool opens_files, opens_folders; /* the kernel cannot do without: Linux before 5.1 */
	struct inval *inval;		 /* NULL if the kernel keeps everything */
	struct notify_store *store;	 /* NULL if nothing is read ahead */
	struct pressure *pressure;
	uint64_t started; /* seconds, monotonic */
	_Atomic uint64_t requests[REQUEST_COUNT];
	_Atomic uint64_t bad_files, damaged_files; /* that could not be read; of these */
	atomic_bool leaving; /* it ends once it is not used: session_watch() */
	atomic_bool stale_logged, checksums_logged;
	_Atomic uint8_t *bad; /* a bit for each entry, set if it could not be read and was logged */
};

/* Opens the pack and makes the cache. Starts no threads. Returns 0 or -errno with a sentence that
 * names the path at fault. */
int mount_new(const struct settings *settings, struct mount **ret, struct err *err);
void mount_free(struct mount *mount); /* NULL is fine */

/* What keeps served data, in a word: "kernel", "pool" or "shared". */
const char *mount_keeper(const struct mount *mount);

/* What the cache reads from. */
struct cache_source mount_source(struct mount *mount);

/* What it needs in the sandbox. */
struct sandbox mount_needs(const struct mount *mount);

/* The stats as one JSON object (foldstat(1)). Only the owner of the mount sees paths other than the
 * pack's, which is in the table of mounts, seeds and messages. Returns 0 or -ENOMEM. */
int mount_report(struct mount *mount, bool owner, struct buf *json);

/* Whether a mount at `path` shows the same as this one would: by its report, the same folder of a
 * pack with the same content. */
bool mount_is_at(const struct mount *mount, const char *path);

/* The options of this mount and of the one at `path`, of the same user, that the other one has not:
 * "'--pool=8388608', '--allow_other'"; empty: none. Returns 0 or -errno. */
int mount_differs(const struct mount *mount, const char *path, struct buf *ret_only_here,
		  struct buf *ret_only_there);

static inline void mount_count(struct mount *mount, enum request request)
{
	mount->requests[request]++;
}
