/* seeds: how fast the seeds of an order of N files are tried, as one line of JSON.
 *
 *	seeds N [WAYS]	one thread, with each width of vectors that the processor has
 *	seeds -a N	all 2^32 seeds on all processors, for 16 files seen of one seed's order:
 *		fails unless that one is found, and no other */
#include "cache/order/seeds.h"
#include "base/exit.h"
#include "base/log.h"
#include "base/scope.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SEEN	16
#define SEED	0xb5297a4du /* whose order was seen: any */
#define SECONDS 1.0
#define THREADS 256

static double now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Readers began with the first 16 elements, all at once: each may be the first. */
static int look(uint32_t n, uint8_t *set, unsigned way_count, struct seeds **ret)
{
	static const struct seeds_way ways[] = {{0, 0, 1}, {2, 0, 1}};
	struct seeds_seen seen = {.n = n, .depth = SEEN, .first_count = SEEN, .set = set};
	struct mt19937 mt;

	mt19937_init(&mt, SEED);
	permutation_head(&mt, n, seen.firsts, SEEN);
	for (unsigned i = 0; i < SEEN; i++)
		set[seen.firsts[i] / 8] |= (uint8_t)(1 << seen.firsts[i] % 8);
	return seeds_new(&seen, ways, way_count, ret);
}

static void free_seeds(struct seeds **seeds)
{
	seeds_free(*seeds);
}

/* By the processor's time, so that others who use it do not count. */
static double rate_of(const struct seeds *seeds)
{
	struct seeds_found found[1];
	double began = now(CLOCK_THREAD_CPUTIME_ID), ended;
	uint64_t tried = 0;

	do {
		seeds_search(seeds, (uint32_t)tried, found, 1);
		tried += SEEDS_STEP;
		ended = now(CLOCK_THREAD_CPUTIME_ID);
	} while (ended - began < SECONDS);
	return (double)tried / (ended - began);
}

static void print_rates(struct seeds *seeds)
{
	const char *between = "";

	printf("{");
	for (unsigned bytes = 16; bytes <= 64; bytes *= 2)
		if (seeds_narrow(seeds, bytes) == bytes) {
			printf("%s\"%u_bytes_per_s\": %.0f", between, bytes, rate_of(seeds));
			between = ", ";
		}
	printf("}\n");
}

struct whole {
	const struct seeds *seeds;
	atomic_uint_fast64_t next;
	atomic_uint found, right;
};

static void *search(void *arg)
{
	struct whole *whole = arg;
	struct seeds_found found[1];
	uint64_t from;

	while ((from = atomic_fetch_add(&whole->next, SEEDS_STEP)) < SEEDS_ALL) {
		unsigned count = seeds_search(whole->seeds, (uint32_t)from, found, 1);

		atomic_fetch_add(&whole->found, count);
		if (count && found[0].seed == SEED)
			atomic_fetch_add(&whole->right, 1);
	}
	return NULL;
}

static int search_whole(const struct seeds *seeds)
{
	struct whole whole = {.seeds = seeds};
	pthread_t threads[THREADS];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	long count = processors < THREADS ? processors : THREADS, begun = 0;
	double began = now(CLOCK_MONOTONIC);

	while (begun < count && pthread_create(&threads[begun], NULL, search, &whole) == 0)
		begun++;
	for (long i = 0; i < begun; i++)
		pthread_join(threads[i], NULL);
	printf("{\"threads\": %ld, \"wall_s\": %.2f, \"cpu_s\": %.2f, \"found\": %u, \"right\": "
	       "%u}\n",
	       begun, now(CLOCK_MONOTONIC) - began, now(CLOCK_PROCESS_CPUTIME_ID), whole.found,
	       whole.right);
	return whole.found == 1 && whole.right == 1 ? EXIT_DONE : EXIT_FAILED;
}

int main(int argc, char **argv)
{
	bool all = argc > 1 && strcmp(argv[1], "-a") == 0;
	uint64_t n = argc > 1 + all ? strtoull(argv[1 + all], NULL, 10) : 0;
	uint64_t ways = argc > 2 + all ? strtoull(argv[2 + all], NULL, 10) : 1;
	uint8_t *set SCOPE_FREE = NULL;
	struct seeds *seeds SCOPE(free_seeds) = NULL;
	int error;

	log_init("seeds", LOG_LEVEL_NORMAL);
	if (n < SEEN || n >= PERMUTATION_LARGE || ways < 1 || ways > 2) {
		log_error("usage: seeds [-a] N [WAYS]; N is %d to %u, WAYS 1 or 2", SEEN,
			  PERMUTATION_LARGE - 1);
		return EXIT_USAGE;
	}
	set = calloc(1, n / 8 + 1);
	if (!set)
		error = -ENOMEM;
	else
		error = look((uint32_t)n, set, (unsigned)ways, &seeds);
	if (error) {
		log_error("%s", strerror(-error));
		return EXIT_FAILED;
	}
	if (all)
		return search_whole(seeds);
	print_rates(seeds);
	return EXIT_DONE;
}
