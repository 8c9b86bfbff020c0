/* The oracle over a list so long that what is left of an epoch when it has ended, some for each
 * worker, is more than a forecast waits for. */
#define N 20000
#include "cache/order/permutation.h"
#include "tests/unit/oracle_world.h"
#include "tests/unit/test.h"

static uint32_t order[N];

TEST_OF(world, an_epoch_stays_foreseen_while_the_one_before_it_ends)
{
	for (uint32_t at = 0; at < 4; at++) {
		struct epoch epoch = {.workers = 8, .batch = 256, .first_reader = 100 + 10 * at};

		permutation_of(5 + at, order, N);
		if (at >= 2)
			for (uint32_t i = 0; i < 256; i++)
				assert_true(foreseen(world, BASE + order[i]));
		read_epoch(world, order, N, &epoch);
		assert_int_equal(state_of(world).epoch, at);
	}
	assert_int_equal(state_of(world).unlocks, 0);
}
