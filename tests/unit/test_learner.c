/* What storage charges, on simulated storage: cache/plan/learner.h.
 *
 * A device is a queue of requests and a rule that says which of them move on and how fast. Readers
 * ask one small read after another; the stream keeps learner_depth() reads of learner_run() bytes
 * under way. */
#include "base/math.h"
#include "cache/plan/learner.h"
#include "tests/unit/test.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define US  1e3
#define MS  1e6
#define S   1e9

enum kind {
	SHARED,	  /* each waits `latency`, then all share the rate; `parallel` at once */
	THROTTLE, /* one after the other, each as long as its request or its bytes are worth */
	SLICES,	  /* a budget of requests and of bytes for each slice of time, as the kernel does */
	DISK,	  /* one after the other, with a seek unless it goes on where the last ended */
};

struct model {
	const char *name;
	enum kind kind;
	double latency, rate, each; /* ns; bytes a ns in all; bytes a ns of one request */
	unsigned parallel;
	double iops, slice; /* a second; ns */
};

static const struct model nvme = {"nvme", SHARED, 80 * US, 1.5, 1.5, 4, 0, 0};
static const struct model fast = {"fast nvme", SHARED, 80 * US, 7, 2.5, 64, 0, 0};
static const struct model net = {"net", SHARED, 500 * US, 1, 1, 64, 0, 0};
static const struct model cluster = {"cluster", SHARED, 1000 * US, 10, 1.5, 64, 0, 0};
static const struct model sata = {"sata", THROTTLE, 0, .5, 0, 0, 12000, 0};
static const struct model gp3 = {"gp3", THROTTLE, 0, .125, 0, 0, 3000, 0};
static const struct model hdd = {"hdd", THROTTLE, 0, .18, 0, 0, 120, 0};
static const struct model disk = {"disk", DISK, 8 * MS, 1 / 5.5, 0, 0, 0, 0};
static const struct model sata_slices = {"sata by slices", SLICES, 0, .5, 0, 0, 12000, 20 * MS};
static const struct model gp3_slices = {"gp3 by slices", SLICES, 0, .125, 0, 0, 3000, 20 * MS};
static const struct model hdd_slices = {"hdd by slices", SLICES, 0, .18, 0, 0, 120, 100 * MS};

static const struct model sata_long = {"sata by long slices", SLICES, 0, .5, 0, 0, 12000, 100 * MS};

static const struct model *const models[] = {&nvme,	   &fast,	&net,	     &cluster,
					     &sata,	   &gp3,	&hdd,	     &disk,
					     &sata_slices, &gp3_slices, &hdd_slices, &sata_long};
#define MODELS (sizeof(models) / sizeof(models[0]))

/* --- a device ------------------------------------------------------------------------------- */

struct request {
	bool ahead;
	unsigned reader;
	uint64_t bytes, offset;
	double begin;
	double wait, left;    /* ns before the bytes, < 0: not begun; bytes */
	double noise, hiccup; /* a factor; ns */
};

#define MOST 512

struct world {
	const struct model *model;
	double now;
	struct request queue[MOST];
	unsigned queued;
	double noise; /* share */
	uint64_t seed;
	uint64_t position;			      /* of a disk's head */
	double slice_begin, slice_reads, slice_bytes; /* spent */

	struct learner learner;
	uint64_t fixed_run;   /* of the stream, unless 0; */
	unsigned fixed_depth; /* and so many at once */
	unsigned most;	      /* of the stream that readers need */
	unsigned readers;
	double next_read[16]; /* when each asks again; < 0: waits */
	bool pauses, silent;  /* the stream */
	bool known;	      /* it is of a known order, not a pass over everything */
	uint64_t next_ahead;
	unsigned running; /* reads ahead */

	/* of a measurement */
	uint64_t ahead_bytes, wanted_bytes, wanted, changes, aheads, seen;
	double wanted_time;
	unsigned deepest, shallowest;
	uint64_t largest, smallest, widest; /* runs; gap */
	uint64_t last_run;
	unsigned last_depth;
};

static double chance(struct world *w)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(w->seed >> 11) / (double)((uint64_t)1 << 53);
}

