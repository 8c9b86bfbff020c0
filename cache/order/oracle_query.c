/* Queries: what can be found out, how, and what follows from it. */
#include "base/math.h"
#include "cache/order/oracle_internal.h"
#include "cache/order/streams.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESULTS 4
#define ORIGINS 8		      /* found for one seed, at most */
#define OUTPUTS ((uint64_t)200000000) /* of each generator: initial weights come before seeds */

/* A hypothesis that was found, and its forecast. */
struct result {
	struct hypothesis hypothesis;
	unsigned seen;	 /* of its files; of the first one it does not matter */
	uint32_t *files; /* in the order of the hypothesis */
	uint32_t count;
	struct forecast *forecast; /* NULL: no memory */
};

enum query_kind {
	QUERY_ORDER,  /* which order do readers follow? */
	QUERY_NEXT,   /* a track's next epoch */
	QUERY_PART,   /* the part of a track that is read here */
	QUERY_ORIGIN, /* which generator does a track's seed come from? */
};

struct query {
	enum query_kind kind;
	uint64_t track;			/* all but QUERY_ORDER: its id */
	struct result results[RESULTS]; /* several: masks beside images */
	unsigned result_count;
	bool given_up;	/* hooks->stopped said so */
	bool postponed; /* for what it takes */

	/* QUERY_ORDER: */
	struct observations observations;
	uint64_t since;		   /* the turn with which the readers in question began */
	unsigned efforts;	   /* guess() */
	enum oracle_why why;	   /* nothing was found */
	uint64_t group;		   /* of the readers, as in watch_stage() */
	uint64_t kinds[WATCH_LOG]; /* of the files that were seen */
	struct choose_kinds asked; /* the oracle's */
	struct order_list *lists[2 * GUESS_LISTS]; /* found on the way: asked for, and what
						    * goes along */
	unsigned list_count;
	unsigned lists_known; /* of observations.lists, with those that do not count */

	/* QUERY_ORIGIN: */
	struct sampler origins[ORIGINS];
	unsigned origin_count;
};

static bool is_search(const struct query *query)
{
	return query && (query->kind == QUERY_ORDER || query->kind == QUERY_ORIGIN);
}

/* --- asking ---------------------------------------------------------------------------------- */

/* Whether a track has a question, and the hypothesis that it is about (*ret is the track's). */
typedef bool wants_fn(struct oracle *oracle, struct track *track, struct hypothesis *ret);

/* Its next epoch is known but not made. */
static bool has_to_make_next(struct oracle *oracle, const struct track *track)
{
	const struct hypothesis *hypothesis = &track->hypothesis;

	return !oracle_has_next(oracle, track) && track->fed_by > 0 &&
	       forecast_is_half(track->forecast) &&
	       (!hypothesis->list || sampler_next_is_known(&hypothesis->sampler));
}

static bool wants_next(struct oracle *oracle, struct track *track, struct hypothesis *ret)
{
	struct sampler next[SAMPLER_NEXT];

	if (!has_to_make_next(oracle, track))
		return false;
	ret->epoch++;
	if (!ret->list)
		return true;
	sampler_next(&track->hypothesis.sampler, ret->list->count, next);
	ret->sampler = next[0];
	oracle_join_ranks(oracle, track, &ret->sampler);
	return true;
}

/* Only some of its batches are read here. */
static bool wants_part(struct oracle *oracle, struct track *track, struct hypothesis *ret)
{
	(void)oracle;
	return track->batches && batches_known(track->batches, &ret->sampler.part);
}

/* A seed that took a search came from some generator: which one says what the next seed is. */
static bool wants_origin(struct oracle *oracle, struct track *track, struct hypothesis *ret)
{
	(void)oracle;
	return track->origin_searches < ORIGIN_SEARCHES && ret->list &&
	       ret->sampler.rule == SAMPLER_UNKNOWN && !ret->sampler.skip &&
	       ret->sampler.seed >= GUESS_SMALL && ++track->origin_searches;
}

