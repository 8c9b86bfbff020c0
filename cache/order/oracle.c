#include "base/bits.h"
#include "base/math.h"
#include "base/scope.h"
#include "cache/order/oracle_internal.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGUN	    32	  /* files of the next epoch, after which the one before is over */
#define SURE	    4	  /* files, after which a track is known to be read */
#define EPOCH_LEAST 16384 /* files of an order that is given, at least, if it has twice as many */
#define FORSAKEN    2048  /* files that only other readers asked for since its own did; */
#define OUTLIVED    256	  /* or so many, once it has ended, or while it is only foretold */

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

static void track_end(struct oracle *oracle, unsigned at)
{
	struct track *track = &oracle->tracks[at];

	oracle->ops.leave(oracle->ops.context, track->forecast);
	forecast_free(track->forecast);
	forecast_free(track->next_forecast);
	batches_free(track->batches);
	*track = oracle->tracks[--oracle->count];
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

void oracle_begin(struct oracle *oracle, const struct hypothesis *hypothesis,
		  struct forecast *forecast)
{
	uint32_t files = forecast_count(forecast);
	struct track *track;
	unsigned oldest = 0;

	for (unsigned i = 1; i < oracle->count; i++)
		if (oracle->tracks[i].fed < oracle->tracks[oldest].fed)
			oldest = i;
	if (oracle->count == FORECASTS)
		track_end(oracle, oldest);
	track = &oracle->tracks[oracle->count++];
	*track = (struct track){.id = ++oracle->ids,
				.hypothesis = *hypothesis,
				.forecast = forecast,
				.began = watch_turns(oracle->watch),
				.fed = watch_turns(oracle->watch)};
	/* It may turn out that only a part is read here: not where the list has empty files, so
	 * that places of the forecast are not those of the sampler. */
	if (hypothesis->list && hypothesis->sampler.part.world <= 1 &&
	    files == hypothesis->list->count)
		batches_new(files, forecast_edge(forecast), &track->batches);
	oracle->ops.follow(oracle->ops.context, forecast);
}

/* Whether two epochs deal one permutation to as many ranks. */
static bool same_permutation(const struct hypothesis *a, const struct hypothesis *b)
{
	return a->list == b->list && a->sampler.seed == b->sampler.seed &&
	       a->sampler.skip == b->sampler.skip &&
	       sampler_world(&a->sampler) == sampler_world(&b->sampler);
}

bool oracle_same_order(const struct hypothesis *a, const struct hypothesis *b)
{
	return same_permutation(a, b) && a->sampler.part.first == b->sampler.part.first;
}

bool oracle_follows(const struct oracle *oracle, const struct hypothesis *hypothesis)
{
	for (unsigned i = 0; i < oracle->count; i++)
		if (oracle_same_order(&oracle->tracks[i].hypothesis, hypothesis) &&
		    !oracle->tracks[i].ended)
			return true;
	return false;
}

void oracle_remember(struct oracle *oracle, const struct hypothesis *hypothesis)
{
	const struct hypothesis *known = oracle->known;
	unsigned at = 0;

	if (!hypothesis->list)
		return;
	while (at < oracle->known_count && !(oracle_same_order(&known[at], hypothesis) &&
					     known[at].sampler.root == hypothesis->sampler.root &&
					     known[at].sampler.word == hypothesis->sampler.word))
		at++;
	if (at == oracle->known_count && oracle->known_count < GUESS_KNOWN)
		oracle->known_count++;
	if (at == GUESS_KNOWN)
		at--;
	memmove(&oracle->known[1], &oracle->known[0], at * sizeof(*hypothesis));
	oracle->known[0] = *hypothesis;
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

void oracle_join_ranks(struct oracle *oracle, const struct track *track, struct sampler *next)
{
	uint32_t world = sampler_world(next);

	if (sampler_world(&track->hypothesis.sampler) <= 1)
		return;
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *other = &oracle->tracks[i];
		struct sampler beside = other->hypothesis.sampler;

		if (other == track || oracle_has_next(oracle, other) || other->fed_by < SURE ||
		    !same_permutation(&track->hypothesis, &other->hypothesis))
			continue;
		/* The next epoch may deal its places to the ranks in another order. */
		beside.part.first +=
			next->part.first + world - track->hypothesis.sampler.part.first;
		beside.part.first %= world;
		if (sampler_add_ranks(next, &beside))
			other->joined = track->id;
	}
}

/* --- lists ------------------------------------------------------------------------------------ */

static bool list_in_use(const struct oracle *oracle, const struct order_list *list)
{
	for (unsigned i = 0; i < oracle->count; i++)
		if (oracle->tracks[i].hypothesis.list == list)
			return true;
	for (unsigned i = 0; i < oracle->known_count; i++)
		if (oracle->known[i].list == list)
			return true;
	return false;
}

void oracle_drop_lists(struct oracle *oracle)
{
	unsigned count = 0;

	for (unsigned i = 0; i < oracle->list_count; i++) {
		if (list_in_use(oracle, oracle->lists[i]))
			oracle->lists[count++] = oracle->lists[i];
		else
			order_list_free(oracle->lists[i]);
	}
	oracle->list_count = count;
}

/* --- what was asked for ---------------------------------------------------------------------- */

/* The track that foresees a file. Of two the one that its reader follows, or that was fed last: the
 * other one foresees it by chance. */
static struct track *find_track(struct oracle *oracle, uint64_t goes_by, uint32_t file)
{
	struct track *found = NULL;

	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];

		if (!forecast_foresees(track->forecast, file))
			continue;
		if (!found || track->id == goes_by ||
		    (found->id != goes_by && track->fed > found->fed))
			found = track;
	}
	return found;
}

