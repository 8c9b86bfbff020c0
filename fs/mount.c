#include "base/clock.h"
#include "base/log.h"
#include "base/math.h"
#include "base/name.h"
#include "base/notices.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "base/size.h"
#include "fs/fuse.h"
#include "fs/inval.h"
#include "fs/memory.h"
#include "fs/mount_internal.h"
#include "fs/notify_store.h"
#include "fs/order.h"
#include "fs/pressure.h"
#include "remote/open.h"
#include "remote/prefix.h"
#include <limits.h>
#include <string.h>

#define IO_THREADS	  32   /* reads in flight, at most; 16 saturate the devices measured */
#define FAR_THREADS	  8    /* where reads keep no thread busy: these check, answer and copy */
#define KERNEL_NAME_BYTES 2048 /* that the kernel holds for a file's inode and name */
#define MEMORY_PARTS	  16   /* this part, a sixteenth, is left to others */
#define COPY_RETRY	  2    /* seconds to repeat requests for a pack whose copy is complete */
#define INVAL_LEAST	  (8 * MIB)
#define SLOT_WASTE	  8192 /* bytes that stay unused in a file's last slot, on average */
#define WALK		  8    /* folders that were listed: a program goes through them all */
#define WALK_MOST	  GIB  /* bytes that are read for that, if they fit */

/* Opens a pack where it is. If the disk cache has a complete copy and the server cannot be reached,
 * `copy` is used instead. Returns 0, 1 (the copy is used) or -errno. */
static int open_or_copy(struct mount *mount, const char *name, unsigned how, struct reader **copy,
			struct reader **ret, struct err *err)
{
	SCOPE_FREE char *shown = name_shown(name);
	int r = reader_open(name, how, *copy ? &mount->remote_copied : &mount->remote,
			    &mount->engine, ret, err);

	if (r == 0 && !name_is_url(name))
		reader_file_retry(*ret, name, remote_retry(&mount->remote, REMOTE_RETRY_FILE),
				  mount->remote.notice);
	if (r != -EIO || !*copy)
		return r;
	log_notice("%s: %s; its complete copy in the disk cache is mounted, as it was fetched",
		   shown ? shown : "", err_text(err, r));
	*ret = steal_ptr(copy);
	return 1;
}

/* What the sandbox is to leave, as this is opened. */
static void note_needs(struct mount *mount, const char *name)
{
	if (name_is_url(name))
		atomic_store(&mount->network, true);
	if (name_needs_programs(name, &mount->remote))
		atomic_store(&mount->programs, true);
}

/* What is read whole is read once: no copy of it is kept. */
static int open_cached_pack(void *context, const char *name, unsigned how, struct reader **ret,
			    struct err *err)
{
	struct mount *mount = context;
	SCOPE(reader_release) struct reader *copy = NULL;
	SCOPE_FREE char *place = NULL;
	int r;

	if (how & READER_WHOLE)
		return reader_open(name, how, &mount->remote, &mount->engine, ret, err);
	note_needs(mount, name);
	if (mount->disk && name_place(name, &mount->remote, &mount->engine, &place) == 0)
		disk_cache_find(mount->disk, place, &copy);
	r = open_or_copy(mount, name, how, &copy, ret, err);
	if (r == 0 && mount->disk)
		return disk_cache_add(mount->disk, *ret, ret);
	return r < 0 ? r : 0;
}

static int open_mounted_prefix(void *context, const char *name, struct members **ret,
			       struct err *err)
{
	struct mount *mount = context;

	if (!name_is_prefix(name))
		return 1;
	note_needs(mount, name);
	return prefix_open(name, &mount->remote, &mount->engine, ret, err);
}

static int open_mounted(void *context, const struct name *name, struct dataset **ret,
			struct err *err)
{
	struct mount *mount = context;
	struct foreign_settings foreign = mount->foreign;

	foreign.how = name->apart ? READER_APART : 0;
	return foreign_open(name->name, &foreign, ret, err);
}

static int list_mounted(void *context, const char *name, struct buf *ret, struct err *err)
{
	struct mount *mount = context;

	return name_list(name, &mount->remote, &mount->engine, ret, err);
}