/* When the budgets of requests and bytes allow one more. */
static double slice_wait(struct world *w, uint64_t bytes)
{
	const struct model *m = w->model;
	double reads = m->iops / S * m->slice, volume = m->rate * m->slice;
	double whole = (double)(uint64_t)((w->now - w->slice_begin) / m->slice), first, k;

	w->slice_begin += whole * m->slice;
	w->slice_reads -= whole * reads;
	w->slice_bytes -= whole * volume;
	w->slice_reads = fmax(w->slice_reads, 0) + 1 + (double)(bytes / (1280 * KIB));
	w->slice_bytes = fmax(w->slice_bytes, 0) + (double)bytes;
	k = fmax(w->slice_reads / reads, w->slice_bytes / volume);
	first = w->slice_begin + (double)(uint64_t)k * m->slice;
	return first > w->now ? first - w->now : 0;
}

/* What a request will take when it is the only one. */
static double alone(struct world *w, const struct request *r)
{
	const struct model *m = w->model;
	double bytes = (double)r->bytes;

	switch (m->kind) {
	case SHARED:
		return m->latency;
	case THROTTLE:
		return fmax(bytes / m->rate, S / m->iops);
	case DISK:
		return bytes / m->rate + (r->offset == w->position ? 0 : m->latency);
	default:
		return slice_wait(w, r->bytes) + 80 * US + bytes / 1.5;
	}
}

static void start(struct world *w, struct request *r)
{
	bool shared = w->model->kind == SHARED;

	if (r->wait >= 0)
		return;
	r->wait = alone(w, r) * r->noise + r->hiccup;
	r->left = shared ? (double)r->bytes * r->noise : 0;
	w->position = r->offset + r->bytes;
}

static unsigned in_service(const struct world *w)
{
	unsigned most = w->model->kind == SHARED ? w->model->parallel : 1;

	return w->queued < most ? w->queued : most;
}

/* Bytes a ns that each of those beyond their latency gets. */
static double rate_of_each(const struct world *w)
{
	unsigned count = 0;

	for (unsigned i = 0; i < in_service(w); i++)
		count += w->queue[i].wait <= 0;
	return fmin(count ? w->model->rate / count : 0, w->model->each);
}

static void submit(struct world *w, struct request r)
{
	assert_true(w->queued < MOST);
	r.begin = w->now;
	r.wait = -1;
	r.noise = 1 + w->noise * (2 * chance(w) - 1);
	r.hiccup = w->noise > 0 && chance(w) < 0.001 ? 10 * MS : 0;
	w->queue[w->queued++] = r;
}

/* --- those who ask -------------------------------------------------------------------------- */

static uint64_t run_now(const struct world *w)
{
	return w->fixed_run ? w->fixed_run : learner_run(&w->learner);
}

static unsigned depth_now(const struct world *w)
{
	unsigned wanted = 0;

	for (unsigned i = 0; i < w->readers; i++)
		wanted += w->next_read[i] < 0;
	return w->fixed_depth ? w->fixed_depth : learner_depth(&w->learner, wanted);
}

/* A pass over everything, or what a known order brings: with pauses, on for 20 ms, off for 30. */
static bool streams(const struct world *w)
{
	return !w->silent && (w->fixed_depth || w->known || !learner_alone(&w->learner)) &&
	       (!w->pauses || (uint64_t)w->now % 50000000 < 20000000);
}

/* A record, or what lies around it as well. */
static uint64_t wanted_bytes(struct world *w)
{
	uint64_t bytes = 20 * KIB + (uint64_t)(chance(w) * 180 * 1024);

	learner_wanted(&w->learner, bytes);
	return learner_seek_bound(&w->learner) && streams(w) ? run_now(w) : bytes;
}

static bool is_idle(const struct world *w)
{
	for (unsigned i = 0; i < w->readers; i++)
		if (w->next_read[i] < 0)
			return false;
	return true;
}

