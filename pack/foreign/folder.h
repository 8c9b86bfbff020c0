/* The files of a folder as members: base/members.h. Each is opened for each read, below the folder
 * as it was opened first, and never by a symbolic link, so that none leads outside. What was listed
 * of it is compared after the read: its size, and the time of the last write.
 *
 * On a filesystem of other machines each takes round trips, so that many are read side by side, by
 * threads of the folder, and reads that fail are repeated, as those of a pack are
 * (base/outage.h), after the folder was opened again; on others the caller's thread reads, directly
 * where it can be done. */
#pragma once

#include "base/members.h"
#include "pack/scan.h"

/* `retry` and `notice`: the seconds, and what is told, of base/outage.h. Returns 0, -ENOTDIR,
 * -ENOMEM, or what open(2) gave. */
int folder_open(const char *path, uint64_t retry, void (*notice)(const char *line),
		struct members **ret);

/* Adds all that is in it: pack/scan.h. */
int folder_scan(const struct members *folder, const struct scan_watch *watch,
		const struct scan_into *into, struct err *err);