static int open_dataset(struct mount *mount, struct err *err)
{
	const struct settings *settings = mount->settings;
	const struct packs_params params = {.words = (const char *const *)settings->packs,
					    .count = settings->pack_count,
					    .open = open_mounted,
					    .open_list = open_cached_pack,
					    .list = list_mounted,
					    .context = mount,
					    .missing_ok = settings->missing,
					    .missing_hint = "'--missing=ok' does without",
					    .notice = settings->remote.notice,
					    .select = settings->select.items,
					    .select_count = settings->select.count};
	SCOPE(notices_release) struct notices notices = NOTICES_INIT;
	SCOPE(makers_release) struct makers makers = MAKERS_INIT;
	int r;

	mount->foreign = settings->foreign;
	mount->foreign.open = open_cached_pack;
	mount->foreign.open_prefix = open_mounted_prefix;
	mount->foreign.context = mount->foreign.prefix_context = mount;
	mount->foreign.pages = &mount->pages;
	mount->foreign.index_folder = mount->disk ? disk_cache_indexes(mount->disk) : NULL;
	mount->foreign.notice = settings->remote.notice;
	mount->foreign.retry = remote_retry(&settings->remote, REMOTE_RETRY_FILE);
	mount->remote = settings->remote;
	mount->remote.first_url = name_first_url(settings->packs, settings->pack_count);
	mount->remote_copied = mount->remote;
	mount->remote_copied.retry = min(mount->remote.retry, COPY_RETRY);
	mount->foreign.notices = &notices;
	mount->foreign.makers = &makers;
	r = packs_open(&params, &mount->dataset, &mount->label, err);
	mount->foreign.notices = NULL;
	mount->foreign.makers = NULL;
	if (r == 0)
		notices_say(&notices, log_notice_line);
	mount->remote_copied.retry = mount->remote.retry;
	for (size_t i = 0; i < settings->pack_count; i++)
		name_hide_secrets(settings->packs[i]);
	return r;
}

/* Loads what the first file needs. At this point no signal and no process depends on it, even if
 * the storage hangs. Of damage in it, only what concerns all files is said: the rest is reported
 * when a file meets it. */
static int load_first(struct mount *mount, struct err *err)
{
	bool checked = mount->settings->verify == 0;
	struct err why = {0};
	int r = dataset_load(mount->dataset, DATASET_ATTRS | (checked ? DATASET_CHECKSUMS : 0),
			     &why);

	if (r < 0 && r != -EBADMSG)
		return err_set(err, r, "%s: %s", mount->label.path, err_text(&why, r));
	if (dataset_load(mount->dataset, DATASET_ATTRS, &why) < 0)
		log_error(
			"%s: cannot look up any file: %s; 'foldpack verify' lists all that is "
			"damaged",
			mount->label.path, err_text(&why, -EBADMSG));
	return 0;
}

static void set_tree(struct mount *mount)
{
	const struct settings *settings = mount->settings;
	bool open_to_all = settings->umask != UINT64_MAX && !(settings->umask & 0555);

	/* A caller that made the mount itself may have left default_permissions out. This makes no
	 * difference if a umask lets everybody read. */
	mount->checks_modes = settings_are_handed_over(settings) && !open_to_all;
	mount->tree = (struct tree){
		.dataset = mount->dataset,
		.uid = settings->uid == UINT64_MAX ? getuid() : (uid_t)settings->uid,
		.gid = settings->gid == UINT64_MAX ? getgid() : (gid_t)settings->gid,
		.umask = settings->umask,
	};
}

static int find_subdir(struct mount *mount, struct err *err)
{
	const char *subdir = mount->settings->subdir;
	int r;

	if (!subdir)
		return 0;
	r = dataset_find(mount->dataset, subdir, strlen(subdir), &mount->tree.root);
	if (r == 0) {
		r = dataset_entry(mount->dataset, mount->tree.root).kind == FORMAT_DIRECTORY
			    ? 0
			    : -ENOTDIR;
	}
	if (r < 0)
		return err_set(
			err, r, "%s: '--subdir=%s' %s in the pack; 'foldpack list' shows what is",
			mount->label.name, subdir, r == -ENOTDIR ? "is not a folder" : "is not");
	return 0;
}

/* A cache keeps the bytes of each alias, though they are in the pack once. */
static uint64_t content_bytes(const struct mount *mount)
{
	const struct dataset_info *info = dataset_info(mount->dataset);

	return max(info->super->bytes, info->pack_bytes);
}

struct sandbox mount_needs(const struct mount *mount)
{
	const struct reader_hints hints = reader_hints(dataset_reader(mount->dataset));

	return (struct sandbox){.network = mount->network,
				.opens = mount->network || hints.shared || hints.members,
				.programs = mount->programs,
				.folder = mount->disk ? disk_cache_folder(mount->disk) : -1};
}