static void ask(struct world *w)
{
	if (is_idle(w))
		learner_idle(&w->learner, (uint64_t)w->now);
	for (unsigned i = 0; i < w->readers; i++) {
		if (w->next_read[i] < 0 || w->next_read[i] > w->now)
			continue;
		w->next_read[i] = -1;
		submit(w, (struct request){.reader = i,
					   .bytes = wanted_bytes(w),
					   .offset = (uint64_t)(chance(w) * 1e12)});
	}
	while (streams(w) && w->running < w->most && w->running < depth_now(w)) {
		uint64_t bytes = run_now(w);

		submit(w, (struct request){.ahead = true, .bytes = bytes, .offset = w->next_ahead});
		w->next_ahead += bytes;
		w->running++;
	}
}

static void note_choice(struct world *w)
{
	unsigned depth = w->learner.depth;

	w->changes += depth != w->last_depth || w->learner.run != w->last_run;
	w->last_depth = depth;
	w->last_run = w->learner.run;
	w->deepest = (unsigned)max(w->deepest, depth);
	w->shallowest = (unsigned)min(w->shallowest, depth);
	w->largest = max(w->largest, w->learner.run);
	w->smallest = min(w->smallest, w->learner.run);
	w->widest = max(w->widest, learner_gap(&w->learner));
}

static void finish(struct world *w, const struct request *r)
{
	learner_read(&w->learner, &(struct learner_read){.bytes = r->bytes,
							 .begin = (uint64_t)r->begin,
							 .end = (uint64_t)w->now,
							 .ahead = r->ahead,
							 .under_way = w->running});
	if (r->ahead) {
		w->running--;
		w->aheads++;
		w->ahead_bytes += r->bytes;
	} else {
		w->next_read[r->reader] = w->now + 100 * US * chance(w);
		w->wanted++;
		w->wanted_bytes += r->bytes;
		w->wanted_time += w->now - r->begin;
	}
	note_choice(w);
}

/* --- time ----------------------------------------------------------------------------------- */

static double next_event(struct world *w)
{
	double soonest = 1 * MS, rate;

	for (unsigned i = 0; i < in_service(w); i++)
		start(w, &w->queue[i]);
	rate = rate_of_each(w);
	for (unsigned i = 0; i < in_service(w); i++) {
		const struct request *r = &w->queue[i];

		soonest = fmin(soonest, r->wait > 0 ? r->wait : r->left / rate);
	}
	for (unsigned i = 0; i < w->readers; i++)
		if (w->next_read[i] > w->now)
			soonest = fmin(soonest, w->next_read[i] - w->now);
	return soonest;
}

/* Whether the request ends within `time`. */
static bool progress(struct request *r, double time, double rate)
{
	if (r->wait > 0)
		r->wait = r->wait - time > 1e-3 ? r->wait - time : 0;
	else
		r->left -= time * rate;
	return r->wait <= 0 && r->left <= 1e-3;
}

static void step(struct world *w)
{
	double time, rate;
	unsigned at = 0;

	ask(w);
	time = next_event(w);
	rate = rate_of_each(w);
	w->now += time;
	for (unsigned left = in_service(w); left; left--) {
		struct request r;

		if (!progress(&w->queue[at], time, rate)) {
			at++;
			continue;
		}
		r = w->queue[at];
		w->queued--;
		memmove(&w->queue[at], &w->queue[at + 1], (w->queued - at) * sizeof(r));
		finish(w, &r);
	}
}

static void measure(struct world *w, double duration)
{
	double until = w->now + duration;

	w->ahead_bytes = w->wanted_bytes = w->wanted = w->changes = w->aheads = 0;
	w->wanted_time = 0;
	w->deepest = w->shallowest = w->last_depth = w->learner.depth;
	w->largest = w->smallest = w->last_run = w->learner.run;
	w->widest = 0;
	while (w->now < until)
		step(w);
}

/* Of the noise. One may be unlucky, most of them must be right. */
#define DRAWINGS 5
static unsigned drawing;

static void world_init(struct world *w, const struct model *model, unsigned readers, double noise)
{
	*w = (struct world){.model = model,
			    .readers = readers,
			    .most = MOST,
			    .noise = noise,
			    .seed = 7 + drawing * UINT64_C(0x9e3779b97f4a7c15)};
	w->now = w->slice_begin = 1 * S;
	learner_init(&w->learner, false);
}

/* Time for some hundred reads ahead. */
static double while_of(const struct model *model)
{
	return model->rate < 0.2 ? 6 * S : 1.5 * S;
}