static struct query *ask_tracks(struct oracle *oracle, enum query_kind kind, wants_fn *wants)
{
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];
		struct hypothesis hypothesis = track->hypothesis;
		struct query *query;

		if (!wants(oracle, track, &hypothesis))
			continue;
		query = calloc(1, sizeof(*query));
		if (!query)
			return NULL;
		query->kind = kind;
		query->track = track->id;
		query->results[0].hypothesis = hypothesis;
		query->result_count = kind != QUERY_ORIGIN;
		return query;
	}
	return NULL;
}

static struct query *ask_next(struct oracle *oracle)
{
	struct query *query = ask_tracks(oracle, QUERY_NEXT, wants_next);
	struct result *result = query ? &query->results[0] : NULL;

	if (!query || result->hypothesis.list)
		return query;
	result->files = oracle_next_epoch(oracle, &result->count);
	if (result->files)
		return query;
	free(query);
	return NULL;
}

/* Whether a long search is worth it: once there is enough, and a last time with all that there will
 * be. */
static bool is_time(uint64_t stage, uint64_t last)
{
	uint64_t reached = stage & 7;

	return stage != last &&
	       (reached == SEARCH_LAST || (reached >= SEARCH_FROM && stage >> 3 != last >> 3));
}

/* What is tried of what costs much, with the stages of the longest beginning and the shortest.
 * Models first, and alone: that ends soon. */
static unsigned efforts_now(struct oracle *oracle, const struct effort *effort, uint64_t stage,
			    uint64_t all)
{
	struct asked *asked = &oracle->asked;
	unsigned efforts = 0;

	asked->ends_soon = effort->models && is_time(all, asked->models);
	if (asked->ends_soon) {
		asked->models = all;
		return GUESS_RANKS | GUESS_MODELS;
	}
	if (effort->hard && (is_time(all, asked->all_seeds) || effort->least < oracle->too_short)) {
		efforts |= GUESS_ALL;
		asked->all_seeds = all;
	}
	if (effort->hard && is_time(stage, asked->hard)) {
		efforts |= GUESS_RANKS | GUESS_MORE;
		asked->hard = stage;
	}
	return efforts;
}

/* Of all readers, that turn included. */
static uint64_t turns_since(const struct oracle *oracle, uint64_t turn)
{
	return watch_turns(oracle->watch) + 1 - turn;
}

/* What was seen, known epochs, and the latest lists. */
static void fill_observations(const struct oracle *oracle, const struct watch_group *group,
			      struct observations *observations)
{
	unsigned first = oracle->list_count > GUESS_LISTS ? oracle->list_count - GUESS_LISTS : 0;
	uint64_t turns = turns_since(oracle, group->began);

	observations->count = watch_beginnings(oracle->watch, observations->seen);
	observations->shortest = group->shortest;
	memcpy(observations->known, oracle->known, sizeof(oracle->known));
	observations->known_count = oracle->known_count;
	for (unsigned i = 0; i < oracle->known_count; i++)
		observations->known[i].missed = sub_sat(oracle->known[i].missed, turns);
	for (unsigned i = first; i < oracle->list_count; i++)
		observations->lists[observations->list_count++] = oracle->lists[i];
}

/* Whether a reader belongs to the group now that began before those that were asked about: the first
 * files may be its own. */
static bool has_older(const struct oracle *oracle, const struct watch_group *group)
{
	return group->youngest == oracle->asked.group && group->began < oracle->asked.began;
}

/* As if nothing had been asked about these readers. */
static void ask_anew(struct oracle *oracle)
{
	oracle->asked = (struct asked){.group = oracle->asked.group, .kinds = oracle->asked.kinds};
}

static struct query *ask_order(struct oracle *oracle, const struct effort *effort)
{
	const struct watch_group group = watch_group(oracle->watch);
	uint64_t stage = watch_stage(&group, group.longest);
	uint64_t shortest = watch_stage(&group, group.shortest);
	unsigned efforts;
	struct query *query;