/* A reader that never followed a forecast says nothing about it, nor do the last files of the epoch
 * before, and what its readers ask for beside them. */
static void judge_tracks(struct oracle *oracle, uint64_t goes_by, const struct track *fed,
			 uint32_t file)
{
	const struct track *by = watch_follows(oracle->watch) ? oracle_track(oracle, goes_by) : fed;

	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];

		if (track == fed)
			continue;
		if (!by || !by->ended || track->began < by->ended)
			track->passed += forecast_has(track->forecast, file);
		if (!fed && track->id == goes_by)
			forecast_saw(track->forecast, file);
	}
}

static void note_stray(struct oracle *oracle)
{
	for (unsigned i = 0; i < oracle->count; i++)
		oracle->tracks[i].strays += !watch_follows(oracle->watch);
}

static void note(struct oracle *oracle, uint32_t file)
{
	uint64_t goes_by = watch_goes_by(oracle->watch);
	struct track *track = find_track(oracle, goes_by, file);
	double chance;

	judge_tracks(oracle, goes_by, track, file);
	if (!track) {
		watch_note(oracle->watch, 0, 0);
		note_stray(oracle);
		/* A file that was not foreseen, of a reader that follows no order, is of an epoch
		 * whose order is not known, or of a scan. */
		if (!watch_follows(oracle->watch)) {
			oracle->missed += !oracle->known_count && !watch_goes_on(oracle->watch);
			for (unsigned i = 0; i < oracle->known_count; i++)
				oracle->known[i].missed +=
					order_list_find(oracle->known[i].list, file) != ORDER_NONE;
		}
		return;
	}
	/* How much more rarely than its own readers somebody else is foreseen so: by any of the
	 * tracks. One that has followed the track may go on with anything. */
	chance = forecast_rarity(track->forecast, file) * oracle->count;
	if (track->id == goes_by)
		chance = fmin(chance, fmin(forecast_chance(track->forecast) * oracle->count, 1));
	forecast_saw(track->forecast, file);
	track->fed = watch_turns(oracle->watch);
	track->fed_by++;
	if (!watch_note(oracle->watch, track->id, chance)) {
		track->passed++;
		note_stray(oracle);
		return;
	}
	if (!track->remembered)
		oracle_remember(oracle, &track->hypothesis);
	track->remembered = true;
	if (track->batches)
		batches_saw(track->batches, forecast_place(track->forecast, file));
	track->passed = track->strays = 0;
}

/* How many files others may ask for while nobody does for those of the track: an order that was
 * given is believed for longer. */
static uint64_t patience(const struct track *track)
{
	bool is_read = track->remembered && !track->ended;

	return is_read || !track->hypothesis.list ? FORSAKEN : OUTLIVED;
}

/* Whether an epoch over the same list that began after this one ended is well under way. */
static bool is_superseded(const struct oracle *oracle, const struct track *track)
{
	for (unsigned i = 0; track->ended && i < oracle->count; i++) {
		const struct track *other = &oracle->tracks[i];

		if (other->began >= track->ended && other->id > track->id &&
		    other->hypothesis.list == track->hypothesis.list && other->remembered &&
		    other->fed_by >= BEGUN)
			return true;
	}
	return false;
}

/* Returns whether the tracks are others now. */
static bool tend(struct oracle *oracle, unsigned at)
{
	struct track *track = &oracle->tracks[at];
	bool is_forsaken;

	if (!track->ended && forecast_ended(track->forecast))
		track->ended = watch_turns(oracle->watch);
	/* Its job ended early, or another epoch began than was foretold. While what others ask for
	 * is not of its list, but of one for validation perhaps, it waits for as many files as it
	 * has. */
	is_forsaken = track->passed >= patience(track) ||
		      (track->hypothesis.list &&
		       track->strays >= max(FORSAKEN, forecast_count(track->forecast)));
	if (forecast_lost(track->forecast) || is_forsaken) {
		oracle->unlocks += !track->ended;
		track_end(oracle, at);
		return true;
	}
	if (is_superseded(oracle, track)) {
		track_end(oracle, at);
		return true;
	}
	if (track->ended && track->next_forecast) {
		/* Begins the next epoch, while the last files of this one may still come. */
		struct hypothesis next = track->next;
		struct forecast *forecast = track->next_forecast;

		track->next_forecast = NULL;
		track->followed_up = true;
		for (unsigned i = 0; i < oracle->count; i++)
			if (oracle->tracks[i].joined == track->id)
				oracle->tracks[i].followed_up = true;
		forecast_continue(forecast, track->forecast);
		oracle_begin(oracle, &next, forecast);
		return true;
	}
	return false;
}