static double mean_wait(const struct world *w)
{
	return w->wanted_time / (double)w->wanted;
}

/* Bytes a ns of the stream. */
static double stream_rate(struct world *w, double duration)
{
	measure(w, duration);
	return (double)w->ahead_bytes / duration;
}

static void say(const struct world *w, const char *what, double rate)
{
	print_message(
		"%-20s %u readers%s, %s: gap %4d KiB, run %4d..%4d KiB, depth %u..%u, "
		"%5.0f MB/s\n",
		w->model->name, w->readers, w->noise > 0 ? ", noise" : "", what,
		(int)(learner_gap(&w->learner) >> 10), (int)(w->smallest >> 10),
		(int)(w->largest >> 10), w->shallowest, w->deepest, rate * 1e3);
}

/* --- what is not learned -------------------------------------------------------------------- */

static void was_read(struct learner *l, bool ahead, uint64_t bytes, uint64_t begin, uint64_t end)
{
	learner_read(l, &(struct learner_read){.bytes = bytes,
					       .begin = begin,
					       .end = end,
					       .ahead = ahead,
					       .under_way = LEARNER_FAR_START});
}

static void assert_nothing_learned(const struct learner *l)
{
	assert_int_equal(learner_gap(l), LEARNER_GAP_START);
	assert_int_equal(l->run, LEARNER_RUN_START);
	assert_int_equal(learner_depth(l, 0), 2);
	assert_false(learner_alone(l));
}

static void init_near(struct learner *l)
{
	learner_init(l, false);
}

FIXTURE(l, struct learner, init_near, (void));

TEST_OF(l, at_first_a_gap_of_64_kib_is_assumed)
{
	assert_nothing_learned(l);
	assert_int_equal(learner_run(l), LEARNER_RUN_START);
}

TEST_OF(l, one_size_alone_says_nothing_of_the_gap)
{
	for (uint64_t i = 0; i < 100000; i++)
		was_read(l, false, 110000, i * 200000, i * 200000 + 150000 + i % 7 * 1000);
	assert_true(l->windows > 100);
	assert_in_range(learner_gap(l), LEARNER_GAP_START - 100, LEARNER_GAP_START + 100);
	assert_int_equal(l->run, LEARNER_RUN_START);
}

/* 120 photos a second: their bytes alone never take as long. */
TEST_OF(l, but_slow_ones_say_that_it_is_wide)
{
	for (uint64_t i = 0; i < 20; i++)
		was_read(l, false, 110000, i * 8900000, (i + 1) * 8900000);
	assert_in_range(learner_gap(l), 500 << 10, 1500 << 10);
}

TEST_OF(l, reads_that_take_no_time_change_nothing)
{
	for (uint64_t i = 0; i < 10000; i++)
		was_read(l, true, MIB, i, i);
	was_read(l, true, 0, 0, 0);
	assert_nothing_learned(l);
}

/* --- a and b -------------------------------------------------------------------------------- */

/* One read at a time, of sizes that change every now and then. */
static void feed(struct learner *l, double a, double b, uint64_t reads, bool hiccups)
{
	uint64_t now = l->busy.until + 1000, random = 1;

	for (uint64_t i = 0; i < reads; i++) {
		uint64_t bytes = i / 500 % 2 ? 100 * KIB : 400 * KIB;
		double time = a + b * (double)bytes;

		random = random * 6364136223846793005u + 1442695040888963407u;
		if (hiccups && random >> 52 == 0)
			time += 500 * MS;
		was_read(l, false, bytes, now, now + (uint64_t)time);
		now += (uint64_t)time + 10000;
	}
}

static void assert_gap(double a, double b, bool hiccups, double off)
{
	struct learner l;

	learner_init(&l, false);
	feed(&l, a, b, 20000, hiccups);
	print_message("a / b %.0f KiB: %.0f KiB\n", a / b / 1024, (double)learner_gap(&l) / 1024);
	assert_true((double)learner_gap(&l) > a / b * (1 - off));
	assert_true((double)learner_gap(&l) < a / b * (1 + off));
}

