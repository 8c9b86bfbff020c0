#include "base/bits.h"
#include "base/scope.h"
#include "cache/order/oracle_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGUN	 32   /* files of the next pass, by which the one before is over */
#define SURE	 4    /* files, by which it is known to have begun */
#define FORSAKEN 2048 /* files of its own that only those asked for who do not go by it */

int oracle_new(uint64_t files, const struct oracle_ops *ops, struct oracle **ret)
{
	struct oracle *oracle = calloc(1, sizeof(*oracle));

	if (!oracle)
		return -ENOMEM;
	oracle->ops = *ops;
	oracle->files = files;
	if (watch_new(files, &oracle->watch) < 0) {
		oracle_free(oracle);
		return -ENOMEM;
	}
	*ret = oracle;
	return 0;
}

/* --- tracks ---------------------------------------------------------------------------------- */

static void track_release(struct track *track)
{
	forecast_free(track->forecast);
	forecast_free(track->next_forecast);
	batches_free(track->batches);
}

static void track_end(struct oracle *oracle, unsigned at)
{
	oracle->ops.leave(oracle->ops.context, oracle->tracks[at].forecast);
	track_release(&oracle->tracks[at]);
	oracle->tracks[at] = oracle->tracks[--oracle->count];
}

void oracle_free(struct oracle *oracle)
{
	if (!oracle)
		return;
	while (oracle->count)
		track_end(oracle, 0);
	for (unsigned i = 0; i < oracle->list_count; i++)
		order_list_free(oracle->lists[i]);
	watch_free(oracle->watch);
	free(oracle->order);
	free(oracle);
}

/* Makes room for one more: the one goes that was fed longest ago. */
static void make_room(struct oracle *oracle)
{
	unsigned oldest = 0;

	if (oracle->count < ORACLE_COURSES)
		return;
	for (unsigned i = 1; i < oracle->count; i++)
		if (oracle->tracks[i].fed < oracle->tracks[oldest].fed)
			oldest = i;
	track_end(oracle, oldest);
}

/* Whether it may turn out that others read a part of it: not where there are empty files in the
 * list, so that places are not those of the forecast. */
static bool may_be_part(const struct course *course, const struct forecast *forecast)
{
	return course->list && course->pass.part.world <= 1 &&
	       forecast_count(forecast) == course->list->count;
}

void oracle_begin(struct oracle *oracle, const struct course *course, struct forecast *forecast)
{
	make_room(oracle);
	oracle->tracks[oracle->count++] = (struct track){.id = ++oracle->ids,
							 .course = *course,
							 .forecast = forecast,
							 .began = watch_turns(oracle->watch),
							 .fed = watch_turns(oracle->watch)};
	if (may_be_part(course, forecast))
		batches_new(forecast_count(forecast), forecast_edge(forecast),
			    &oracle->tracks[oracle->count - 1].batches);
	oracle->ops.follow(oracle->ops.context, forecast);
}

/* Whether two passes are dealt from one permutation, to as many ranks. */
static bool same_permutation(const struct course *a, const struct course *b)
{
	return a->list == b->list && a->pass.seed == b->pass.seed && a->pass.skip == b->pass.skip &&
	       pass_world(&a->pass) == pass_world(&b->pass);
}

bool oracle_same_order(const struct course *a, const struct course *b)
{
	return same_permutation(a, b) && a->pass.part.first == b->pass.part.first;
}

bool oracle_follows(const struct oracle *oracle, const struct course *course)
{
	for (unsigned i = 0; i < oracle->count; i++)
		if (oracle_same_order(&oracle->tracks[i].course, course) &&
		    !oracle->tracks[i].ended)
			return true;
	return false;
}

static bool same_course(const struct course *a, const struct course *b)
{
	return oracle_same_order(a, b) && a->pass.root == b->pass.root &&
	       a->pass.word == b->pass.word;
}

void oracle_remember(struct oracle *oracle, const struct course *course)
{
	unsigned at = 0;

	if (!course->list)
		return;
	while (at < oracle->known_count && !same_course(&oracle->known[at], course))
		at++;
	if (at == oracle->known_count && oracle->known_count < GUESS_KNOWN)
		oracle->known_count++;
	if (at == GUESS_KNOWN)
		at--;
	memmove(&oracle->known[1], &oracle->known[0], at * sizeof(*course));
	oracle->known[0] = *course;
}

struct track *oracle_track(struct oracle *oracle, uint64_t id)
{
	for (unsigned i = 0; i < oracle->count; i++)
		if (oracle->tracks[i].id == id)
			return &oracle->tracks[i];
	return NULL;
}

bool oracle_has_next(struct oracle *oracle, const struct track *track)
{
	return track->next_forecast || track->followed_up || oracle_track(oracle, track->joined);
}

static bool is_rank_beside(const struct course *a, const struct course *b)
{
	return a->list && same_permutation(a, b) && pass_world(&a->pass) > 1;
}

