/* --shard-done: hands packs to a command of the user, each once, in a thread beside the run that
 * packs the next one. All others are calls of the owner's thread. */
#pragma once

#include <stdbool.h>

struct handover;

/* `command` has {} for the path of a pack, and must stay. 0 or -ENOMEM. */
int handover_new(const char *command, struct handover **ret);
/* Once it was awaited. NULL is fine, also below. */
void handover_free(struct handover *handover);
/* Runs the command on a pack, once the one before was awaited. 0, CREATE_REPORTED or -errno. */
int handover_begin(struct handover *handover, const char *pack);
/* Waits for the command of the last pack, if there is one. 0; -EINTR: it was not taken, as a signal
 * came; or -ENOMEM. */
int handover_await(struct handover *handover);
/* Paths of the packs whose command failed, with ", " between; NULL: there are none. */
const char *handover_refused(const struct handover *handover);