TEST(the_gap_is_what_a_request_costs_in_bytes)
{
	assert_gap(200 * US, 1, false, 0.1);
	assert_gap(500 * US, 1, false, 0.1);
	assert_gap(1000 * US, 1 / 1.5, false, 0.15);
	assert_gap(50 * US, 1, false, 0.1);
}

TEST(hiccups_hardly_move_the_gap)
{
	assert_gap(200 * US, 1, true, 0.35);
	assert_gap(500 * US, 1, true, 0.35);
}

TEST_OF(l, the_gap_has_bounds)
{
	feed(l, 1 * MS, 0, 20000, false);
	assert_int_equal(learner_gap(l), LEARNER_GAP_MAX);
	assert_int_equal(l->run, LEARNER_RUN_MAX);
	feed(l, 0, 2, 20000, false);
	assert_int_equal(learner_gap(l), LEARNER_GAP_MIN);
	assert_int_equal(l->run, LEARNER_RUN_MIN);
}

/* Two at once, told in the order in which they end. */
TEST_OF(l, time_is_counted_once_however_many_are_under_way)
{
	was_read(l, false, 1, 1000, 2000);
	was_read(l, false, 1, 1500, 2500);
	assert_int_equal(l->ns, 1500);
	was_read(l, false, 1, 4000, 5000);
	assert_int_equal(l->ns, 2500);
	was_read(l, false, 1, 2200, 5100); /* began in what looked idle */
	assert_int_equal(l->ns, 4100);
	was_read(l, false, 1, 3000, 5100);
	assert_int_equal(l->ns, 4100);
}

/* --- devices -------------------------------------------------------------------------------- */

static double best_rate(const struct model *model, double noise)
{
	double best = 0;

	for (uint64_t run = LEARNER_RUN_MIN; run <= LEARNER_RUN_MAX; run *= 2)
		for (unsigned depth = 1; depth <= LEARNER_NEAR_MOST; depth++) {
			struct world w;
			double rate;

			world_init(&w, model, 0, noise);
			w.fixed_run = run;
			w.fixed_depth = depth;
			rate = stream_rate(&w, while_of(model));
			best = rate > best ? rate : best;
		}
	return best;
}

/* Learned beside readers, then when these are served from memory. */
static void assert_streams(const struct model *model, unsigned readers, double noise, double least)
{
	double while_, rate;
	struct world w;

	world_init(&w, model, readers, noise);
	while_ = while_of(model);
	measure(&w, while_);
	say(&w, "at first", (double)w.ahead_bytes / while_);
	rate = stream_rate(&w, while_);
	say(&w, "then", rate);
	w.readers = 0;
	measure(&w, 3 * while_);
	rate = stream_rate(&w, 2 * while_);
	say(&w, "alone", rate);
	if (rate < least)
		fail_msg("%s: %.0f MB/s, not %.0f", model->name, rate * 1e3, least * 1e3);
}

static void assert_all_stream(double noise, double share)
{
	for (unsigned i = 0; i < MODELS; i++) {
		double least = share * best_rate(models[i], noise);

		for (unsigned readers = 0; readers <= 8; readers += readers ? readers : 2)
			assert_streams(models[i], readers, noise, least);
	}
}

TEST(the_stream_gets_four_fifths_of_what_any_device_can_give)
{
	assert_all_stream(0, 0.8);
}

TEST(and_so_it_does_with_noise)
{
	assert_all_stream(0.2, 0.8);
}

static struct world settled(const struct model *model, unsigned readers, double noise)
{
	struct world w;

	world_init(&w, model, readers, noise);
	measure(&w, 2 * while_of(model));
	measure(&w, 5 * while_of(model));
	say(&w, "settled", (double)w.ahead_bytes / 5 / while_of(model));
	return w;
}

/* Each reader's request brings a run. */
static bool long_runs_few_at_once(const struct model *model, unsigned readers, double noise)
{
	struct world w = settled(model, readers, noise);

	return w.deepest <= 2 + readers / 2 && w.smallest == LEARNER_RUN_MAX &&
	       learner_seek_bound(&w.learner) && learner_gap(&w.learner) >= 384 * KIB;
}

static bool narrow(const struct model *model, unsigned readers, double noise)
{
	return settled(model, readers, noise).widest < 512 * KIB;
}