	if (!effort->guess || stage == 0)
		return NULL;
	if (has_older(oracle, &group))
		ask_anew(oracle);
	efforts = efforts_now(oracle, effort, stage, shortest);
	if (stage == oracle->asked.stage && !efforts)
		return NULL;
	query = calloc(1, sizeof(*query));
	if (!query)
		return NULL;
	if (oracle->asked.group != stage >> 3) {
		oracle->why = ORACLE_TOO_FEW;
		oracle->asked.kinds.count = 0;
		oracle_drop_lists(oracle);
	}
	oracle->asked.stage = stage;
	oracle->asked.shortest = shortest;
	oracle->asked.group = stage >> 3;
	oracle->asked.began = group.began;
	fill_observations(oracle, &group, &query->observations);
	query->observations.least = effort->least;
	query->since = group.began;
	query->efforts = GUESS_LIKELY | efforts;
	query->why = effort->hard || (stage & 7) < SEARCH_FROM ? ORACLE_TOO_FEW : ORACLE_NO_NEED;
	query->group = stage >> 3;
	query->asked = oracle->asked.kinds;
	query->lists_known = query->observations.list_count;
	if (query->observations.count > 0)
		return query;
	free(query);
	return NULL;
}

struct query *oracle_ask(struct oracle *oracle, const struct effort *effort)
{
	struct query *query;

	if (oracle->asking)
		return NULL;
	query = ask_tracks(oracle, QUERY_PART, wants_part);
	if (!query)
		query = ask_next(oracle);
	if (!query)
		query = ask_order(oracle, effort);
	if (!query && effort->guess)
		query = ask_tracks(oracle, QUERY_ORIGIN, wants_origin);
	oracle->asking = query;
	if (query)
		query->observations.hidden = oracle->ops.hidden(oracle->ops.context);
	return query;
}

/* How much the beginnings say: 0 hardly anything, 1 enough for long searches, 2 all that they will.
 * */
static unsigned worth(uint64_t stage)
{
	uint64_t reached = stage & 7;

	return reached < SEARCH_FROM ? 0 : reached < SEARCH_LAST ? 1 : 2;
}

/* By a track: that takes far less time than a search. */
static bool is_waited_for(struct oracle *oracle)
{
	struct hypothesis ignored;

	for (unsigned i = 0; i < oracle->count; i++)
		if (wants_part(oracle, &oracle->tracks[i], &ignored) ||
		    has_to_make_next(oracle, &oracle->tracks[i]))
			return true;
	return false;
}

bool oracle_has_new(struct oracle *oracle, bool all_seeds)
{
	const struct watch_group group = watch_group(oracle->watch);
	const struct asked *asked = &oracle->asked;
	uint64_t stage = watch_stage(&group, group.longest);
	uint64_t shortest = watch_stage(&group, group.shortest);

	if (is_search(oracle->asking) && is_waited_for(oracle))
		return true;
	if (stage >> 3 != asked->group)
		return worth(stage) > 0;
	if (has_older(oracle, &group))
		return true;
	return asked->stage && !asked->ends_soon && !all_seeds &&
	       (worth(stage) > worth(asked->stage) || worth(shortest) > worth(asked->shortest));
}

/* --- running --------------------------------------------------------------------------------- */

/* A list that is there already and has the same files, or NULL. */
static const struct order_list *find_known(const struct query *query, const uint32_t *files,
					   uint32_t count)
{
	for (unsigned i = 0; i < query->lists_known; i++) {
		const struct order_list *list = query->observations.lists[i];

		if (list->count == count && memcmp(list->files, files, count * sizeof(*files)) == 0)
			return list;
	}
	return NULL;
}

static int add_list(void *arg, const char *name, const uint32_t *files, uint32_t count,
		    uint32_t classes)
{
	struct query *query = arg;
	struct observations *observations = &query->observations;
	struct order_list *list;

	if (observations->list_count == GUESS_LISTS || find_known(query, files, count))
		return 0;
	if (order_list_copy(name, files, count, &list) < 0)
		return -ENOMEM;
	list->classes = classes;
	query->lists[query->list_count++] = list;
	observations->lists[observations->list_count++] = list;
	query->lists_known++;
	return 0;
}

static void ask_about(struct query *query, const struct oracle_hooks *hooks, unsigned at)
{
	choose_note(&query->asked, query->kinds[at]);
	hooks->lists(hooks->context, query->observations.seen[at].file, add_list, query);
}

