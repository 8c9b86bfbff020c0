#include "fs/busy_poll.h"

#define ALONE	  512 /* requests in a row: with fewer, other readers may wait for the device */
#define WORTH_MAX 8
#define RETRY	  16 /* of this many calls that are refused, one tries again */

void busy_poll_init(struct busy_poll *poll)
{
	*poll = (struct busy_poll){.worth = WORTH_MAX / 2, .taken = ATOMIC_FLAG_INIT};
}

void busy_poll_request(struct busy_poll *poll, uint32_t reader)
{
	unsigned streak = atomic_load_explicit(&poll->streak, memory_order_relaxed);

	if (reader == 0 || atomic_load_explicit(&poll->reader, memory_order_relaxed) != reader) {
		atomic_store_explicit(&poll->reader, reader, memory_order_relaxed);
		atomic_store_explicit(&poll->streak, 0, memory_order_relaxed);
	} else if (streak < ALONE) {
		atomic_store_explicit(&poll->streak, streak + 1, memory_order_relaxed);
	}
}

static bool is_worth_it(struct busy_poll *poll)
{
	if (atomic_load_explicit(&poll->worth, memory_order_relaxed))
		return true;
	return atomic_fetch_add_explicit(&poll->refusals, 1, memory_order_relaxed) % RETRY ==
	       RETRY - 1;
}

bool busy_poll_begin(struct busy_poll *poll)
{
	return atomic_load_explicit(&poll->streak, memory_order_relaxed) >= ALONE &&
	       is_worth_it(poll) && !atomic_flag_test_and_set(&poll->taken);
}

void busy_poll_end(struct busy_poll *poll, bool found)
{
	unsigned worth = atomic_load_explicit(&poll->worth, memory_order_relaxed);

	if (found && worth < WORTH_MAX)
		worth++;
	else if (!found && worth)
		worth--;
	atomic_store_explicit(&poll->worth, worth, memory_order_relaxed);
	atomic_flag_clear(&poll->taken);
}