/* What the readers make each other wait, and at most 6 ms more: three of the shortest runs. */
static bool waits_little(const struct model *model, unsigned readers, double noise)
{
	struct world w = settled(model, readers, noise), none;

	world_init(&none, model, readers, noise);
	none.fixed_depth = 1;
	none.fixed_run = 1;
	none.silent = true;
	measure(&none, 5 * S);
	print_message("a wanted read waits %.1f ms, %.1f ms without the stream\n",
		      mean_wait(&w) / MS, mean_wait(&none) / MS);
	return mean_wait(&w) < mean_wait(&none) + 6 * MS;
}

/* A probe that is accepted by chance is taken back: two changes. Bursts are worse than noise. */
static bool calm(const struct model *model, unsigned readers, double noise)
{
	struct world w = settled(model, readers, noise);
	bool bursts = model->kind == SLICES;

	print_message("%d changes in %d reads ahead\n", (int)w.changes, (int)w.aheads);
	return w.changes <= (bursts ? 8 : 4) + w.aheads / (bursts ? 50 : 200) &&
	       (bursts || (w.deepest - w.shallowest <= 4 && w.largest <= 4 * w.smallest));
}

static bool is_soon_known(const struct model *model, unsigned readers, double noise)
{
	struct world w;

	world_init(&w, model, readers, noise);
	while (w.learner.run < LEARNER_RUN_MAX && w.seen < 1000)
		measure(&w, 10 * MS), w.seen += w.aheads;
	print_message("%d reads ahead, %.1f s\n", (int)w.seen, (w.now - S) / S);
	return w.seen < 60;
}

static bool is_soon_deep(const struct model *model, unsigned readers, double noise)
{
	struct world w;

	world_init(&w, model, readers, noise);
	while (w.learner.depth < 5 && w.now < 3 * S)
		measure(&w, 10 * MS);
	print_message("%u readers: %.2f s\n", readers, (w.now - S) / S);
	return w.now - S < 1 * S;
}

static bool have_nearly_all(const struct model *model, unsigned readers, double noise)
{
	struct world w;

	world_init(&w, model, readers, noise);
	measure(&w, 3 * S);
	measure(&w, 3 * S);
	say(&w, "settled", (double)w.ahead_bytes / (3 * S));
	return w.wanted_bytes > 9 * w.ahead_bytes &&
	       (double)(w.wanted_bytes + w.ahead_bytes) > 0.9 * model->rate * 3 * S;
}

/* What holds after it was learned, or how soon that is, on a device, or on each, beside so many
 * readers. Of the drawings of the noise one may be unlucky, most of them must be right. */
static const struct promise {
	const char *name;
	bool (*check)(const struct model *model, unsigned readers, double noise);
	const struct model *model;
	unsigned from, to;
	bool quiet; /* without noise, too */
} promises[] = {
	{"a hard disk gets long runs and a few at once", long_runs_few_at_once, &hdd, 2, 8, true},
	{"an NVMe reads across short gaps only", narrow, &nvme, 2, 8, true},
	{"wanted reads hardly wait for the stream on a slow volume", waits_little, &gp3, 2, 8,
	 true},
	{"what was learned stays", calm, NULL, 2, 8, true},
	{"a hard disk is known after some tens of reads", is_soon_known, &hdd, 4, 4, false},
	{"what takes much at once is known in a second", is_soon_deep, &cluster, 1, 4, false},
	/* Bytes are what it charges, and readers take all that it gives: nothing is read ahead but
	 * to see whether that is so. */
	{"readers that use all a volume gives have it", have_nearly_all, &sata, 4, 4, false},
};

static void assert_mostly(const struct promise *promise, const struct model *model, double noise)
{
	for (unsigned readers = promise->from; readers <= promise->to; readers *= 2) {
		unsigned needed = noise > 0 ? DRAWINGS / 2 + 1 : 1, right = 0;

		for (drawing = 0; right < needed && drawing < DRAWINGS; drawing++)
			right += promise->check(model, readers, noise);
		drawing = 0;
		if (right < needed)
			fail_msg("%s: not on %s, %u readers", promise->name, model->name, readers);
	}
}

