/* Queries: what can be found out, how, and what follows from it. */
#include "cache/order/oracle_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESULTS 4
#define ROOTS	8		      /* found for one seed, at most */
#define OUTPUTS ((uint64_t)200000000) /* of each generator: initial weights come before seeds */
#define STEP	((uint64_t)4000000)   /* outputs between two looks at hooks->stopped */

/* A hypothesis that was found, and its forecast. */
struct result {
	struct hypothesis hypothesis;
	unsigned seen;	 /* of its files; of the first one it does not matter */
	uint32_t *files; /* in the order of the hypothesis */
	uint32_t count;
	struct forecast *forecast; /* NULL: no memory */
};

/* One of four: which order readers follow; a track's next epoch (track); the part of a track that
 * is read here (track, part); the generator that a track's seed comes from (rooted). */
struct query {
	struct observations observations;
	uint64_t since;		   /* the turn with which the readers in question began */
	bool models;		   /* GUESS_MODELS */
	bool hard;		   /* GUESS_MORE */
	bool all_seeds;		   /* GUESS_ALL */
	enum oracle_why why;	   /* nothing was found */
	uint64_t group;		   /* of the readers, as in watch_stage() */
	uint64_t kinds[WATCH_LOG]; /* of the files that were seen */
	struct choose_kinds asked; /* the oracle's */
	struct order_list *lists[2 * GUESS_LISTS]; /* found on the way: asked for, and what
						    * goes along */
	unsigned list_count;
	unsigned lists_known;		/* of observations.lists, with those that do not count */
	uint64_t track;			/* 0: none */
	bool part;			/* of this epoch, not the next one */
	struct result results[RESULTS]; /* several: masks beside images */
	unsigned result_count;
	struct hypothesis rooted; /* list NULL: not this one */
	bool given_up;		  /* hooks->stopped said so */
	struct sampler roots[ROOTS];
	unsigned root_count;
};

/* --- asking ---------------------------------------------------------------------------------- */

/* A track whose next epoch is known but not made. */
static struct track *find_next_wanted(struct oracle *oracle, struct hypothesis *ret)
{
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];
		struct sampler next[SAMPLER_NEXT];

		if (oracle_has_next(oracle, track) || track->fed_by == 0 ||
		    !forecast_is_half(track->forecast))
			continue;
		*ret = track->hypothesis;
		ret->epoch++;
		if (!track->hypothesis.list)
			return track;
		if (!sampler_next_is_known(&track->hypothesis.sampler))
			continue;
		sampler_next(&track->hypothesis.sampler, track->hypothesis.list->count, next);
		ret->sampler = next[0];
		oracle_join_ranks(oracle, track, &ret->sampler);
		return track;
	}
	return NULL;
}

static struct query *ask_next(struct oracle *oracle)
{
	struct hypothesis hypothesis;
	const struct track *track = find_next_wanted(oracle, &hypothesis);
	struct query *query = track ? calloc(1, sizeof(*query)) : NULL;
	struct result *result;

	if (!query)
		return NULL;
	result = &query->results[0];
	result->hypothesis = hypothesis;
	if (!hypothesis.list) {
		result->files = oracle_next_epoch(oracle, &result->count);
		if (!result->files) {
			free(query);
			return NULL;
		}
	}
	query->result_count = 1;
	query->track = track->id;
	return query;
}

/* A track of which only some batches are read here. */
static struct query *ask_part(struct oracle *oracle)
{
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];
		struct sampler_part part;
		struct query *query;

		if (!track->batches || !batches_known(track->batches, &part))
			continue;
		query = calloc(1, sizeof(*query));
		if (!query)
			return NULL;
		query->results[0].hypothesis = track->hypothesis;
		query->results[0].hypothesis.sampler.part = part;
		query->result_count = 1;
		query->track = track->id;
		query->part = true;
		return query;
	}
	return NULL;
}

/* Whether a long search is worth it: once there is enough, and a last time with all that there will
 * be. */
static bool is_time(uint64_t stage, uint64_t last)
{
	uint64_t doubled = stage & 7;

	return stage != last &&
	       (doubled == SEARCH_LAST || (doubled >= SEARCH_FROM && stage >> 3 != last >> 3));
}

/* What was seen, known epochs, and the latest lists. */
static void fill_observations(const struct oracle *oracle, struct observations *observations)
{
	unsigned first = oracle->list_count > GUESS_LISTS ? oracle->list_count - GUESS_LISTS : 0;

	observations->count = watch_beginnings(oracle->watch, observations->seen);
	observations->shortest = watch_shortest(oracle->watch);
	memcpy(observations->known, oracle->known, sizeof(oracle->known));
	observations->known_count = oracle->known_count;
	for (unsigned i = first; i < oracle->list_count; i++)
		observations->lists[observations->list_count++] = oracle->lists[i];
}

