/* Finding the seed of an order: cache/order/seeds.h. All 2^32 seeds are tried where FOLDFS_TEST_BIG
 * is set, which takes minutes. */
#include "cache/order/seeds.h"
#include "tests/unit/test.h"
#include <stdlib.h>

#define SEEN	     16
#define COMPARED     10000 /* seeds */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct seeds_way plain[] = {{0, 0, 1}};

/* Odd, even, powers of two, primes, and the sizes of known datasets. */
static const uint32_t sizes[] = {2,    3,     16,    17,     97,      200,	1000,
				 1024, 50000, 65536, 999983, 1281167, 14197122, 200000000};

#define MOST (2 * SEEDS_STEP) /* of three files any seed is right, in two ways */

static struct seeds_found found[MOST];

/* What is seen of a seed's permutation: the first 16 elements of one way, all by fresh readers. */
struct sight {
	struct seeds_seen seen;
	uint8_t *set;
	struct seeds *seeds;
};

static void see(struct sight *sight, uint32_t index)
{
	struct seeds_seen *seen = &sight->seen;

	sight->set[index / 8] |= (uint8_t)(1 << index % 8);
	if (seen->first_count < SEEDS_FIRSTS)
		seen->firsts[seen->first_count++] = index;
}

/* The places of the permutation that a way compares: at most `most`, in `ret`. From the whole one
 * where `wholly`, so that what is tested does not test itself. */
static unsigned places_of(uint32_t seed, uint32_t n, const struct seeds_way *way, bool wholly,
			  unsigned most, uint32_t *ret)
{
	uint32_t count = way->start + way->stride * (most - 1) + 1, head[SEEDS_LAST];
	uint32_t *order = wholly ? malloc(n * sizeof(*order)) : head;
	struct mt19937 mt;
	unsigned found_places = 0;

	count = count < n ? count : n;
	count = count < SEEDS_LAST ? count : SEEDS_LAST;
	assert_non_null(order);
	mt19937_init(&mt, seed);
	mt19937_skip(&mt, way->skip);
	if (wholly)
		permutation_next(&mt, order, n);
	else
		permutation_head(&mt, n, order, count);
	for (uint32_t place = way->start; place < count; place += way->stride)
		ret[found_places++] = order[place];
	if (wholly)
		free(order);
	return found_places;
}

static void see_order(struct sight *sight, uint32_t seed, uint32_t n, const struct seeds_way *way)
{
	uint32_t places[SEEN];
	unsigned count = places_of(seed, n, way, n <= 100000, SEEN, places);

	for (unsigned i = 0; i < count; i++)
		see(sight, places[i]);
}

/* Whether that seed's permutation has what was seen, in that way. */
static bool is_right(const struct sight *sight, uint32_t seed, const struct seeds_way *way)
{
	uint32_t places[SEEN];
	unsigned count = places_of(seed, sight->seen.n, way, false, sight->seen.depth, places);

	for (unsigned i = 0; i < count; i++)
		if (i == 0 ? !seeds_seen_begins(&sight->seen, places[i])
			   : !seeds_seen_has(&sight->seen, places[i]))
			return false;
	return count > 0;
}

static void sight_begin(struct sight *sight, uint32_t n, unsigned depth)
{
	*sight = (struct sight){.seen = {.n = n, .depth = depth}, .set = calloc(1, n / 8 + 1)};
	assert_non_null(sight->set);
	sight->seen.set = sight->set;
}

static void sight_end(struct sight *sight)
{
	seeds_free(sight->seeds);
	free(sight->set);
}

static void sight_of(struct sight *sight, uint32_t seed, uint32_t n, unsigned depth)
{
	sight_begin(sight, n, depth);
	see_order(sight, seed, n, plain);
	assert_int_equal(seeds_new(&sight->seen, plain, 1, &sight->seeds), 0);
}

static bool finds(const struct seeds *seeds, uint32_t seed, unsigned way)
{
	unsigned count = seeds_search(seeds, seed / SEEDS_STEP * SEEDS_STEP, found, MOST);

	assert_true(count <= MOST);
	for (unsigned i = 0; i < count; i++)
		if (found[i].seed == seed && found[i].way == way)
			return true;
	return false;
}

TEST(the_seed_is_found_whatever_the_number_of_files)
{
	const uint32_t seeds[] = {0, 191, 192, 65535, 65536, 0x55555554, 0x80000000, 0xffffffff};

	for (unsigned s = 0; s < COUNT(sizes); s++)
		for (unsigned i = 0; i < COUNT(seeds); i++) {
			struct sight sight;

			sight_of(&sight, seeds[i], sizes[s], SEEN);
			assert_true(finds(sight.seeds, seeds[i], 0));
			sight_end(&sight);
		}
}

TEST(the_search_finds_the_seeds_of_what_was_seen_with_vectors_of_any_width)
{
	for (unsigned s = 0; s < COUNT(sizes) && sizes[s] <= 100000; s++)
		for (unsigned depth = 1; depth <= 3; depth++) {
			static bool right[COMPARED];
			struct sight sight;

			sight_of(&sight, 12345, sizes[s], depth);
			for (uint32_t i = 0; i < COMPARED; i++)
				right[i] = is_right(&sight, 3 * SEEDS_STEP + i, plain);
			for (unsigned bytes = 16; bytes <= 64; bytes *= 2) {
				unsigned count, next = 0;

				assert_true(seeds_narrow(sight.seeds, bytes) <= bytes);
				count = seeds_search(sight.seeds, 3 * SEEDS_STEP, found, MOST);
				for (uint32_t i = 0; i < COMPARED; i++) {
					bool is = next < count &&
						  found[next].seed == 3 * SEEDS_STEP + i;

					assert_int_equal(is, right[i]);
					next += is;
				}
			}
			sight_end(&sight);
		}
}