void oracle_join_ranks(struct oracle *oracle, const struct track *track, struct pass *next)
{
	uint32_t world = pass_world(next);

	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *other = &oracle->tracks[i];
		struct pass beside = other->course.pass;

		if (other == track || oracle_has_next(oracle, other) || other->fed_by < SURE ||
		    !is_rank_beside(&track->course, &other->course))
			continue;
		/* From pass to pass, places may be dealt anew. */
		beside.part.first += next->part.first + world - track->course.pass.part.first;
		beside.part.first %= world;
		if (pass_add_ranks(next, &beside))
			other->joined = track->id;
	}
}

/* The pass after this one begins, while the last files of this one may still come. */
static void begin_next(struct oracle *oracle, struct track *track)
{
	struct course next = track->next;
	struct forecast *forecast = track->next_forecast;

	track->next_forecast = NULL;
	track->followed_up = true;
	for (unsigned i = 0; i < oracle->count; i++)
		if (oracle->tracks[i].joined == track->id)
			oracle->tracks[i].followed_up = true;
	forecast_continue(forecast, track->forecast);
	oracle_remember(oracle, &next);
	oracle_begin(oracle, &next, forecast);
}

/* --- lists ------------------------------------------------------------------------------------ */

static bool list_in_use(const struct oracle *oracle, const struct order_list *list)
{
	for (unsigned i = 0; i < oracle->count; i++)
		if (oracle->tracks[i].course.list == list)
			return true;
	for (unsigned i = 0; i < oracle->known_count; i++)
		if (oracle->known[i].list == list)
			return true;
	return false;
}

void oracle_drop_lists(struct oracle *oracle)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < oracle->list_count; i++) {
		if (list_in_use(oracle, oracle->lists[i]))
			oracle->lists[kept++] = oracle->lists[i];
		else
			order_list_free(oracle->lists[i]);
	}
	oracle->list_count = kept;
}

/* --- what was asked for ---------------------------------------------------------------------- */

/* Of two that foresee a file: the one that its reader goes by, or was fed last; the other one does
 * by chance. */
static bool is_likelier(const struct track *track, const struct track *than, uint64_t goes_by)
{
	if (track->id == goes_by || than->id == goes_by)
		return track->id == goes_by;
	return track->fed > than->fed;
}

static struct track *find_foreseeing(struct oracle *oracle, uint64_t goes_by, uint32_t file)
{
	struct track *found = NULL;

	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];

		if (forecast_foresees(track->forecast, file) &&
		    (!found || is_likelier(track, found, goes_by)))
			found = track;
	}
	return found;
}

/* Readers take what is left of the epoch before. */
static bool is_before(const struct track *fed, const struct track *track)
{
	return fed && fed->ended && track->began >= fed->ended;
}

/* It says nothing about a forecast what those ask for who never went by it. */
static void tell_tracks(struct oracle *oracle, uint64_t goes_by, const struct track *fed,
			uint32_t file)
{
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];

		if (track == fed)
			continue;
		track->passed += forecast_has(track->forecast, file) && !is_before(fed, track);
		if (!fed && track->id == goes_by)
			forecast_saw(track->forecast, file);
	}
}

static void note(struct oracle *oracle, uint32_t file)
{
	uint64_t goes_by = watch_goes_by(oracle->watch);
	struct track *track = find_foreseeing(oracle, goes_by, file);
	double chance;

	tell_tracks(oracle, goes_by, track, file);
	if (!track) {
		watch_note(oracle->watch, 0, 0);
		return;
	}
	chance = forecast_chance(track->forecast) * oracle->count;
	forecast_saw(track->forecast, file);
	track->fed = watch_turns(oracle->watch);
	track->fed_by++;
	if (!watch_note(oracle->watch, track->id, chance))
		return;
	if (track->batches)
		batches_saw(track->batches, forecast_place(track->forecast, file));
	track->passed = 0;
}

/* Only others have come for long: a job that ended in the middle. */
static bool is_forsaken(const struct track *track)
{
	return track->passed >= FORSAKEN;
}

/* Whether a pass over the same list that began after it is well under way. */
static bool is_over(const struct oracle *oracle, const struct track *track)
{
	for (unsigned i = 0; track->ended && i < oracle->count; i++) {
		const struct track *other = &oracle->tracks[i];

		if (other->began >= track->ended && other->id > track->id &&
		    other->course.list == track->course.list && other->fed_by >= BEGUN)
			return true;
	}
	return false;
}

static void look_after_tracks(struct oracle *oracle)
{
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];

		if (!track->ended && forecast_ended(track->forecast))
			track->ended = watch_turns(oracle->watch);
		if (forecast_lost(track->forecast) || is_forsaken(track)) {
			oracle->unlocks += !track->ended;
			track_end(oracle, i);
			return;
		}
		if (is_over(oracle, track)) {
			track_end(oracle, i);
			return;
		}
		if (track->ended && track->next_forecast) {
			begin_next(oracle, track);
			return;
		}
	}
}