static struct query *ask_guess(struct oracle *oracle, const struct effort *effort)
{
	struct query *query;
	uint64_t stage = watch_stage(oracle->watch);
	uint64_t all = watch_stage_of_all(oracle->watch);
	bool search = effort->hard &&
		      (is_time(all, oracle->searched) || effort->least < oracle->too_short);
	bool hard = effort->hard && is_time(stage, oracle->asked_hard);
	bool models = effort->models && is_time(all, oracle->asked_models);
	bool any = search || hard || models;

	if (!effort->guess || stage == 0 || (stage == oracle->asked_stage && !any))
		return NULL;
	query = calloc(1, sizeof(*query));
	if (!query)
		return NULL;
	if (hard)
		oracle->asked_hard = stage;
	if (models)
		oracle->asked_models = all;
	if (oracle->asked_group != stage >> 3) {
		oracle->why = ORACLE_TOO_FEW;
		oracle->asked_kinds.count = 0;
		oracle_drop_lists(oracle);
	}
	fill_observations(oracle, &query->observations);
	query->since = watch_began(oracle->watch);
	query->models = models;
	oracle->is_patient = models && !effort->hard;
	query->hard = hard;
	query->all_seeds = search;
	query->why = effort->hard || (stage & 7) < SEARCH_FROM ? ORACLE_TOO_FEW : ORACLE_NO_NEED;
	query->group = stage >> 3;
	query->asked = oracle->asked_kinds;
	query->observations.least = effort->least;
	query->lists_known = query->observations.list_count;
	oracle->asked_group = stage >> 3;
	oracle->asked_stage = stage;
	if (search)
		oracle->searched = all;
	if (query->observations.count == 0) {
		free(query);
		return NULL;
	}
	return query;
}

/* A seed that took a search came from some generator: which one says what the next seed is. */
static struct query *ask_roots(struct oracle *oracle)
{
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];
		const struct sampler *sampler = &track->hypothesis.sampler;
		struct query *query;

		if (track->rooted == ROOTED || !track->hypothesis.list ||
		    sampler->rule != SAMPLER_UNKNOWN || sampler->skip ||
		    sampler->seed < GUESS_SMALL)
			continue;
		query = calloc(1, sizeof(*query));
		if (!query)
			return NULL;
		track->rooted++;
		query->rooted = track->hypothesis;
		return query;
	}
	return NULL;
}

struct query *oracle_ask(struct oracle *oracle, const struct effort *effort)
{
	struct query *query;