/* Sixteen workers in any order: the sixteen elements are a set. Where a first of 16 in 1,000 and
 * then 15 of 16 / 1,000 each are right by chance, one in 10^28 is. */
TEST(of_a_thousand_files_sixteen_name_one_seed)
{
	const uint64_t end = getenv("FOLDFS_TEST_BIG") ? SEEDS_ALL : 20 * SEEDS_STEP;

	for (uint32_t seed = 5; seed < 20 * SEEDS_STEP; seed += (uint32_t)(end / 6)) {
		struct sight sight;
		unsigned count = 0;

		sight_of(&sight, seed, 1000, SEEN);
		for (uint64_t from = 0; from < end; from += SEEDS_STEP) {
			unsigned here =
				seeds_search(sight.seeds, (uint32_t)from, found, SEEDS_STEP);

			if (here)
				assert_int_equal(found->seed, seed);
			count += here;
		}
		assert_int_equal(count, 1);
		sight_end(&sight);
	}
}

/* Skipped outputs, places of ranks, several ways with the same first output, and the last that is
 * allowed: each, beside its neighbour, finds its seed by the number of its way. */
static const struct seeds_way ways[] = {
	{0, 0, 1}, {0, 0, 2}, {0, 0, 8}, {0, 1, 2}, {0, 2, 1},	{2, 0, 1},  {1, 1, 1},
	{0, 7, 8}, {4, 3, 2}, {0, 5, 9}, {0, 0, 9}, {0, 3, 10}, {0, 20, 1}, {150, 0, 1},
};

TEST(each_way_finds_its_seed)
{
	const uint32_t some[] = {3, 200, 1024, 50000, 1281167};

	for (unsigned s = 0; s < COUNT(some); s++)
		for (unsigned way = 0; way < COUNT(ways); way++) {
			const uint32_t seed = 0xfffe1234u + 5000 * way;
			const unsigned mine = way % 2;
			struct sight sight;

			sight_begin(&sight, some[s], 6);
			see_order(&sight, seed, some[s], &ways[way]);
			if (sight.seen.first_count > 0) { /* there is such a place */
				assert_int_equal(
					seeds_new(&sight.seen, &ways[way - mine], 2, &sight.seeds),
					0);
				assert_true(finds(sight.seeds, seed, mine));
			}
			sight_end(&sight);
		}
}

/* Elements that an earlier swap moved pass the sieve by chance only. */
TEST(a_late_start_misses_one_in_sixty_four_at_most)
{
	const uint32_t some[] = {200, 1000, 5000};

	for (unsigned s = 0; s < COUNT(some); s++) {
		const struct seeds_way way = {0, 15, 1};
		unsigned matching = 0, count;
		struct sight sight;

		sight_begin(&sight, some[s], 1);
		see_order(&sight, 1, some[s], &way);
		assert_int_equal(seeds_new(&sight.seen, &way, 1, &sight.seeds), 0);
		count = seeds_search(sight.seeds, 0, found, SEEDS_STEP);
		for (uint32_t seed = 0; seed < SEEDS_STEP; seed++)
			matching += is_right(&sight, seed, &way);
		assert_true(matching > 0);
		assert_in_range(count, matching - matching / 64 - 8, matching);
		sight_end(&sight);
	}
}

TEST(a_file_that_was_not_seen_ends_the_match)
{
	struct sight sight;
	uint32_t head[SEEN];
	struct mt19937 mt;

	sight_of(&sight, 9, 50000, SEEN);
	mt19937_init(&mt, 9);
	permutation_head(&mt, 50000, head, SEEN);
	for (unsigned i = 1; i < SEEN; i++) {
		sight.set[head[i] / 8] &= (uint8_t) ~(1 << head[i] % 8);
		assert_false(finds(sight.seeds, 9, 0));
		sight.set[head[i] / 8] |= (uint8_t)(1 << head[i] % 8);
	}
	assert_true(finds(sight.seeds, 9, 0));
	sight_end(&sight);
}

TEST(what_there_is_no_room_for_is_counted)
{
	struct seeds_found two[3] = {[2] = {12345, 67}};
	unsigned all;
	struct sight sight;

	sight_of(&sight, 9, 200, 1);
	all = seeds_search(sight.seeds, 0, found, SEEDS_STEP);
	assert_int_equal(seeds_search(sight.seeds, 0, two, 2), all);
	assert_true(all > SEEDS_STEP / 200 * SEEN / 2);
	assert_memory_equal(two, found, 2 * sizeof(*two));
	assert_int_equal(two[2].seed, 12345);
	sight_end(&sight);
}

TEST(without_a_way_nothing_is_found)
{
	struct sight sight;

	sight_begin(&sight, 10, 1);
	see_order(&sight, 1, 10, plain);
	assert_int_equal(seeds_new(&sight.seen, plain, 0, &sight.seeds), 0);
	assert_int_equal(seeds_search(sight.seeds, 0, found, SEEDS_STEP), 0);
	sight_end(&sight);
}
