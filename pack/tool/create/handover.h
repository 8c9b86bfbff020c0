/* --shard-done: each pack of a set is handed to a command of the user, once, while the next one is
 * packed. No more than two lie here: handover_begin() waits until the command before has ended. A
 * pack whose command fails stays, and the run goes on; it is named at the end.
 *
 * One thread calls this; another one, of its own, runs the command. */
#pragma once

struct handover;

/* `command` has a {} for the path of a pack. 0 or -ENOMEM. */
int handover_new(const char *command, struct handover **ret);
void handover_free(struct handover *handover); /* NULL is fine; the command has ended */

/* Hands over a pack that is finished. Returns as handover_end() of the one before, or -errno. */
int handover_begin(struct handover *handover, const char *path);

/* Waits for the command of the pack that was handed over last. Returns 0, or -EINTR: a signal came,
 * and the pack was not taken. NULL, and without a pack, is 0. */
int handover_end(struct handover *handover);

/* Names the packs that were not taken. Returns 0, or CREATE_REPORTED: there are some. */
int handover_check(const struct handover *handover);
