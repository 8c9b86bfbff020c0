/* flights: an epoch of files in far storage, simulated on the planner's own code, as a line of JSON
 * for each case.
 *
 *	flights [FILES [MILLISECONDS]]	1,281,167 files, and 30 ms, unless told otherwise
 *
 * A node has a link of 10 Gbit/s, each of its connections 50 MB/s. Files have 110 kB. Workers read
 * batches side by side, file after file, and take no time to decode. What is read when is decided
 * by ahead.c and all below it; this program only moves the time on. Where there are fewer files,
 * memory is as much smaller. */
#include "base/reader.h"
#include "base/scope.h"
#include "cache/cache_internal.h"
#include "cache/fill.h"
#include "cache/plan/plan_order.h"
#include "cache/residency.h"
#include "tests/bench/far_link.h"
#include <stdio.h>
#include <string.h>

#define IMAGENET  1281167u
#define FILE_SIZE 110000u
#define STRIDE	  ((uint64_t)110592) /* whole pages */
#define GB	  1e9
#define LINK	  1.25e9 /* bytes a second */
#define RATE	  50e6
#define BATCH	  32u
#define WORKERS	  64u
#define DOLLARS	  0.4e-6 /* a request */

/* The next files that a worker reads; and whoever waits for the same file, or is ready too. */
struct worker {
	uint32_t at, end;
	struct worker *next;
};

struct sim {
	struct cache *cache;
	struct far_link link;
	uint32_t *order; /* that this node reads */
	uint32_t count, next;
	struct worker workers[WORKERS];
	struct worker *ready, **last;
	uint32_t served;
};

/* --- a cache without storage ------------------------------------------------------------------ */

static void far_hints(const struct reader *reader, struct reader_hints *ret)
{
	(void)reader;
	*ret = (struct reader_hints){.shared = true, .remote = true};
}

static const struct reader_ops far_ops = {.hints = far_hints};

static struct extent place(void *context, uint64_t number)
{
	(void)context;
	return (struct extent){.number = number,
			       .offset = number * STRIDE,
			       .file = number,
			       .file_end = number + 1,
			       .size = FILE_SIZE};
}

static struct cache *far_cache(uint32_t files, uint64_t memory)
{
	static const struct cache_source_ops ops = {.extent = place};
	static struct reader reader = {.ops = &far_ops};
	const struct cache_params params = {
		.source = {.reader = &reader, .extents = files, .ops = &ops},
		.budget = memory,
		.readahead = 16u << 20,
		.threads = 1,
		.residency = 0,
		.policy = POLICY_PIN,
	};
	struct cache *cache;

	if (cache_new(&params, &cache) < 0)
		abort();
	return cache;
}

/* --- the epoch -------------------------------------------------------------------------------- */

static void submit(struct sim *sim, struct fill *fill)
{
	const struct pool_extent *first = fill->extents[0], *last = fill->extents[fill->count - 1];
	uint64_t end = cache_page_up(last->is.offset + last->is.size);

	link_ask(&sim->link, (double)(end - first->is.offset), fill);
}

static void look(struct sim *sim)
{
	for (struct fill *fill; (fill = ahead_find(sim->cache));)
		submit(sim, fill);
}

static struct pool_extent *add_wanted(struct sim *sim, uint64_t number)
{
	const struct extent wanted = cache_extent(sim->cache, number);
	struct fill *fill = fill_new(1);

	if (!fill || pool_add(sim->cache->pool, &wanted, POOL_USED, &fill->extents[0]) < 0)
		abort();
	submit(sim, fill);
	return fill->extents[0];
}

static void set_ready(struct sim *sim, struct worker *worker)
{
	worker->next = NULL;
	*sim->last = worker;
	sim->last = &worker->next;
}

static void serve(struct sim *sim, struct worker *worker, struct pool_extent *extent)
{
	struct drops drops = {0};

	served_range(sim->cache, extent, 0, extent->is.size, &drops);
	pool_unpin(sim->cache->pool, extent);
	worker->at++;
	sim->served++;
	set_ready(sim, worker);
}

static void ask(struct sim *sim, struct worker *worker)
{
	uint64_t number = sim->order[worker->at];
	struct pool_extent *extent = pool_find(sim->cache->pool, number);

	if (!extent)
		extent = add_wanted(sim, number);
	pool_pin(sim->cache->pool, extent);
	served_asked(sim->cache, extent, true);
	plan_order_saw(plan_known_orders(sim->cache->ahead.plan), number);
	if (ahead_demand(sim->cache, &extent->is, 1))
		look(sim);
	if (extent->state == POOL_READY) {
		serve(sim, worker, extent);
	} else {
		worker->next = extent->waiters;
		extent->waiters = worker;
	}
}

/* As far as they get without waiting. */
static void run_workers(struct sim *sim)
{
	while (sim->ready) {
		struct worker *worker = sim->ready;

		sim->ready = worker->next;
		if (!sim->ready)
			sim->last = &sim->ready;
		if (worker->at == worker->end) {
			worker->at = sim->next;
			sim->next +=
				BATCH < sim->count - sim->next ? BATCH : sim->count - sim->next;
			worker->end = sim->next;
		}
		if (worker->at < worker->end)
			ask(sim, worker);
	}
}

