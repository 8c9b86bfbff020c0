/* What runs beside the requests of a mount. */
#include "base/math.h"
#include "base/size.h"
#include "fs/fuse.h"
#include "fs/inval.h"
#include "fs/mount_internal.h"
#include "fs/notify_store.h"
#include "fs/pressure.h"
#include <string.h>

#define INVAL_LEAST (8 * MIB)

static void inval_extent(void *context, uint64_t extent)
{
	struct mount *mount = context;
	struct dataset_extent x;

	/* A READ of it may be parked: see inval_fn. */
	if (!cache_may_drop(mount->cache, extent))
		return;
	x = dataset_extent(mount->dataset, extent);
	mount_count(mount, REQUEST_NOTIFY);
	fuse_lowlevel_notify_inval_inode(mount->fuse, tree_ino(&mount->tree, x.entry),
					 (off_t)x.from, x.size);
}

int mount_make_notes(struct mount *mount, struct err *err)
{
	/* With a shorter lag, readers would lose what was read ahead for them. */
	uint64_t lag = max(mount->memory.budget / 16, INVAL_LEAST);
	char count[SIZE_TEXT];
	int r = 0;

	if (mount->settings->no_fuse)
		return 0;
	if (mount->memory.residency != RESIDENCY_ALL)
		r = inval_new(dataset_extents(mount->dataset), lag, inval_extent, mount,
			      &mount->inval);
	if (r == 0 && mount->settings->readahead)
		r = notify_store_new(&mount->tree, mount->cache, &mount->serving,
				     &mount->requests[REQUEST_NOTIFY], &mount->served_files,
				     &mount->store);
	return r < 0 ? err_set(err, r,
			       "cannot note what the kernel holds of %s files and folders: %s; a "
			       "smaller '--pool' leaves memory for that",
			       count_format(dataset_entries(mount->dataset), count), strerror(-r))
		     : 0;
}

static void pool_usage(void *context, uint64_t *ret_held, uint64_t *ret_limit)
{
	struct cache_stats stats;

	cache_stats(((struct mount *)context)->cache, &stats);
	*ret_held = stats.held;
	*ret_limit = stats.limit;
}

static void set_pool_limit(void *context, uint64_t bytes)
{
	struct mount *mount = context;

	cache_limit(mount->cache, bytes);
	if (mount->limited)
		mount->limited(mount->limited_context, bytes, mount->memory.budget);
}

void mount_on_limit(struct mount *mount, mount_limit_fn *limited, void *context)
{
	mount->limited = limited;
	mount->limited_context = context;
}

int mount_start(struct mount *mount, struct fuse_session *fuse)
{
	const struct pressure_params params = {
		.root = "",
		.tick_ms = PRESSURE_TICK_MS,
		.least = CACHE_BUDGET_MIN,
		.ops = {.context = mount, .usage = pool_usage, .set_limit = set_pool_limit}};
	int r = cache_start(mount->cache);

	mount->fuse = fuse;
	if (r == 0 && mount->inval)
		r = inval_start(mount->inval);
	if (r == 0 && mount->store)
		r = notify_store_start(mount->store, fuse_session_fd(fuse));
	if (r == 0)
		r = pressure_start(&params, &mount->pressure);
	return r;
}

void mount_stop(struct mount *mount)
{
	pressure_stop(mount->pressure);
	mount->pressure = NULL;
	cache_stop(mount->cache);
	if (mount->store)
		notify_store_stop(mount->store);
	if (mount->inval)
		inval_stop(mount->inval);
}
