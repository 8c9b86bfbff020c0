/* A folder, or a prefix on a server, as a dataset: all of its files are one container
 * (base/reader_members.h), whose index has their table.
 *
 * Nothing tells whether a file came or went without listing all of them, so the listing is kept as
 * an index is, and used until --relist asks for another. Whether a file is what was listed is
 * compared at each read. There are no checksums. */
#pragma once

#include "base/members.h"
#include "pack/dataset.h"
#include "pack/foreign/settings.h"

/* Takes over `members`, also where it fails; of those without list(), which a folder has none of.
 * Returns 0, or as foreign_open(). */
int members_open(struct members *members, const char *name, const struct foreign_settings *settings,
		 struct dataset **ret, struct err *err);