TEST(each_promise_is_kept_on_its_devices)
{
	for (unsigned i = 0; i < sizeof(promises) / sizeof(*promises); i++)
		for (unsigned j = 0; j < MODELS; j++) {
			if (promises[i].model && promises[i].model != models[j])
				continue;
			assert_mostly(&promises[i], models[j], 0.2);
			if (promises[i].quiet)
				assert_mostly(&promises[i], models[j], 0);
		}
}

/* What a known order brings, readers need not ask for: the device has nothing else to do. */
TEST(a_known_order_is_read_ahead_beside_readers_that_use_all)
{
	struct world w;

	world_init(&w, &sata, 4, 0.2);
	measure(&w, 3 * S);
	assert_int_equal(w.learner.depth, 0);
	w.known = true;
	measure(&w, 1 * S);
	say(&w, "known", (double)w.ahead_bytes / S);
	assert_true(w.ahead_bytes > w.wanted_bytes / 4);
	w.readers = 0;
	measure(&w, 1 * S);
	say(&w, "not asked", (double)w.ahead_bytes / S);
	assert_false(learner_alone(&w.learner));
	assert_true((double)w.ahead_bytes > 0.9 * 0.5 * S);
}

TEST_OF(l, readers_who_pause_leave_the_device_to_the_stream)
{
	l->depth = 0;
	was_read(l, false, MIB, 1000, 2000);
	learner_idle(l, 2000 + LEARNER_IDLE_NS);
	assert_true(learner_alone(l));
	learner_idle(l, 2001 + LEARNER_IDLE_NS);
	assert_false(learner_alone(l));
	assert_int_equal(learner_depth(l, 4), 1);
}

TEST_OF(l, a_wanted_record_brings_a_run_on_a_seek_bound_device)
{
	assert_false(learner_seek_bound(l));
	feed(l, 8 * MS, 5, 2000, false);
	for (int i = 0; i < 100; i++)
		learner_wanted(l, 100 * KIB);
	assert_true(learner_seek_bound(l));
	assert_int_equal(learner_depth(l, 2), 0); /* each takes the place of one ahead */
	feed(l, 80 * US, 1, 40000, false);
	assert_false(learner_seek_bound(l));
}

TEST_OF(l, what_happens_in_a_pause_of_the_stream_is_left_out)
{
	l->windows = 2;
	for (uint64_t begin = 0; begin <= 9000; begin += 9000) { /* a pause of 8000 */
		was_read(l, true, MIB, begin, begin + 1000);
		was_read(l, false, 900 * KIB, begin + 1000, begin + 2000);
	}
	assert_int_equal(l->round_ns, 2000);
	assert_int_equal(l->round_ahead, 2 * MIB);
	assert_int_equal(l->round_work, 2 * MIB + 100 * KIB); /* a ninth of the time */
}

TEST(pauses_of_the_stream_are_not_slowness)
{
	struct world w;

	world_init(&w, &fast, 2, 0.1);
	w.pauses = true;
	measure(&w, 4 * S);
	measure(&w, 4 * S);
	say(&w, "with pauses", (double)w.ahead_bytes / (4 * S));
	assert_true(w.shallowest >= 2);
	assert_true(w.smallest >= LEARNER_RUN_START);
}

/* --- far ------------------------------------------------------------------------------------ */

#define GBIT  .125 /* bytes a ns */
#define PHOTO 110000

static struct world far_world(const struct model *model, uint64_t size)
{
	struct world w;

	world_init(&w, model, 0, 0.15);
	learner_init(&w.learner, true);
	w.fixed_run = size;
	return w;
}

static struct model link_of(double latency, double bandwidth)
{
	return (struct model){"far", SHARED, latency, bandwidth, .05, MOST, 0, 0};
}

static void assert_filled(struct world *w, double duration, double least)
{
	double rate = stream_rate(w, duration);

	print_message("%.0f ms, %d KB: %u under way bring %.2f of the link\n",
		      w->model->latency / MS, (int)(w->fixed_run / 1000), depth_now(w),
		      rate / w->model->rate);
	assert_true(rate > least * w->model->rate);
}

