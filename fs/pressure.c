/* The rule. R is the reserve that must stay available. If the pool filled up to its limit, what is
 * available would become
 *
 *	available - (limit - used)
 *
 * The limit should keep this at R or more, whether the pool is full, still growing, or above an
 * earlier limit. So there are two lines:
 *
 *	shrink  = used + available - R		limit above it: down to it, at once
 *	regrow  = used + available - 2R		limit below it for five seconds: up towards it,
 *						an eighth of the budget at a time
 *
 * Between the lines, which are R apart, nothing happens. Growing leaves 2R and shrinking leaves R,
 * so the pool's own steps never cause the next step: others must have taken or freed R in between.
 *
 * Approximations. Several pools under one limit each give back the whole deficit, and grow into the
 * same room: they overshoot, and even out in steps of five seconds. The reserve is one figure,
 * though each of several nested groups may be short.
 *
 * The kernel's own measure of pressure (PSI) is not used: it rises only once processes stall, only
 * root may watch most groups, and each look costs 0.1 ms. */
#include "fs/pressure.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "fs/memory.h"
#include <stdbool.h>

#define RESERVE_MIN (64 * MIB)
#define RESERVE_MAX (1 * GIB)
#define CALM_TICKS  25
#define FAR_TICKS   5	      /* a second */
#define FAR_MOST    5	      /* seconds */
#define GRAIN	    (2 * MIB) /* a huge page: a smaller step is not worth it */

static uint64_t reserve_of(uint64_t whole)
{
	return clamp(whole / 16, RESERVE_MIN, RESERVE_MAX);
}

/* The line that leaves `left` bytes, in whole grains; 0 if there is less than that. */
static uint64_t line_at(const struct pressure_view *view, uint64_t left)
{
	return sub_sat(view->used + view->available, left) / GRAIN * GRAIN;
}

uint64_t pressure_limit(struct pressure_state *state, const struct pressure_view *view,
			unsigned ticks)
{
	uint64_t reserve = reserve_of(view->whole);
	uint64_t shrink = line_at(view, reserve), regrow = line_at(view, 2 * reserve);

	if (view->limit >= state->budget || view->limit >= regrow) {
		state->calm = 0;
		return min(max(shrink, state->least), view->limit);
	}
	state->calm += ticks;
	if (state->calm < CALM_TICKS)
		return view->limit;
	state->calm = 0;
	return min(min(view->limit + max(state->budget / 8, GRAIN), regrow), state->budget);
}

/* All others together are taken to need a second for 3R: the next look comes before less than R is
 * available. */
unsigned pressure_wait(const struct pressure_view *view)
{
	uint64_t seconds = view->available / (4 * reserve_of(view->whole));

	return seconds ? (unsigned)min(seconds, FAR_MOST) * FAR_TICKS : 1;
}

struct pressure {
	struct pressure_params params;
	struct pressure_state state; /* this and the next belong to the thread */
	bool short_of_memory;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t wake; /* stopping */
	bool stopping;	     /* protected by lock */
};

static void log_change(struct pressure *pressure, const struct pressure_view *view, uint64_t limit)
{
	char now[SIZE_TEXT], all[SIZE_TEXT], left[SIZE_TEXT];
	uint64_t budget = pressure->state.budget;

	if (!pressure->short_of_memory && limit < view->limit) {
		pressure->short_of_memory = true;
		log_notice("memory is short, %s available: for now the pool may use %s, not %s",
			   size_format(view->available, left), size_format(limit, now),
			   size_format(budget, all));
	} else if (pressure->short_of_memory && limit >= budget) {
		pressure->short_of_memory = false;
		log_notice("memory is no longer short: the pool may use %s again",
			   size_format(budget, all));
	}
}

/* Returns the ticks until the next look. */
static unsigned pressure_look(struct pressure *pressure, unsigned ticks)
{
	const struct pressure_ops *ops = &pressure->params.ops;
	struct pressure_view view;
	struct memory memory;
	uint64_t limit;

	memory_read(pressure->params.root, &memory);
	ops->usage(ops->context, &view.used, &view.limit);
	view.whole = min(memory.limit, memory.total);
	view.available = memory.available;
	limit = pressure_limit(&pressure->state, &view, ticks);
	if (limit != view.limit) {
		log_change(pressure, &view, limit);
		ops->set_limit(ops->context, limit);
	}
	return pressure_wait(&view);
}

static void *pressure_thread(void *arg)
{
	struct pressure *pressure = arg;
	unsigned ticks = 0;

	SCOPE_LOCK(&pressure->lock);
	while (!pressure->stopping) {
		struct timespec then;

		pthread_mutex_unlock(&pressure->lock);
		ticks = pressure_look(pressure, ticks);
		then = clock_after((uint64_t)ticks * pressure->params.tick_ms * 1000000);
		pthread_mutex_lock(&pressure->lock);
		while (!pressure->stopping)
			if (pthread_cond_timedwait(&pressure->wake, &pressure->lock, &then) ==
			    ETIMEDOUT)
				break;
	}
	return NULL;
}

static void pressure_free(struct pressure *pressure)
{
	pthread_cond_destroy(&pressure->wake);
	pthread_mutex_destroy(&pressure->lock);
	free(pressure);
}

int pressure_start(const struct pressure_params *params, struct pressure **ret)
{
	struct pressure *pressure = calloc(1, sizeof(*pressure));
	uint64_t used;
	int r;

	if (!pressure)
		return -ENOMEM;
	pressure->params = *params;
	params->ops.usage(params->ops.context, &used, &pressure->state.budget);
	pressure->state.least = params->least;
	pthread_mutex_init(&pressure->lock, NULL);
	clock_cond_init(&pressure->wake);
	r = pthread_create(&pressure->thread, NULL, pressure_thread, pressure);
	if (r != 0) {
		pressure_free(pressure);
		return -r;
	}
	*ret = pressure;
	return 0;
}

void pressure_stop(struct pressure *pressure)
{
	if (!pressure)
		return;
	pthread_mutex_lock(&pressure->lock);
	pressure->stopping = true;
	pthread_cond_signal(&pressure->wake);
	pthread_mutex_unlock(&pressure->lock);
	pthread_join(pressure->thread, NULL);
	pressure_free(pressure);
}
