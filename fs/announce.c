#include "fs/announce.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include <limits.h>
#include <stdio.h>

/* Where the pack is, and how it is read. */
static const char *storage_text(const struct mount *mount, const struct cache_stats *stats,
				char text[static 128])
{
	const struct reader_hints hints = reader_hints(dataset_reader(mount_tree(mount)->dataset));
	dev_t device = mount_label(mount)->device;
	char type[64];

	if (hints.remote)
		return hints.members ? "a server's, file by file" : "a server's, ranges";
	/* A URL is not far only if all of it is in the disk cache. */
	snprintf(text, 128, "%s, %s I/O",
		 device ? mountpoint_fstype(device, type) : "the disk cache",
		 stats->direct ? "direct" : "buffered");
	return text;
}

static void say_mounted(const struct mount *mount, const struct mountpoint *mountpoint)
{
	const struct dataset_info *info = dataset_info(mount_tree(mount)->dataset);
	struct mount_memory memory = mount_memory(mount);
	char files[SIZE_TEXT], bytes[SIZE_TEXT], budget[SIZE_TEXT], available[SIZE_TEXT];
	char pages[SIZE_TEXT], storage[128], pool[128], kept[64], leave[PATH_MAX + 64];
	struct cache_stats stats;

	cache_stats(mount_cache(mount), &stats);
	snprintf(pool, sizeof(pool),
		 memory.budget > memory.available ? "%s, more than the %s that are available"
						  : "%s of %s",
		 size_format(memory.budget, budget), size_format(memory.available, available));
	if (memory.residency == RESIDENCY_ALL)
		snprintf(kept, sizeof(kept), "the kernel keeps what was read");
	else if (memory.residency == 0)
		snprintf(kept, sizeof(kept), "%s", stats.policy);
	else
		snprintf(kept, sizeof(kept), "%s, page cache %s", stats.policy,
			 size_format(memory.residency, pages));
	if (mount_settings(mount)->command)
		snprintf(leave, sizeof(leave), "until COMMAND ends");
	else if (mountpoint->handed_over)
		snprintf(leave, sizeof(leave),
			 "mounted by the caller, who should have made it read-only");
	else
		snprintf(leave, sizeof(leave), "unmount: fusermount3 -u %s", mountpoint->path);
	log_info("%s on %s: %s, %s; %s; pool %s, %s; %s", mount_label(mount)->name,
		 mountpoint->path, count_noun(info->super->files, "file", files),
		 size_format(info->super->bytes, bytes), storage_text(mount, &stats, storage), pool,
		 kept, leave);
}

void announce(const struct mount *mount, const struct mountpoint *mountpoint)
{
	const struct settings *settings = mount_settings(mount);

	if (!settings->quiet)
		say_mounted(mount, mountpoint);
	/* mount(8) passes `rw` on wherever a line of fstab does not say `ro`. */
	if (settings->rw)
		log_notice(
			"'-o rw' changes nothing: the mount is read-only; a folder of another "
			"filesystem takes writes over it, see 'A writable folder' in foldfs(1)");
	if (settings->suid || settings->dev)
		log_notice(
			"'-o suid' and 'dev' change nothing: no program of the mount gives "
			"rights, and no file of it is a device");
	if (dataset_info(mount_tree(mount)->dataset)->relocated)
		log_notice(
			"%s: rewritten by another LMDB tool; its files were searched for. Pack it "
			"again for a faster mount",
			mount_label(mount)->name);
}

void announce_shared(const struct mount *mount, const char *path, const struct buf *here,
		     const struct buf *there)
{
	if (!mount_settings(mount)->quiet)
		log_info("%s: already mounted on %s", mount_label(mount)->name, path);
	/* The options of the mount that is there hold. */
	if (here->len || there->len)
		log_notice(
			"%s: was mounted %s%s%s%s%s, and stays so; to have other options, unmount "
			"it first",
			path, here->len ? "without " : "", here->len ? here->data : "",
			here->len && there->len ? " and " : "", there->len ? "with " : "",
			there->len ? there->data : "");
}
