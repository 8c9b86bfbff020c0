#include "fs/announce.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include <limits.h>
#include <stdio.h>

static const char *choose_unmount(const struct mount *mount, const struct mountpoint *mountpoint,
				  char *buf, size_t size)
{
	const char *path = mountpoint->path;

	if (mount_settings(mount)->command)
		return "until COMMAND ends";
	if (mountpoint->handed_over)
		snprintf(buf, size, "mounted by the caller, who should have made it read-only");
	else
		snprintf(buf, size, "unmount: fusermount3 -u %s", path);
	return buf;
}

static const char *kept_text(uint64_t residency, const struct cache_stats *stats, char text[64])
{
	char size[SIZE_TEXT];

	if (residency == RESIDENCY_ALL)
		return "the kernel keeps what was read";
	if (residency == 0)
		return stats->policy;
	snprintf(text, 64, "%s, page cache %s", stats->policy, size_format(residency, size));
	return text;
}

static const char *pool_text(const struct mount_memory *memory, char text[static 128])
{
	bool over = memory->budget > memory->available;
	char budget[SIZE_TEXT], available[SIZE_TEXT];

	snprintf(text, 128, over ? "%s, more than the %s that are available" : "%s of %s",
		 size_format(memory->budget, budget), size_format(memory->available, available));
	return text;
}

/* Where the pack is, and how it is read. */
static const char *storage_text(const struct mount *mount, const struct cache_stats *stats,
				char text[128])
{
	char type[64];

	if (reader_hints(dataset_reader(mount_tree(mount)->dataset)).far)
		return "a server's, ranges";
	/* A URL is not far only if all of it is in the disk cache. */
	snprintf(text, 128, "%s, %s I/O",
		 mount_label(mount)->device ? mountpoint_fstype(mount_label(mount)->device, type)
					    : "the disk cache",
		 stats->direct ? "direct" : "buffered");
	return text;
}

void announce(const struct mount *mount, const struct mountpoint *mountpoint)
{
	const struct settings *settings = mount_settings(mount);
	const struct dataset_info *info = dataset_info(mount_tree(mount)->dataset);
	char files[SIZE_TEXT], bytes[SIZE_TEXT], pool[128];
	char storage[128], leave[PATH_MAX + 64], kept[64];
	struct mount_memory memory = mount_memory(mount);
	struct cache_stats stats;

	cache_stats(mount_cache(mount), &stats);
	if (!settings->quiet)
		log_info("%s on %s: %s, %s; %s; pool %s, %s; %s", mount_label(mount)->name,
			 mountpoint->path, count_noun(info->super->files, "file", files),
			 size_format(info->super->bytes, bytes),
			 storage_text(mount, &stats, storage), pool_text(&memory, pool),
			 kept_text(memory.residency, &stats, kept),
			 choose_unmount(mount, mountpoint, leave, sizeof(leave)));
	/* mount(8) passes `rw` on wherever a line of fstab does not say `ro`. */
	if (settings->rw)
		log_notice(
			"'-o rw' changes nothing: the mount is read-only; a folder of another "
			"filesystem takes writes over it, see 'A writable folder' in foldfs(1)");
	if (settings->suid || settings->dev)
		log_notice(
			"'-o suid' and 'dev' change nothing: no program of the mount gives "
			"rights, and no file of it is a device");
	if (info->relocated)
		log_notice(
			"%s: rewritten by another LMDB tool; its files were searched for. Pack it "
			"again for a faster mount",
			mount_label(mount)->name);
}

void announce_shared(const struct mount *mount, const char *path)
{
	if (!mount_settings(mount)->quiet)
		log_info("%s: already mounted on %s", mount_label(mount)->name, path);
	/* The options of the mount that is there hold. */
	SCOPE(buf_release) struct buf here = BUF_INIT, there = BUF_INIT;

	if (mount_differs(mount, path, &here, &there) < 0 || (!here.len && !there.len))
		return;
	log_notice(
		"%s: was mounted %s%s%s%s%s, and stays so; to have other options, unmount it first",
		path, here.len ? "without " : "", here.len ? here.data : "",
		here.len && there.len ? " and " : "", there.len ? "with " : "",
		there.len ? there.data : "");
}
