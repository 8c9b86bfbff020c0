#include "fs/busy_poll.h"

#define ALONE	  512 /* requests in a row that show a single reader: with fewer, others may wait */
#define WORTH_MAX 8
#define RETRY	  16 /* one of this many refused calls tries again */

void busy_poll_init(struct busy_poll *poll)
{
	*poll = (struct busy_poll){.worth = WORTH_MAX / 2, .taken = ATOMIC_FLAG_INIT};
}

void busy_poll_request(struct busy_poll *poll, uint32_t reader)
{
	unsigned streak = poll->streak;

	if (reader == 0 || poll->reader != reader) {
		poll->reader = reader;
		poll->streak = 0;
	} else if (streak < ALONE) {
		poll->streak = streak + 1;
	}
}

bool busy_poll_begin(struct busy_poll *poll)
{
	if (poll->streak < ALONE || (!poll->worth && poll->refusals++ % RETRY != RETRY - 1))
		return false;
	return !atomic_flag_test_and_set(&poll->taken);
}

void busy_poll_end(struct busy_poll *poll, bool found)
{
	unsigned worth = poll->worth;

	if (found && worth < WORTH_MAX)
		poll->worth = worth + 1;
	else if (!found && worth)
		poll->worth = worth - 1;
	atomic_flag_clear(&poll->taken);
}