void oracle_saw(struct oracle *oracle, uint32_t reader, uint32_t file)
{
	if (!watch_turn(oracle->watch, reader, file))
		return;
	note(oracle, file);
	for (unsigned i = 0; i < oracle->count;)
		i = tend(oracle, i) ? 0 : i + 1;
}

void oracle_pushed(struct oracle *oracle, uint32_t file)
{
	for (unsigned i = 0; i < oracle->count; i++)
		forecast_push(oracle->tracks[i].forecast, file);
}

uint64_t oracle_turns(const struct oracle *oracle)
{
	return watch_turns(oracle->watch);
}

/* --- explicit orders ------------------------------------------------------------------------- */

uint32_t *oracle_next_epoch(struct oracle *oracle, uint32_t *ret_count)
{
	uint32_t from = oracle->order_at < oracle->order_count ? oracle->order_at : 0;
	uint64_t most = min(oracle->order_count - from, oracle->files);
	SCOPE_FREE uint8_t *seen = calloc(1, oracle->files / 8 + 1);
	uint32_t *files = malloc(most * sizeof(*files)), *shorter, at = from, count = 0;

	if (!seen || !files) {
		free(files);
		return NULL;
	}
	for (; at < oracle->order_count; at++)
		if (!bit_set(seen, oracle->order[at]))
			files[count++] = oracle->order[at];
		else if (count >= oracle->order_least)
			break;
	oracle->order_from = from;
	oracle->order_at = at;
	*ret_count = count;
	shorter = realloc(files, count * sizeof(*files));
	return shorter ? shorter : files;
}

static void drop_order(struct oracle *oracle)
{
	for (unsigned i = oracle->count; i-- > 0;)
		if (!oracle->tracks[i].hypothesis.list)
			track_end(oracle, i);
	free(oracle->order);
	oracle->order = NULL;
	oracle->order_count = oracle->order_at = 0;
}

int oracle_order(struct oracle *oracle, const uint32_t *files, uint32_t count)
{
	const struct hypothesis none = {0};
	SCOPE_FREE uint8_t *hidden = NULL;
	SCOPE_FREE uint8_t *seen = NULL;
	struct forecast *forecast;
	uint32_t *epoch, length, distinct = 0;

	drop_order(oracle);
	if (count == 0)
		return 0;
	oracle->order = malloc(count * sizeof(*files));
	if (!oracle->order)
		return -ENOMEM;
	memcpy(oracle->order, files, count * sizeof(*files));
	oracle->order_count = count;
	/* Drawn with replacement, or some times each (RASampler), a file that comes again says
	 * little, and epochs that end there would be over before the next one is made. */
	seen = calloc(1, oracle->files / 8 + 1);
	for (uint32_t at = 0; seen && at < count; at++)
		distinct += !bit_set(seen, files[at]);
	oracle->order_least = (uint32_t)min(distinct / 2, EPOCH_LEAST);
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

void oracle_state(const struct oracle *oracle, struct oracle_state *ret)
{
	const struct track *track = NULL; /* the one that was fed last */

	*ret = (struct oracle_state){
		.unusual = oracle->unusual, .locks = oracle->locks, .unlocks = oracle->unlocks};
	for (unsigned i = 0; i < oracle->count; i++) {
		const struct track *each = &oracle->tracks[i];

		/* Readers follow it, or did so lately that others have read less than half an epoch
		 * since. One that is only foretold is not told of; one that was given is from the
		 * beginning. */
		if (each->remembered ? each->strays >= patience(each) ||
					       each->strays > forecast_count(each->forecast) / 2
				     : each->hypothesis.list || each->hypothesis.epoch > 0)
			continue;
		ret->tracks++;
		/* One that was found after its last file has ended, whoever notes it. */
		ret->under_way += !each->ended && !forecast_ended(each->forecast);
		if (!track || each->fed > track->fed)
			track = each;
	}
	ret->why = oracle->why == ORACLE_IDLE && watch_turns(oracle->watch) ? ORACLE_TOO_FEW
									    : oracle->why;
	if (!track)
		return;
	if (track->hypothesis.list) {
		sampler_name(&track->hypothesis.sampler, ret->sampler);
		snprintf(ret->list, sizeof(ret->list), "%s", track->hypothesis.list->name);
	} else {
		snprintf(ret->sampler, sizeof(ret->sampler), "given");
	}
	ret->seed = track->hypothesis.sampler.seed;
	ret->epoch = track->hypothesis.epoch;
	ret->position = forecast_position(track->forecast);
	ret->files = forecast_count(track->forecast);
}
