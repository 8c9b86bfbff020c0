/* Queries: how something is found out, and what follows from it. */
#include "cache/order/oracle_query.h"
#include "base/math.h"
#include "cache/order/streams.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUTS ((uint64_t)200000000) /* of each generator: initial weights come before seeds */

/* --- running --------------------------------------------------------------------------------- */

static bool is_there(const struct query *query, const uint32_t *files, uint32_t count)
{
	const struct observations *observations = &query->observations;

	for (unsigned i = 0; i < observations->list_count; i++) {
		const struct order_list *list = observations->lists[i];

		if (list->count == count && memcmp(list->files, files, count * sizeof(*files)) == 0)
			return true;
	}
	return false;
}

/* Once an order was found, only a list as long as its own may go along. */
static int add_list(void *arg, const char *name, const uint32_t *files, uint32_t count,
		    uint32_t classes)
{
	struct query *query = arg;
	struct observations *observations = &query->observations;
	struct order_list *list;

	if (query->result_count && count != query->results[0].hypothesis.list->count)
		return 0;
	if (observations->list_count == GUESS_LISTS || is_there(query, files, count))
		return 0;
	if (order_list_copy(name, files, count, &list) < 0)
		return -ENOMEM;
	list->classes = classes;
	query->lists[query->list_count++] = list;
	observations->lists[observations->list_count++] = list;
	return 0;
}

/* For one kind of files that counts. A text that names the images may come first, and its lists say
 * nothing of how these are numbered; but the lists of all files have the images too. */
static void ask_lists(struct query *query, const struct oracle_hooks *hooks)
{
	const struct observations *observations = &query->observations;
	unsigned at;

	for (unsigned i = 0; i < observations->count; i++)
		query->kinds[i] = hooks->kind(hooks->context, observations->seen[i].file);
	at = choose_file(query->kinds, observations->count, &query->asked);
	if (at == observations->count)
		return;
	choose_note(&query->asked, query->kinds[at]);
	hooks->lists(hooks->context, observations->seen[at].file, add_list, query);
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

/* The list has the same sampler; of lists of the same files, the one of which most was seen. */
static void take_along(struct query *query, const struct order_list *list)
{
	unsigned seen = guess_goes_along(&query->observations, &query->results[0].hypothesis, list);
	unsigned at = 1;

	while (at < query->result_count &&
	       !have_common_file(query->results[at].hypothesis.list, list))
		at++;
	if (at == ORACLE_RESULTS || seen <= query->results[at].seen)
		return;
	if (at == query->result_count)
		query->result_count++;
	query->results[at] =
		(struct result){.hypothesis = query->results[0].hypothesis, .seen = seen};
	query->results[at].hypothesis.list = list;
}

static bool is_explained(const struct query *query, uint32_t file)
{
	for (unsigned i = 0; i < query->result_count; i++)
		if (order_list_find(query->results[i].hypothesis.list, file) != ORDER_NONE)
			return true;
	return false;
}

static void take_all_along(struct query *query)
{
	for (unsigned i = 0; i < query->observations.list_count; i++)
		take_along(query, query->observations.lists[i]);
}

/* Masks beside images: lists that are there; and where a share of the files is in none of these,
 * those of the last such file, in their place. */
static void query_along(struct query *query, const struct oracle_hooks *hooks)
{
	struct observations *observations = &query->observations;
	unsigned left = 0, last = 0;

	take_all_along(query);
	for (unsigned i = 0; i < observations->count; i++)
		if (!is_explained(query, observations->seen[i].file)) {
			left++;
			last = i;
		}
	if (!choose_is_share(left, observations->count))
		return;
	observations->list_count = 0;
	hooks->lists(hooks->context, observations->seen[last].file, add_list, query);
	take_all_along(query);
}

static enum oracle_why why_nothing(const struct query *query)
{
	if (guess_is_scan(&query->observations))
		return ORACLE_PATH_ORDER;
	if (query->efforts & GUESS_ALL)
		return too_short(&query->observations) ? ORACLE_TOO_SHORT : ORACLE_UNKNOWN;
	return query->why;
}

static void think_of_order(struct query *query, const struct oracle_hooks *hooks)
{
	struct observations *observations = &query->observations;
	unsigned efforts = query->efforts;

	ask_lists(query, hooks);
	choose_lists(observations);
	if (too_short(observations))
		efforts &= ~(unsigned)GUESS_ALL;
	query->result_count =
		guess(observations, efforts, &hooks->search, &query->results[0].hypothesis);
	if (query->result_count) {
		query_along(query, hooks);
		return;
	}
	query->why = why_nothing(query);
	query->over = hooks->search.over(hooks->search.context);
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
	const struct search_hooks *search = &hooks->search;

	if (query->kind == QUERY_ORDER)
		think_of_order(query, hooks);
	if (query->kind == QUERY_ORIGIN) {
		query->origin_count =
			streams_origins(&query->results[0].hypothesis.sampler, OUTPUTS, search,
					query->origins, ORACLE_ORIGINS);
		query->over = search->over(search->context);
	}
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

struct came {
	const struct forecast *forecast;
	uint64_t turns; /* since the readers of a query began */
};

static bool came_in_time(const void *context, uint32_t file)
{
	const struct came *came = context;

	return forecast_came(came->forecast, file, came->turns);
}

/* Those that began meanwhile, too. How others began is still to be explained. */
static void explain_readers(struct oracle *oracle, const struct query *query,
			    const struct track *track)
{
	const struct came came = {track->forecast, oracle_turns_since(oracle, query->since)};

	watch_explain(oracle->watch, query->since, track->id,
		      forecast_came_chance(came.forecast, came.turns), came_in_time, &came);
}

/* The first order that is known may be that of a later epoch. */
static uint64_t epochs_before(const struct oracle *oracle, const struct query *query,
			      const struct forecast *forecast)
{
	uint64_t files = forecast_count(forecast);
	uint64_t missed = sub_sat(oracle->missed, oracle_turns_since(oracle, query->since));

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
		oracle->order_at = oracle->order_from; /* it will be made again */
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

	if (track && !query->over)
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
	else if (!query->over && (query->why == ORACLE_PATH_ORDER || query->why > oracle->why))
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
	if (!oracle_is_over(oracle, false)) {
		if (group == oracle->paused)
			return;
		oracle->paused = group;
	}
	oracle_ask_anew(oracle);
}

static bool take_order(struct oracle *oracle, struct query *query, char ret[ORACLE_SENTENCE])
{
	bool found = false;

	for (unsigned i = query->result_count; i-- > 0;)
		if (take_hypothesis(oracle, &query->results[i], query)) {
			say(&query->results[i].hypothesis, ret);
			found = true;
		}
	if (found)
		explain_readers(oracle, query, &oracle->tracks[oracle->count - 1]);
	oracle->asked.kinds = query->asked;
	note_why(oracle, query, found);
	if (query->efforts & GUESS_ALL)
		oracle->too_short = too_short(&query->observations);
	if (!found && query->over)
		ask_again(oracle, query->group);
	return found;
}

bool oracle_answer(struct oracle *oracle, struct query *query, char ret[ORACLE_SENTENCE])
{
	bool *is_asked = query->kind == QUERY_NEXT ? &oracle->is_making_next : &oracle->is_asking;
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
	*is_asked = false;
	return found;
}