/* For one kind of files that counts. A text that names the images may come first, and its lists say
 * nothing of how these are numbered; but the lists of all files have the images too. Where masks
 * lie beside images, lists are made for the last mask as well. */
static void ask_lists(struct query *query, const struct oracle_hooks *hooks)
{
	const struct observations *observations = &query->observations;
	const struct order_list *list;
	unsigned at;

	for (unsigned i = 0; i < observations->count; i++)
		query->kinds[i] = hooks->kind(hooks->context, observations->seen[i].file);
	at = choose_file(query->kinds, observations->count, &query->asked);
	if (at == observations->count)
		return;
	ask_about(query, hooks, at);
	list = choose_likeliest(observations);
	if (!list || !choose_is_share(observations->count - choose_seen(observations, list),
				      observations->count))
		return;
	for (at = observations->count - 1;
	     order_list_find(list, observations->seen[at].file) != ORDER_NONE;)
		at--;
	ask_about(query, hooks, at);
}

/* The files of the likeliest list, if all are read before a search of all seeds ends; else 0. */
static uint32_t too_short(const struct observations *observations)
{
	uint32_t files = observations->list_count > 0 ? observations->lists[0]->count : 0;

	return files < observations->least ? files : 0;
}

static bool have_common_file(const struct order_list *a, const struct order_list *b)
{
	return order_list_find(a, b->files[0]) != ORDER_NONE ||
	       order_list_find(b, a->files[0]) != ORDER_NONE;
}

/* Of lists of the same files takes the one of which most was seen. Returns whether it takes this
 * one. */
static bool take_along(struct query *query, const struct order_list *list)
{
	unsigned seen = guess_goes_along(&query->observations, &query->results[0].hypothesis, list);
	unsigned at = 1;

	while (at < query->result_count &&
	       !have_common_file(query->results[at].hypothesis.list, list))
		at++;
	if (at == RESULTS || seen <= query->results[at].seen)
		return false;
	if (at == query->result_count)
		query->result_count++;
	query->results[at] =
		(struct result){.hypothesis = query->results[0].hypothesis, .seen = seen};
	query->results[at].hypothesis.list = list;
	return true;
}

static int add_along(void *arg, const char *name, const uint32_t *files, uint32_t count,
		     uint32_t classes)
{
	struct query *query = arg;
	struct order_list *list;

	if (count != query->results[0].hypothesis.list->count ||
	    query->list_count == sizeof(query->lists) / sizeof(query->lists[0]) ||
	    find_known(query, files, count))
		return 0;
	if (order_list_copy(name, files, count, &list) < 0)
		return -ENOMEM;
	list->classes = classes;
	if (take_along(query, list))
		query->lists[query->list_count++] = list;
	else
		order_list_free(list);
	return 0;
}

static bool is_explained(const struct query *query, uint32_t file)
{
	for (unsigned i = 0; i < query->result_count; i++)
		if (order_list_find(query->results[i].hypothesis.list, file) != ORDER_NONE)
			return true;
	return false;
}

/* The same sampler over other lists (masks beside images): those that are there; and where a share
 * of the files is in none of these, the lists of the last such file. */
static void query_along(struct query *query, const struct oracle_hooks *hooks)
{
	const struct observations *observations = &query->observations;
	unsigned left = 0, last = 0;

	for (unsigned i = 0; i < observations->list_count; i++)
		take_along(query, observations->lists[i]);
	for (unsigned i = 0; i < observations->count; i++)
		if (!is_explained(query, observations->seen[i].file)) {
			left++;
			last = i;
		}
	if (choose_is_share(left, observations->count))
		hooks->lists(hooks->context, observations->seen[last].file, add_along, query);
}

static enum oracle_why why_nothing(const struct query *query)
{
	if (guess_is_scan(&query->observations))
		return ORACLE_PATH_ORDER;
	if (query->efforts & GUESS_ALL)
		return too_short(&query->observations) ? ORACLE_TOO_SHORT : ORACLE_UNKNOWN;
	return query->why;
}

