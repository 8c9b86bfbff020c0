/* --shard-done: each pack of a set is handed to a command of the user, while the next one is
 * packed. No more than two lie here: handover_begin() waits until the pack before has been taken.
 *
 * A pack is taken once the command has ended with status 0. Then it stands in the list PACK.taken,
 * by what it holds of the folder (pack/shard.h) and in which state (slices_state()), and a run that
 * resumes does not make it again, unless one of its files has changed since. A
 * run that was killed in between hands it over again, once its command has ended: until then that
 * has the lock of the list. A command that fails is repeated, with pauses, for as many seconds
 * since it failed first as --retry says.
 *
 * One thread calls this; another one, of its own, runs the command. */
#pragma once

#include "pack/shard.h"
#include <stdbool.h>

struct create;
struct handover;

/* Opens the list of earlier runs, or makes one. *ret stays NULL without --shard-done. 0,
 * CREATE_REPORTED or -ENOMEM. */
int handover_new(struct create *create, struct handover **ret);
void handover_free(struct handover *handover); /* NULL is fine; the command has ended */

/* Which pack of the set it is. */
struct handover_pack {
	const char *path;
	struct shard shard;
	uint64_t state; /* slices_state() */
};

/* What an earlier run did with a pack: 1: it was taken, and *ret_status is that of the run that
 * made it; 0: it was not, or files of it have changed since; CREATE_REPORTED: another one of that
 * number was. */
int handover_was_taken(const struct handover *handover, const struct handover_pack *pack,
		       int *ret_status);

/* Hands over a pack that is finished, with the exit status of the run that made it. Returns as
 * handover_end() of the one before, or -errno. */
int handover_begin(struct handover *handover, const struct handover_pack *pack, int status);

/* Waits until the pack that was handed over last has been taken; if not `repeats`, a command that
 * fails is not repeated any more. Returns 0; CREATE_REPORTED: it was not taken; or -EINTR: nor was
 * it, as a signal came. NULL, and without a pack, is 0. */
int handover_end(struct handover *handover, bool repeats);