/* Each byte has one owner. If everything fits, or LRU is wanted, the kernel owns all: its cached
 * files cost readers nothing, and it frees them when the job needs memory. Otherwise pool and
 * kernel share, and neither evicts what the next epoch needs.
 *
 * To keep everything, the kernel needs for each file also the rest of its last page, its inode and
 * its name (1.1 to 1.7 KB): a page of 4 KiB, or less than one that is larger. */
static uint64_t choose_residency(const struct mount *mount)
{
	const struct settings *settings = mount->settings;
	uint64_t files = dataset_info(mount->dataset)->super->files;
	uint64_t available = mount->memory.available;
	uint64_t all = content_bytes(mount) + files * (uint64_t)getpagesize();
	uint64_t others = files * KERNEL_NAME_BYTES + available / MEMORY_PARTS;

	if (settings->cache == SETTING_CACHE_POOL || settings->no_fuse)
		return 0;
	if (settings->cache == SETTING_CACHE_KERNEL || settings->policy == SETTING_POLICY_LRU ||
	    all <= available / 5 * 4)
		return RESIDENCY_ALL;
	return sub_sat(available, mount->memory.budget + others);
}

const char *mount_keeper(const struct mount *mount)
{
	if (mount->memory.residency == RESIDENCY_ALL)
		return "kernel";
	return mount->memory.residency ? "shared" : "pool";
}

/* A pool larger than the pack is of no use, except that --preload leaves an eighth of it free. */
static uint64_t choose_budget(const struct mount *mount)
{
	uint64_t files = dataset_info(mount->dataset)->super->files;
	uint64_t all = content_bytes(mount) + files * SLOT_WASTE;

	return clamp(mount->memory.available / 4, CACHE_BUDGET_MIN,
		     all + all / 7 + CACHE_BUDGET_MIN);
}

static bool pool_holds_all(const struct mount *mount)
{
	uint64_t all = content_bytes(mount);

	return all + all / 7 <= mount->memory.budget;
}

static int make_cache(struct mount *mount, struct err *err)
{
	const struct settings *settings = mount->settings;
	bool remote = reader_hints(dataset_reader(mount->dataset)).remote;
	/* With any policy, what the kernel keeps leaves the pool first. */
	bool pin =
		mount->memory.residency == RESIDENCY_ALL || settings->policy == SETTING_POLICY_PIN;
	bool lru = settings->policy == SETTING_POLICY_LRU;
	/* An order is of use only if something may be read ahead. */
	bool orders = settings->oracle == 0 && settings->readahead;
	const struct cache_params params = {.source = mount_source(mount),
					    .budget = mount->memory.budget,
					    .readahead = settings->readahead,
					    .threads = remote ? FAR_THREADS : IO_THREADS,
					    .io = (enum reader_io)settings->io,
					    .residency = mount->memory.residency,
					    .holds_all = pool_holds_all(mount),
					    .preload = settings->preload,
					    .oracle_cpus =
						    orders ? (unsigned)settings->oracle_cpu : 0,
					    .policy = pin   ? POLICY_PIN
						      : lru ? POLICY_LRU
							    : POLICY_AUTO};
	int r = cache_new(&params, &mount->cache);

	if (r == -EOPNOTSUPP)
		return err_set(err, r,
			       "%s: its filesystem has no direct reads; leave out '--io=direct'",
			       mount->label.name);
	if (r == -EMFILE)
		return err_set(err, r, "%s: %s", mount->label.name, err_text(NULL, r));
	return r < 0 ? err_set(err, r, "a pool of %llu bytes: %s",
			       (unsigned long long)mount->memory.budget, strerror(-r))
		     : 0;
}

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

static int make_notes(struct mount *mount, struct err *err)
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
			       "cannot record which of %s files and folders the kernel caches: %s; "
			       "a "
			       "smaller '--pool' leaves memory for that",
			       count_format(dataset_entries(mount->dataset), count), strerror(-r))
		     : 0;
}

