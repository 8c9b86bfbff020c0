#include "cache/trackers.h"
#include <stddef.h>

#define SURE   4    /* demands, by which readers are known to have begun */
#define PERIOD 256  /* demands between two looks at what was passed */
#define LOOK   4096 /* files of an order that are looked at in one call */

void trackers_add(struct trackers *trackers, const void *id, struct forecast *forecast)
{
	uint32_t file = 0, front = forecast_next(forecast, 0, &file);

	trackers->all[trackers->count++] =
		(struct tracker){.id = id, .forecast = forecast, .front = front, .passed = front};
}

struct forecast *trackers_remove(struct trackers *trackers, const void *id)
{
	for (unsigned i = 0; i < trackers->count; i++) {
		struct forecast *forecast = trackers->all[i].forecast;

		if (trackers->all[i].id != id)
			continue;
		trackers->all[i] = trackers->all[--trackers->count];
		return forecast;
	}
	return NULL;
}

/* Of several that foresee a file the one that was fed last: the others do by chance. */
static struct tracker *find_foreseeing(struct trackers *trackers, uint64_t file)
{
	struct tracker *found = NULL;

	for (unsigned i = 0; i < trackers->count; i++) {
		struct tracker *tracker = &trackers->all[i];

		if (forecast_foresees(tracker->forecast, file) &&
		    (!found || tracker->fed > found->fed))
			found = tracker;
	}
	return found;
}

/* What none foresees may be where readers go on. */
void trackers_saw(struct trackers *trackers, uint64_t file)
{
	struct tracker *tracker = find_foreseeing(trackers, file);

	trackers->demands++;
	if (tracker) {
		tracker->fed = trackers->demands;
		tracker->fed_by++;
		forecast_went_on(tracker->forecast, file);
		return;
	}
	for (unsigned i = 0; i < trackers->count; i++)
		forecast_went_on(trackers->all[i].forecast, file);
}

void trackers_pushed(struct trackers *trackers, uint64_t file)
{
	for (unsigned i = 0; i < trackers->count; i++)
		if (forecast_foresees(trackers->all[i].forecast, file))
			forecast_push(trackers->all[i].forecast, file);
}

static bool may_push(const struct tracker *tracker)
{
	return tracker->fed_by >= SURE && forecast_may_push(tracker->forecast);
}

bool trackers_may_push(const struct trackers *trackers)
{
	for (unsigned i = 0; i < trackers->count; i++)
		if (may_push(&trackers->all[i]))
			return true;
	return false;
}

void trackers_to_push(const struct trackers *trackers, forecast_take_fn *take, void *arg)
{
	for (unsigned i = 0; i < trackers->count; i++)
		if (may_push(&trackers->all[i]))
			forecast_coming(trackers->all[i].forecast, take, arg);
}

static bool has_another(const struct trackers *trackers, const struct tracker *than, uint32_t file)
{
	for (unsigned i = 0; i < trackers->count; i++)
		if (&trackers->all[i] != than && forecast_has(trackers->all[i].forecast, file))
			return true;
	return false;
}

void trackers_passed(struct trackers *trackers, forecast_take_fn *take, void *arg)
{
	if (trackers->demands - trackers->looked < PERIOD)
		return;
	trackers->looked = trackers->demands;
	for (struct tracker *tracker = trackers->all; tracker < trackers->all + trackers->count;
	     tracker++) {
		uint32_t until = tracker->front, file = 0, left = LOOK;

		tracker->front = forecast_next(tracker->forecast, 0, &file);
		for (; tracker->passed < until && left; tracker->passed++, left--)
			if (forecast_passed(tracker->forecast, tracker->passed, &file) &&
			    !has_another(trackers, tracker, file))
				take(arg, file);
	}
}