static void fill_extent(struct sim *sim, struct pool_extent *extent)
{
	struct worker *waiting = extent->waiters;

	extent->waiters = NULL;
	pool_filled(extent);
	while (waiting) {
		struct worker *next = waiting->next;

		serve(sim, waiting, extent);
		waiting = next;
	}
	pool_unpin(sim->cache->pool, extent);
}

static void land(struct sim *sim, const struct transfer *done)
{
	struct fill *fill = done->arg;
	struct cache *cache = sim->cache;

	learner_read(&cache->ahead.learner,
		     &(struct learner_read){.bytes = (uint64_t)done->bytes,
					    .begin = (uint64_t)(done->begun * 1e9),
					    .end = (uint64_t)(sim->link.now * 1e9),
					    .ahead = fill->ahead,
					    .under_way = cache->ahead.running});
	for (unsigned i = 0; i < fill->count; i++)
		fill_extent(sim, fill->extents[i]);
	if (fill->ahead)
		ahead_done(cache);
	free(fill);
}

/* Returns its seconds. */
static double epoch(struct sim *sim, unsigned workers)
{
	struct transfer done;

	sim->last = &sim->ready;
	for (unsigned i = 0; i < workers; i++)
		set_ready(sim, &sim->workers[i]);
	for (;;) {
		run_workers(sim);
		look(sim);
		if (sim->served == sim->count)
			break;
		link_next(&sim->link, INFINITY, &done);
		land(sim, &done);
	}
	return sim->link.now;
}

/* --- cases ------------------------------------------------------------------------------------ */

struct flight_case {
	uint32_t files;
	double latency, memory; /* s, bytes */
	unsigned workers, nodes;
	bool known;
};

/* The files of the first of so many ranks. */
static uint32_t *shuffled_part(uint32_t files, unsigned ranks, uint32_t *ret_count)
{
	uint32_t *order = malloc(files * sizeof(*order));
	uint32_t count = 0;

	if (!order)
		abort();
	srandom(1);
	for (uint32_t i = 0; i < files; i++) {
		uint32_t j = (uint32_t)random() % (i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t i = 0; i < files; i += ranks)
		order[count++] = order[i];
	*ret_count = count;
	return order;
}

static void know(struct sim *sim)
{
	uint32_t *copy = malloc(sim->count * sizeof(*copy));
	struct forecast *known;

	if (!copy)
		abort();
	memcpy(copy, sim->order, sim->count * sizeof(*copy));
	if (forecast_new(copy, sim->count, NULL, &known) < 0 ||
	    plan_follow(sim->cache->ahead.plan, sim, known) < 0)
		abort();
}

static void print(const struct sim *sim, const struct flight_case *c, double seconds)
{
	double requests = (double)sim->link.requests * c->nodes;

	printf("{\"known\": %s, \"nodes\": %u, \"workers\": %u, \"memory_gb\": %.1f, "
	       "\"files_per_s\": %.0f, \"requests\": %.0f, \"dollars\": %.3f, \"bytes\": %.3f, "
	       "\"depth\": %u}\n",
	       c->known ? "true" : "false", c->nodes, c->workers, c->memory / GB,
	       sim->count * c->nodes / seconds, requests, requests * DOLLARS,
	       sim->link.bytes / ((double)sim->count * FILE_SIZE),
	       learner_depth(&sim->cache->ahead.learner, 0));
	fflush(stdout);
}

static void fly(const struct flight_case *c)
{
	static struct sim sim;
	struct transfer left;
	double seconds;

	sim = (struct sim){
		.link = {.latency = c->latency, .rate = RATE, .bandwidth = LINK, .jitter = 0.3}};
	sim.cache = far_cache(c->files, (uint64_t)c->memory);
	sim.order = shuffled_part(c->files, c->nodes, &sim.count);
	if (c->known)
		know(&sim);
	seconds = epoch(&sim, c->workers);
	print(&sim, c, seconds);
	while (link_next(&sim.link, INFINITY, &left))
		free(left.arg);
	cache_free(sim.cache);
	free(sim.order);
}

int main(int argc, char **argv)
{
	static const double memories[] = {1, 4, 16, 64};
	static const unsigned workers[] = {8, 32, WORKERS}, nodes[] = {1, 8};
	uint32_t files = argc > 1 ? (uint32_t)atoi(argv[1]) : IMAGENET;
	double latency = argc > 2 ? atof(argv[2]) / 1e3 : 0.03;

	for (unsigned i = 0; i < 48; i++) {
		struct flight_case c = {.files = files,
					.latency = latency,
					.memory = memories[i % 4] * GB,
					.workers = workers[i / 4 % 3],
					.nodes = nodes[i / 12 % 2],
					.known = i / 24 == 0};

		fly(&c);
	}
	return 0;
}