static void run_order(struct query *query, const struct oracle_hooks *hooks)
{
	struct observations *observations = &query->observations;
	unsigned efforts = query->efforts;

	ask_lists(query, hooks);
	choose_lists(observations);
	if (too_short(observations))
		efforts &= ~(unsigned)GUESS_ALL;
	query->result_count =
		guess(observations, efforts, &hooks->search, &query->results[0].hypothesis);
	if (query->result_count)
		query_along(query, hooks);
	else
		query->why = why_nothing(query);
}

static void make_forecast(struct result *result, const uint8_t *hidden)
{
	if (!result->files)
		result->files = hypothesis_files(&result->hypothesis, &result->count);
	if (result->files && result->count &&
	    forecast_new(result->files, result->count, hidden, &result->forecast) == 0)
		result->files = NULL;
}

void oracle_run(struct query *query, const struct oracle_hooks *hooks)
{
	if (query->kind == QUERY_ORDER)
		run_order(query, hooks);
	if (query->kind == QUERY_ORIGIN)
		query->origin_count =
			streams_origins(&query->results[0].hypothesis.sampler, OUTPUTS,
					&hooks->search, query->origins, ORIGINS);
	query->given_up = hooks->search.stopped(hooks->search.context);
	for (unsigned i = 0; i < query->result_count; i++)
		make_forecast(&query->results[i], query->observations.hidden);
}

/* --- answers --------------------------------------------------------------------------------- */

static void take_lists(struct oracle *oracle, struct query *query, bool found)
{
	for (unsigned i = 0; i < query->list_count; i++) {
		if (oracle->list_count == ORACLE_LISTS)
			oracle_drop_lists(oracle);
		oracle->lists[oracle->list_count++] = query->lists[i];
	}
	if (found)
		oracle_drop_lists(oracle);
}

static void say(const struct hypothesis *hypothesis, char ret[ORACLE_SENTENCE])
{
	char name[SAMPLER_NAME];

	snprintf(ret, ORACLE_SENTENCE, "%s over %s, seed %u",
		 sampler_name(&hypothesis->sampler, name), hypothesis->list->name,
		 hypothesis->sampler.seed);
}

/* What readers have asked for since a query's began. */
struct came {
	const struct forecast *forecast;
	uint64_t turns;
};

static bool has_come(const void *context, uint32_t file)
{
	const struct came *came = context;

	return forecast_came(came->forecast, file, came->turns);
}

/* Those that began meanwhile, too. How others began is still to be explained. */
static void explain_readers(struct oracle *oracle, const struct query *query,
			    const struct track *track)
{
	const struct came came = {track->forecast, turns_since(oracle, query->since)};
	double chance = fmin(1, (double)came.turns / forecast_count(track->forecast));

	watch_explain(oracle->watch, query->since, track->id, chance, has_come, &came);
}

/* The first order that is known may be that of a later epoch. */
static uint64_t epochs_before(const struct oracle *oracle, const struct query *query,
			      const struct forecast *forecast)
{
	uint64_t files = forecast_count(forecast);
	uint64_t missed = sub_sat(oracle->missed, turns_since(oracle, query->since));

	return oracle->known_count || files == 0 ? 0 : (missed + files / 2) / files;
}

static bool take_hypothesis(struct oracle *oracle, struct result *result, const struct query *query)
{
	uint32_t recent[WATCH_RECENT];

	if (!result->forecast || oracle_follows(oracle, &result->hypothesis))
		return false;
	result->hypothesis.epoch += epochs_before(oracle, query, result->forecast);
	forecast_start(result->forecast, recent, watch_recent(oracle->watch, query->since, recent));
	oracle_begin(oracle, &result->hypothesis, result->forecast);
	explain_readers(oracle, query, &oracle->tracks[oracle->count - 1]);
	result->forecast = NULL;
	oracle_remember(oracle, &result->hypothesis);
	oracle->tracks[oracle->count - 1].remembered = true;
	oracle->locks++;
	return true;
}