	if (oracle->thinking)
		return NULL;
	query = ask_part(oracle);
	if (!query)
		query = ask_next(oracle);
	if (!query)
		query = ask_guess(oracle, effort);
	if (!query && effort->guess)
		query = ask_roots(oracle);
	oracle->thinking = query != NULL;
	if (query)
		query->observations.hidden = oracle->ops.hidden(oracle->ops.context);
	return query;
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

static int add_list(void *arg, const char *name, const uint32_t *files, uint32_t count)
{
	struct query *query = arg;
	struct observations *observations = &query->observations;
	struct order_list *list;

	if (observations->list_count == GUESS_LISTS || find_known(query, files, count))
		return 0;
	if (order_list_new(name, files, count, &list) < 0)
		return -ENOMEM;
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

static bool query_long(struct query *query, const struct oracle_hooks *hooks,
		       struct hypothesis *ret)
{
	const struct observations *observations = &query->observations;

	if (((query->models || query->hard) &&
	     guess(observations, GUESS_RANKS, &hooks->guess, ret)) ||
	    (query->models && guess(observations, GUESS_MODELS, &hooks->guess, ret)) ||
	    (query->hard && guess(observations, GUESS_MORE, &hooks->guess, ret)))
		return true;
	if (!query->all_seeds || observations->list_count == 0 || too_short(observations))
		return false;
	hooks->takes_long(hooks->context);
	return guess(observations, GUESS_ALL, &hooks->guess, ret);
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

static int add_along(void *arg, const char *name, const uint32_t *files, uint32_t count)
{
	struct query *query = arg;
	struct order_list *list;

	if (count != query->results[0].hypothesis.list->count ||
	    query->list_count == sizeof(query->lists) / sizeof(query->lists[0]) ||
	    find_known(query, files, count))
		return 0;
	if (order_list_new(name, files, count, &list) < 0)
		return -ENOMEM;
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
	if (query->all_seeds)
		return too_short(&query->observations) ? ORACLE_TOO_SHORT : ORACLE_UNKNOWN;
	return query->why;
}

static void query_guess(struct query *query, const struct oracle_hooks *hooks)
{
	struct observations *observations = &query->observations;
	struct hypothesis *found = &query->results[0].hypothesis;

	ask_lists(query, hooks);
	choose_lists(observations);
	query->result_count = guess(observations, GUESS_LIKELY, &hooks->guess, found) ||
			      query_long(query, hooks, found);
	if (query->result_count)
		query_along(query, hooks);
	else
		query->why = why_nothing(query);
}

static void query_roots(struct query *query, const struct oracle_hooks *hooks)
{
	struct sampler_roots *roots;

	hooks->takes_long(hooks->context);
	if (sampler_roots_new(&query->rooted.sampler, &roots) < 0)
		return;
	while (query->root_count < ROOTS && sampler_roots_searched(roots) < OUTPUTS &&
	       !hooks->guess.stopped(hooks->guess.context)) {
		unsigned most = ROOTS - query->root_count, found;

		found = sampler_roots_search(roots, STEP, query->roots + query->root_count, most);
		query->root_count += found < most ? found : most;
	}
	sampler_roots_free(roots);
}

void oracle_run(struct query *query, const struct oracle_hooks *hooks)
{
	if (query->rooted.list)
		query_roots(query, hooks);
	else if (!query->track)
		query_guess(query, hooks);
	query->given_up = hooks->guess.stopped(hooks->guess.context);
	for (unsigned i = 0; i < query->result_count; i++) {
		struct result *result = &query->results[i];

		if (!result->files)
			result->files = hypothesis_files(&result->hypothesis, &result->count);
		if (result->files && result->count &&
		    forecast_new(result->files, result->count, query->observations.hidden,
				 &result->forecast) == 0)
			result->files = NULL;
	}
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

/* Readers follow it if it has a fourth of their files: mosaics read three others with each. How the
 * other readers began is still to be explained. */
static void explain_readers(struct oracle *oracle, const struct observations *observations,
			    const struct track *track)
{
	for (unsigned i = 0; i < observations->count; i++) {
		uint32_t reader = observations->seen[i].reader, came = 0, count = 0;

		if (observations->seen[i].nth)
			continue;
		for (unsigned j = i; j < observations->count; j++)
			if (observations->seen[j].reader == reader) {
				count++;
				came += forecast_came(track->forecast, observations->seen[j].file);
			}
		if (choose_is_share(came, count))
			watch_explain(oracle->watch, reader, track->id);
	}
}

static bool take_hypothesis(struct oracle *oracle, struct result *result, const struct query *query)
{
	uint32_t recent[WATCH_RECENT];

	if (!result->forecast || oracle_follows(oracle, &result->hypothesis))
		return false;
	forecast_start(result->forecast, recent, watch_recent(oracle->watch, query->since, recent));
	oracle_begin(oracle, &result->hypothesis, result->forecast);
	explain_readers(oracle, &query->observations, &oracle->tracks[oracle->count - 1]);
	result->forecast = NULL;
	oracle_remember(oracle, &result->hypothesis);
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
static bool take_part(struct oracle *oracle, struct query *query)
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
	return true;
}

/* Several may be right by chance: the next epoch shows which. */
static void take_roots(struct oracle *oracle, const struct query *query)
{
	for (unsigned i = 0; i < oracle->count; i++)
		if (!query->given_up &&
		    oracle_same_order(&oracle->tracks[i].hypothesis, &query->rooted))
			oracle->tracks[i].rooted = ROOTED;
	for (unsigned i = 0; i < query->root_count; i++) {
		struct hypothesis hypothesis = query->rooted;

		hypothesis.sampler = query->roots[i];
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

bool oracle_answer(struct oracle *oracle, struct query *query, char ret[ORACLE_SENTENCE])
{
	bool found = false;

	take_roots(oracle, query);
	if (query->part) {
		found = take_part(oracle, query);
		if (found)
			say(&query->results[0].hypothesis, ret);
	} else if (query->track)
		take_next(oracle, query);
	else
		for (unsigned i = query->result_count; i-- > 0;)
			if (take_hypothesis(oracle, &query->results[i], query)) {
				say(&query->results[i].hypothesis, ret);
				found = true;
			}
	if (query->group) {
		oracle->asked_kinds = query->asked;
		note_why(oracle, query, found);
	}
	if (query->all_seeds)
		oracle->too_short = too_short(&query->observations);
	if (found) { /* other readers may have begun too */
		oracle->asked_stage = oracle->asked_hard = 0;
		oracle->asked_kinds.count = 0;
	} else if (query->given_up && query->group != oracle->given_up) {
		/* Once more, but not for readers that pause after each file. */
		oracle->given_up = query->group;
		oracle->asked_stage = oracle->asked_hard = oracle->searched = 0;
		oracle->asked_models = 0;
	}
	take_lists(oracle, query, found);
	query_free(query);
	oracle->thinking = false;
	return found;
}
