/* One mount: the dataset, the cache before it, and what the kernel asked for.
 *
 *	request -> ops.c: decode -> tree: dataset -> reply
 *	                         -> bytes: cache -> (source.c) dataset -> reply
 *
 * mount_new -> mount_start -> (requests) -> mount_stop -> mount_free. These calls come one at a
 * time; any thread makes the others. What is returned by pointer lives as long as the mount. */
#pragma once

#include "cache/cache.h"
#include "fs/life/sandbox.h"
#include "fs/options.h"
#include "fs/tree.h"
#include "pack/packs.h"

struct mount;
struct fuse_session;
struct order_batch;

/* Opens the pack and makes the cache. Starts no threads. Returns 0 or -errno with a sentence that
 * names the path at fault. */
int mount_new(const struct settings *settings, struct mount **ret, struct err *err);
void mount_free(struct mount *mount); /* stopped, or never started; NULL is fine */

/* Starts what runs beside the requests: reading ahead, what tells the kernel, the watch over
 * memory. `fuse`: NULL with settings.no_fuse. Returns 0 or -errno, and is to be stopped in both
 * cases. */
int mount_start(struct mount *mount, struct fuse_session *fuse);
void mount_stop(struct mount *mount);
/* Before that: whoever holds memory beside the pool is told when the pool may use so much of its
 * budget, without locks, one call at a time, until mount_stop(). */
typedef void mount_limit_fn(void *context, uint64_t limit, uint64_t budget);
void mount_on_limit(struct mount *mount, mount_limit_fn *limited, void *context);
/* Begins to fetch what the disk cache lacks of the packs, as far as the settings want it. */
void mount_fill(struct mount *mount);

const struct settings *mount_settings(const struct mount *mount);
const struct packs_label *mount_label(const struct mount *mount);
const struct tree *mount_tree(const struct mount *mount); /* what it shows of the dataset */
struct cache *mount_cache(const struct mount *mount);
atomic_uint *mount_serving(struct mount *mount);	     /* threads that answer the kernel */
struct notify_store *mount_store(const struct mount *mount); /* NULL: nothing is read ahead */

struct mount_memory {
	uint64_t budget;    /* bytes of the pool */
	uint64_t available; /* of memory, at the start */
	uint64_t residency; /* of served data that the kernel keeps, or RESIDENCY_ALL */
};

struct mount_memory mount_memory(const struct mount *mount);

/* Takes a batch of an order from a process, as order_upload_take(). -EOPNOTSUPP: nothing is read
 * ahead. */
int mount_order(struct mount *mount, uint32_t sender, struct order_batch *batch);

/* What it needs in the sandbox. */
struct sandbox mount_needs(const struct mount *mount);

/* --- of the kernel ---------------------------------------------------------------------------- */

/* Whether foldfs checks modes: the caller made the mount, perhaps without default_permissions. */
bool mount_checks_modes(const struct mount *mount);
/* Whether the kernel's opens of files, or of folders, must be answered: that are checked, or that
 * it cannot do without (Linux before 5.1), which mount_set_opens() says. */
bool mount_opens(const struct mount *mount, bool folders);
void mount_set_opens(struct mount *mount, bool files, bool folders);

enum request {
#define REQUEST(word, name) REQUEST_##name,
#include "fs/stats.def"
	REQUEST_COUNT
};

void mount_count(struct mount *mount, enum request request);
/* A file begins to be read. */
void mount_count_file(struct mount *mount);
/* A folder begins to be listed. Programs that list many are about to read what is in them, as
 * ImageFolder, whose workers start after that: a remote pack that is small is preloaded. */
void mount_count_folder(struct mount *mount);
/* How often the kernel has asked for anything. Reading the stats does not count, nor does what it
 * does by itself. */
uint64_t mount_uses(const struct mount *mount);

/* From now on, the mount is to end once it is not used. */
void mount_leave(struct mount *mount);
bool mount_is_leaving(const struct mount *mount);

/* --- what is said of it ----------------------------------------------------------------------- */

/* The stats as one JSON object (foldstat(1)). Only the owner of the mount sees paths other than the
 * pack's, which is in the table of mounts, seeds and messages. Returns 0 or -ENOMEM. */
int mount_report(struct mount *mount, bool owner, struct buf *json);

/* Compares this mount with the one at `path`, of the same user, by its report. Returns 1 if that
 * shows the same folder of a pack with the same content, 0 if not, or -ENOMEM; and the options that
 * only one of both has: "'--pool=8388608', '--allow_other'"; empty: none. */
int mount_compare(const struct mount *mount, const char *path, struct buf *ret_only_here,
		  struct buf *ret_only_there);