static void take_next(struct oracle *oracle, struct query *query)
{
	struct track *track = oracle_track(oracle, query->track);
	struct result *result = &query->results[0];

	if (track && !result->forecast && !result->hypothesis.list)
		oracle->order_at -= result->count; /* it will be made again */
	if (!track || !result->forecast)
		return;
	track->next = result->hypothesis;
	track->next_forecast = result->forecast;
	result->forecast = NULL;
}

/* The track goes on where its readers are, with the part that is read here. */
static bool take_part(struct oracle *oracle, struct query *query, char ret[ORACLE_SENTENCE])
{
	struct track *track = oracle_track(oracle, query->track);
	struct result *result = &query->results[0];
	uint32_t recent[WATCH_RECENT];

	if (!track)
		return false;
	batches_free(track->batches);
	track->batches = NULL;
	if (!result->forecast)
		return false;
	forecast_start(result->forecast, recent, watch_recent(oracle->watch, 0, recent));
	oracle->ops.leave(oracle->ops.context, track->forecast);
	forecast_free(track->forecast);
	forecast_free(track->next_forecast);
	track->next_forecast = NULL;
	track->ended = 0;
	track->forecast = result->forecast;
	track->hypothesis = result->hypothesis;
	result->forecast = NULL;
	oracle->ops.follow(oracle->ops.context, track->forecast);
	oracle_remember(oracle, &track->hypothesis);
	say(&track->hypothesis, ret);
	return true;
}

/* Several may be right by chance: the next epoch shows which. */
static void take_origins(struct oracle *oracle, const struct query *query)
{
	struct track *track = oracle_track(oracle, query->track);

	if (track && !query->given_up)
		track->origin_searches = ORIGIN_SEARCHES;
	for (unsigned i = 0; i < query->origin_count; i++) {
		struct hypothesis hypothesis = query->results[0].hypothesis;

		hypothesis.sampler = query->origins[i];
		oracle_remember(oracle, &hypothesis);
	}
}

/* What was tried for these readers before still counts. */
static void note_why(struct oracle *oracle, const struct query *query, bool found)
{
	if (found)
		oracle->why = ORACLE_TOO_FEW; /* for those that come next */
	else if (!query->given_up && (query->why == ORACLE_PATH_ORDER || query->why > oracle->why))
		oracle->why = query->why;
}

static void query_free(struct query *query)
{
	for (unsigned i = 0; i < query->result_count; i++) {
		forecast_free(query->results[i].forecast);
		free(query->results[i].files);
	}
	free(query->observations.hidden);
	free(query);
}

/* Readers may have paused: once more, but not for some that pause after each file. */
static void ask_again(struct oracle *oracle, uint64_t group)
{
	if (group == oracle->given_up)
		return;
	oracle->given_up = group;
	ask_anew(oracle);
}

void oracle_postpone(struct query *query)
{
	query->postponed = true;
}

static bool take_order(struct oracle *oracle, struct query *query, char ret[ORACLE_SENTENCE])
{
	bool found = false;

	for (unsigned i = query->result_count; i-- > 0;)
		if (take_hypothesis(oracle, &query->results[i], query)) {
			say(&query->results[i].hypothesis, ret);
			found = true;
		}
	oracle->asked.kinds = query->asked;
	note_why(oracle, query, found);
	if (query->efforts & GUESS_ALL)
		oracle->too_short = too_short(&query->observations);
	if (!found && query->postponed)
		oracle->asked.models = oracle->asked.hard = oracle->asked.all_seeds = 0;
	else if (!found && query->given_up)
		ask_again(oracle, query->group);
	return found;
}

bool oracle_answer(struct oracle *oracle, struct query *query, char ret[ORACLE_SENTENCE])
{
	bool found = false;

	if (query->kind == QUERY_ORDER)
		found = take_order(oracle, query, ret);
	else if (query->kind == QUERY_PART)
		found = take_part(oracle, query, ret);
	else if (query->kind == QUERY_NEXT)
		take_next(oracle, query);
	else
		take_origins(oracle, query);
	if (found) { /* other readers may have begun too */
		oracle->asked.stage = oracle->asked.hard = 0;
		oracle->asked.kinds.count = 0;
	}
	take_lists(oracle, query, found);
	query_free(query);
	oracle->asking = NULL;
	return found;
}