/* Sizes of reads; seconds until it is filled, and that it is watched; which part of it; and how
 * many are under way then. */
static const struct {
	double latency, bandwidth, noise;
	uint64_t size;
	double settle, watch, least;
	unsigned low, high;
} links[] = {
	{10 * MS, 10 * GBIT, 0.15, PHOTO, 1.5, 4, 0.85, 0, LEARNER_FAR_MOST},
	{30 * MS, 10 * GBIT, 0.15, PHOTO, 1.5, 4, 0.85, 0, LEARNER_FAR_MOST},
	{10 * MS, 10 * GBIT, 0.15, 1000000, 1.5, 4, 0.85, 0, LEARNER_FAR_MOST},
	{30 * MS, 10 * GBIT, 0.15, 1000000, 1.5, 4, 0.85, 0, LEARNER_FAR_MOST},
	{10 * MS, 10 * GBIT, 0.15, 4000000, 1.5, 4, 0.85, 0, LEARNER_FAR_MOST},
	{30 * MS, 10 * GBIT, 0.15, 4000000, 1.5, 4, 0.85, 0, LEARNER_FAR_MOST},
	{30 * MS, GBIT, 0.15, PHOTO, 20, 4, 0.9, 24, 100}, /* 37 fill it */
	{20 * MS, 4 * GBIT, 0.9, PHOTO, 2, 30, 0.85, 0, LEARNER_FAR_MOST},
};

TEST(links_are_filled_soon_by_no_more_than_they_need)
{
	for (unsigned i = 0; i < sizeof(links) / sizeof(*links); i++) {
		const struct model link = link_of(links[i].latency, links[i].bandwidth);
		struct world w = far_world(&link, links[i].size);

		w.noise = links[i].noise;
		measure(&w, links[i].settle * S);
		assert_filled(&w, links[i].watch * S, links[i].least);
		assert_in_range(depth_now(&w), links[i].low, links[i].high);
	}
}

TEST(slow_readers_change_nothing)
{
	const struct model link = link_of(30 * MS, 10 * GBIT);
	struct world w = far_world(&link, PHOTO);

	w.most = 5;
	measure(&w, 10 * S);
	assert_int_equal(depth_now(&w), LEARNER_FAR_START);
	w.most = MOST;
	measure(&w, 1.5 * S);
	assert_filled(&w, 4 * S, 0.85);
}

TEST(a_link_that_gets_faster_or_slower_is_found_out)
{
	struct model link = link_of(30 * MS, GBIT);
	struct world w = far_world(&link, PHOTO);

	measure(&w, 20 * S);
	link.rate = 10 * GBIT;
	measure(&w, 10 * S);
	assert_filled(&w, 4 * S, 0.85);
	assert_in_range(depth_now(&w), 300, LEARNER_FAR_MOST);
	link.rate = GBIT;
	measure(&w, 60 * S);
	assert_filled(&w, 4 * S, 0.9);
	assert_in_range(depth_now(&w), 24, 100);
}

TEST(reads_of_another_size_need_another_depth)
{
	const struct model link = link_of(30 * MS, 10 * GBIT);
	struct world w = far_world(&link, 4000000);

	measure(&w, 3 * S);
	w.fixed_run = PHOTO;
	measure(&w, 1.5 * S);
	assert_filled(&w, 4 * S, 0.85);
	w.fixed_run = 4000000;
	measure(&w, 6 * S);
	assert_true(depth_now(&w) < 150);
	assert_filled(&w, 4 * S, 0.85);
}

/* 32 a round, of 10 ms each, and as many under way. */
TEST(a_round_says_what_a_read_is_and_what_comes_during_the_slowest)
{
	struct learner l;

	learner_init(&l, true);
	assert_int_equal(learner_stall(&l), 0);
	for (uint64_t i = 1; i <= LEARNER_FAR_START; i++)
		was_read(&l, true, 1000, i * 2000000, i * 2000000 + 10000000);
	assert_int_equal(l.mean_bytes, 1000);
	assert_int_equal(l.mean_ns, 10000000);
	assert_in_range(learner_stall(&l), LEARNER_FAR_START * 1000 - 1,
			LEARNER_FAR_START * 1000 + 1);
}
