/* The dataset as what the cache reads from: the one file that knows both. */
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "fs/inval.h"
#include "fs/mount_internal.h"
#include "fs/notify_store.h"
#include "lists/lists.h"
#include <string.h>

#define NAMED_FILES 16 /* unreadable files that are named, at most */

/* The most files in all lists that are found for a file. The oracle keeps 8 bytes of each: 512 MiB
 * at most. 24 lists of ImageNet's training files take half of that. */
#define LISTS_FILES ((uint64_t)64 << 20)

static struct extent source_extent(void *context, uint64_t number)
{
	const struct mount *mount = context;
	const struct dataset_extent x = dataset_extent(mount->dataset, number);

	return (struct extent){.number = number,
			       .offset = x.offset,
			       .file = x.file,
			       .file_end = x.file_end,
			       .size = x.size};
}

static int source_check(void *context, uint64_t extent, const struct iovec *iov, int count)
{
	const struct mount *mount = context;

	return mount->settings->verify == 0 ? dataset_check(mount->dataset, extent, iov, count) : 0;
}

static int source_unchanged(void *context, uint64_t extent)
{
	const struct mount *mount = context;

	return dataset_unchanged(mount->dataset, extent);
}

/* The kernel has these bytes now, though the pool owns them. */
static void source_drop(void *context, uint64_t extent)
{
	const struct mount *mount = context;

	if (mount->inval)
		inval_add(mount->inval, extent, dataset_extent(mount->dataset, extent).size);
}

/* The name of the pack, for messages. */
static const char *pack_name_of(const struct mount *mount, uint64_t extent)
{
	const char *name = dataset_pack_name(mount->dataset, extent);

	return name ? name : mount->label.path;
}

/* Of a folder, or a prefix, each file may have changed by itself. */
static const char *failure_of(const struct mount *mount, int error)
{
	bool members = reader_hints(dataset_reader(mount->dataset)).members;

	if (members && error == -ESTALE)
		return "it has changed since it was listed; '--relist' lists all anew";
	if (members && error == -ENOENT)
		return "it is gone since it was listed; '--relist' lists all anew";
	return error == -EBADMSG   ? "checksum mismatch"
	       : error == -ENODATA ? "the pack is truncated"
				   : strerror(-error);
}

/* A dying disk must not fill the log: the first files are named, then the count is logged each time
 * it has doubled. */
static void log_failure(const struct mount *mount, uint64_t extent, int error, uint64_t bad)
{
	SCOPE(buf_release) struct buf path = BUF_INIT;
	struct dataset_extent x = dataset_extent(mount->dataset, extent);
	char count[SIZE_TEXT];

	if (bad > NAMED_FILES && (bad & (bad - 1)) == 0)
		log_error("%s: %s could not be read so far; the first %d were named",
			  mount->label.path, count_noun(bad, "file", count), NAMED_FILES);
	if (bad <= NAMED_FILES && dataset_path(mount->dataset, x.entry, &path) == 0)
		log_error("%s: '%s' at %llu: %s", pack_name_of(mount, extent), path.data,
			  (unsigned long long)x.from, failure_of(mount, error));
}

/* Whether no file can be checked; logged once. */
static bool checksums_are_lost(struct mount *mount)
{
	struct err err = {0};

	if (atomic_load(&mount->checksums_logged))
		return true;
	if (dataset_load(mount->dataset, DATASET_CHECKSUMS, &err) != -EBADMSG)
		return false;
	if (!atomic_exchange(&mount->checksums_logged, true))
		log_error(
			"%s: no file can be read but with '--verify=off': %s; "
			"'foldpack verify' lists all that is damaged",
			mount->label.path, err_text(&err, -EBADMSG));
	return true;
}

/* Logs a line for each file, but one for all files if the pack was replaced or its checksums are
 * lost. */
static void source_failed(void *context, uint64_t extent, int error)
{
	struct mount *mount = context;
	uint32_t entry = dataset_extent(mount->dataset, extent).entry;
	uint8_t bit = (uint8_t)(1 << entry % 8);
	uint64_t bad;

	if (atomic_fetch_or(&mount->bad[entry / 8], bit) & bit)
		return; /* not the first time for this file */
	bad = atomic_fetch_add(&mount->bad_files, 1) + 1;
	atomic_fetch_add(&mount->damaged_files, error == -EBADMSG || error == -ENODATA);
	if (error == -EBADMSG && mount->settings->verify == 0 && checksums_are_lost(mount))
		return;
	/* A server that lost the file says so, too. */
	if (error == -ESTALE && source_unchanged(mount, extent) == -ESTALE) {
		if (!atomic_exchange(&mount->stale_logged, true))
			log_error(
				"%s: was written to while mounted; reads fail until it is "
				"mounted again",
				pack_name_of(mount, extent));
	} else {
		log_failure(mount, extent, error, bad);
	}
}

static uint64_t source_kind(void *context, uint64_t extent)
{
	const struct mount *mount = context;

	return dataset_suffix(mount->dataset, dataset_extent(mount->dataset, extent).entry);
}

static int source_lists(void *context, uint64_t extent, cache_list_fn *found, void *arg)
{
	const struct mount *mount = context;

	return lists_find(mount->dataset, extent, LISTS_FILES, found, arg);
}

/* The kernel takes bytes only of files that it knows. */
static bool source_may_push(void *context, uint64_t extent)
{
	const struct mount *mount = context;

	return mount->store &&
	       notify_store_may(mount->store, dataset_extent(mount->dataset, extent).entry);
}

struct cache_source mount_source(struct mount *mount)
{
	static const struct cache_source_ops ops = {
		.extent = source_extent,
		.check = source_check,
		.unchanged = source_unchanged,
		.drop = source_drop,
		.may_push = source_may_push,
		.failed = source_failed,
		.kind = source_kind,
		.lists = source_lists,
	};

	return (struct cache_source){.ops = &ops,
				     .context = mount,
				     .reader = dataset_reader(mount->dataset),
				     .extents = dataset_extents(mount->dataset),
				     .notice = log_notice_line};
}
