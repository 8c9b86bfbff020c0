#include "fs/awake.h"

#define ALONE	  512 /* requests of one reader in a row: others may wait for the device */
#define WORTH_MAX 8
#define RETRY	  16 /* what is refused, before the next try */

void awake_init(struct awake *awake)
{
	*awake = (struct awake){.worth = WORTH_MAX / 2, .taken = ATOMIC_FLAG_INIT};
}

void awake_request(struct awake *awake, uint32_t reader)
{
	unsigned streak = atomic_load_explicit(&awake->streak, memory_order_relaxed);

	if (reader == 0 || atomic_load_explicit(&awake->reader, memory_order_relaxed) != reader) {
		atomic_store_explicit(&awake->reader, reader, memory_order_relaxed);
		atomic_store_explicit(&awake->streak, 0, memory_order_relaxed);
	} else if (streak < ALONE) {
		atomic_store_explicit(&awake->streak, streak + 1, memory_order_relaxed);
	}
}

static bool is_worth_it(struct awake *awake)
{
	if (atomic_load_explicit(&awake->worth, memory_order_relaxed))
		return true;
	return atomic_fetch_add_explicit(&awake->refusals, 1, memory_order_relaxed) % RETRY ==
	       RETRY - 1;
}

bool awake_begin(struct awake *awake)
{
	return atomic_load_explicit(&awake->streak, memory_order_relaxed) >= ALONE &&
	       is_worth_it(awake) && !atomic_flag_test_and_set(&awake->taken);
}

void awake_end(struct awake *awake, bool found)
{
	unsigned worth = atomic_load_explicit(&awake->worth, memory_order_relaxed);

	if (found && worth < WORTH_MAX)
		worth++;
	else if (!found && worth)
		worth--;
	atomic_store_explicit(&awake->worth, worth, memory_order_relaxed);
	atomic_flag_clear(&awake->taken);
}