int mount_new(const struct settings *settings, struct mount **ret, struct err *err)
{
	struct mount *mount = calloc(1, sizeof(*mount));
	int r;

	if (!mount)
		return -ENOMEM;
	mount->settings = settings;
	mount->engine = (struct remote)REMOTE_INIT;
	mount->pages = (struct pages)PAGES_INIT;
	mount->started = clock_ns() / CLOCK_SECOND;
	r = settings->cache_dir ? disk_cache_open(settings->cache_dir, &mount->disk, err) : 0;
	if (r == 0)
		r = open_dataset(mount, err);
	if (r == 0)
		r = load_first(mount, err);
	/* What a training over ImageFolder would not notice. */
	if (r == 0)
		r = labels_compare(mount->dataset, &mount->labels);
	if (r == 0)
		r = labels_explain(mount->dataset, &mount->labels, &mount->labels_text);
	if (r == 0 && mount->labels_text.len)
		log_notice("%s: %s", mount->label.name, mount->labels_text.data);
	if (r == 0) {
		set_tree(mount);
		r = find_subdir(mount, err);
	}
	if (r == 0)
		r = dataset_path(mount->dataset, mount->tree.root, &mount->folder);
	if (r == 0) {
		mount->bad = calloc(1, dataset_entries(mount->dataset) / 8 + 1);
		mount->memory.available = memory_available();
		mount->memory.budget = settings->pool ? settings->pool : choose_budget(mount);
		mount->memory.residency = choose_residency(mount);
		r = mount->bad ? make_cache(mount, err) : -ENOMEM;
	}
	if (r == 0)
		r = make_notes(mount, err);
	if (r == 0) {
		mount->upload = order_upload_new(&mount->tree, mount->cache);
		r = mount->upload ? 0 : -ENOMEM;
	}
	if (r == 0 && settings->order)
		r = order_load(&mount->tree, mount->cache, settings->order, err);
	if (r < 0) {
		mount_free(mount);
		return r;
	}
	/* Next, foldfs forks, and may enter a namespace. */
	reader_rest(dataset_reader(mount->dataset));
	remote_stop(&mount->engine);
	if (mount->disk)
		disk_cache_rest(mount->disk);
	*ret = mount;
	return 0;
}

void mount_free(struct mount *mount)
{
	if (!mount)
		return;
	notify_store_free(mount->store);
	inval_free(mount->inval);
	cache_free(mount->cache);
	order_upload_free(mount->upload);
	dataset_free(mount->dataset);
	disk_cache_free(mount->disk);
	buf_release(&mount->folder);
	buf_release(&mount->labels_text);
	packs_label_release(&mount->label);
	free((void *)mount->bad);
	free(mount);
}

/* --- what runs beside the requests ------------------------------------------------------------ */

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

/* --- what others ask ------------------------------------------------------------------------- */

const struct settings *mount_settings(const struct mount *mount)
{
	return mount->settings;
}

const struct packs_label *mount_label(const struct mount *mount)
{
	return &mount->label;
}

const struct tree *mount_tree(const struct mount *mount)
{
	return &mount->tree;
}

struct cache *mount_cache(const struct mount *mount)
{
	return mount->cache;
}

int mount_order(struct mount *mount, uint32_t sender, struct order_batch *batch)
{
	return mount->settings->readahead ? order_upload_take(mount->upload, sender, batch)
					  : -EOPNOTSUPP;
}

atomic_uint *mount_serving(struct mount *mount)
{
	return &mount->serving;
}

struct notify_store *mount_store(const struct mount *mount)
{
	return mount->store;
}

struct mount_memory mount_memory(const struct mount *mount)
{
	return mount->memory;
}

void mount_fill(struct mount *mount)
{
	if (mount->disk && mount->settings->prefetch)
		disk_cache_fill(mount->disk);
}

bool mount_checks_modes(const struct mount *mount)
{
	return mount->checks_modes;
}

bool mount_opens(const struct mount *mount, bool folders)
{
	return mount->checks_modes || (folders ? mount->opens_folders : mount->opens_files);
}

void mount_set_opens(struct mount *mount, bool files, bool folders)
{
	mount->opens_files = files;
	mount->opens_folders = folders;
}

void mount_count(struct mount *mount, enum request request)
{
	mount->requests[request]++;
}

void mount_count_file(struct mount *mount)
{
	mount->served_files++;
}

/* A disk that is near brings it soon enough while they ask. Not what costs a request a file. */
void mount_count_folder(struct mount *mount)
{
	struct reader_hints hints;

	if (++mount->listed_folders != WALK || !mount->settings->readahead ||
	    mount->settings->preload)
		return;
	hints = reader_hints(dataset_reader(mount->dataset));
	if (hints.remote && !hints.members && content_bytes(mount) <= WALK_MOST &&
	    pool_holds_all(mount))
		cache_preload(mount->cache);
}

uint64_t mount_uses(const struct mount *mount)
{
	uint64_t uses = 0;

	for (int i = 0; i < REQUEST_COUNT; i++)
		if (i != REQUEST_GETXATTR && i != REQUEST_FORGET && i != REQUEST_NOTIFY)
			uses += mount->requests[i];
	return uses;
}

void mount_leave(struct mount *mount)
{
	atomic_store(&mount->leaving, true);
}

bool mount_is_leaving(const struct mount *mount)
{
	return atomic_load(&mount->leaving);
}