void oracle_saw(struct oracle *oracle, uint32_t reader, uint32_t file)
{
	if (!watch_turn(oracle->watch, reader, file))
		return;
	note(oracle, file);
	look_after_tracks(oracle);
}

/* How much the beginnings say: hardly anything, enough to think hard, all that they will. */
static unsigned worth(uint64_t stage)
{
	uint64_t doubled = stage & 7;

	return doubled < SEARCH_FROM ? 0 : doubled < SEARCH_LAST ? 1 : 2;
}

bool oracle_has_new(const struct oracle *oracle, bool all_seeds)
{
	uint64_t stage = watch_stage(oracle->watch);

	if (stage >> 3 != oracle->asked_group)
		return worth(stage) > 0;
	return oracle->asked_stage && !all_seeds && !oracle->is_patient &&
	       worth(stage) > worth(oracle->asked_stage);
}

void oracle_pushed(struct oracle *oracle, uint32_t file)
{
	for (unsigned i = 0; i < oracle->count; i++)
		if (forecast_foresees(oracle->tracks[i].forecast, file))
			forecast_push(oracle->tracks[i].forecast, file);
}

uint64_t oracle_turns(const struct oracle *oracle)
{
	return watch_turns(oracle->watch);
}

/* --- explicit orders ------------------------------------------------------------------------- */

/* Where the next epoch of an explicit order ends: before the first file that came already. */
static uint32_t epoch_end(const struct oracle *oracle, uint32_t from, uint8_t *seen)
{
	uint32_t at = from;

	memset(seen, 0, oracle->files / 8 + 1);
	while (at < oracle->order_count && !bit_set(seen, oracle->order[at]))
		at++;
	return at;
}

uint32_t *oracle_next_epoch(struct oracle *oracle, uint32_t *ret_count)
{
	uint32_t from = oracle->order_at < oracle->order_count ? oracle->order_at : 0, end;
	uint8_t *seen = malloc(oracle->files / 8 + 1);
	uint32_t *files = NULL;

	if (seen) {
		end = epoch_end(oracle, from, seen);
		files = malloc((end - from) * sizeof(*files));
		if (files) {
			memcpy(files, oracle->order + from, (end - from) * sizeof(*files));
			*ret_count = end - from;
			oracle->order_at = end;
		}
	}
	free(seen);
	return files;
}

static void drop_order(struct oracle *oracle)
{
	for (unsigned i = oracle->count; i-- > 0;)
		if (!oracle->tracks[i].course.list)
			track_end(oracle, i);
	free(oracle->order);
	oracle->order = NULL;
	oracle->order_count = oracle->order_at = 0;
}

int oracle_order(struct oracle *oracle, const uint32_t *files, uint32_t count)
{
	const struct course none = {0};
	SCOPE_FREE uint8_t *hidden = NULL;
	struct forecast *forecast;
	uint32_t *epoch, length;

	drop_order(oracle);
	if (count == 0)
		return 0;
	oracle->order = malloc(count * sizeof(*files));
	if (!oracle->order)
		return -ENOMEM;
	memcpy(oracle->order, files, count * sizeof(*files));
	oracle->order_count = count;
	epoch = oracle_next_epoch(oracle, &length);
	hidden = oracle->ops.hidden(oracle->ops.context);
	if (!epoch || forecast_new(epoch, length, hidden, &forecast) < 0) {
		free(epoch);
		drop_order(oracle);
		return -ENOMEM;
	}
	oracle_begin(oracle, &none, forecast);
	return 0;
}

/* --- what it knows --------------------------------------------------------------------------- */

static const struct track *fed_last(const struct oracle *oracle)
{
	const struct track *found = NULL;

	for (unsigned i = 0; i < oracle->count; i++)
		if (!found || oracle->tracks[i].fed > found->fed)
			found = &oracle->tracks[i];
	return found;
}

void oracle_state(const struct oracle *oracle, struct oracle_state *ret)
{
	const struct track *track = fed_last(oracle);

	*ret = (struct oracle_state){
		.courses = oracle->count, .locks = oracle->locks, .unlocks = oracle->unlocks};
	for (unsigned i = 0; i < oracle->count; i++)
		ret->under_way += !oracle->tracks[i].ended;
	if (!track)
		return;
	if (track->course.list) {
		pass_name(&track->course.pass, ret->sampler);
		snprintf(ret->list, sizeof(ret->list), "%s", track->course.list->name);
	} else {
		snprintf(ret->sampler, sizeof(ret->sampler), "given");
	}
	ret->seed = track->course.pass.seed;
	ret->epoch = track->course.epoch;
	ret->position = forecast_position(track->forecast);
	ret->files = forecast_count(track->forecast);
}
