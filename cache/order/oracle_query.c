/* Queries: what can be found out, how that is done, and what follows from it. */
#include "base/math.h"
#include "cache/order/oracle_internal.h"
#include "cache/order/streams.h"
#include <errno.h>
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
	bool over; /* before all was tried */

	/* QUERY_ORDER: */
	struct observations observations;
	uint64_t since;		   /* the turn with which the readers in question began */
	unsigned efforts;	   /* guess() */
	enum oracle_why why;	   /* nothing was found */
	uint64_t group;		   /* of the readers, as in watch_stage() */
	uint64_t kinds[WATCH_LOG]; /* of the files that were seen */
	struct choose_kinds asked; /* the oracle's */
	struct order_list *lists[2 * GUESS_LISTS]; /* that were asked for, before and after an order
						    * was found */
	unsigned list_count;

	/* QUERY_ORIGIN: */
	struct sampler origins[ORIGINS];
	unsigned origin_count;
};

/* --- of tracks ------------------------------------------------------------------------------- */

/* Whether a track has such a question, and the hypothesis that it is about (*ret is the track's).
 */
static bool has_question(struct oracle *oracle, struct track *track, enum query_kind kind,
			 struct hypothesis *ret)
{
	struct sampler next[SAMPLER_NEXT];

	if (kind == QUERY_PART) /* only some of its batches are read here */
		return track->batches && batches_part(track->batches, &ret->sampler.part);
	/* A seed that took a search came from some generator: which one says what the next is. */
	if (kind == QUERY_ORIGIN)
		return track->origin_searches < ORIGIN_SEARCHES && ret->list &&
		       ret->sampler.rule == SAMPLER_UNKNOWN && !ret->sampler.skip &&
		       ret->sampler.seed >= GUESS_SMALL && ++track->origin_searches;
	/* Its next epoch is known but not made. */
	if (oracle_has_next(oracle, track) || track->fed_by == 0 ||
	    !forecast_is_half(track->forecast))
		return false;
	ret->epoch++;
	if (!ret->list)
		return true;
	if (!sampler_next_is_known(&ret->sampler))
		return false;
	sampler_next(&track->hypothesis.sampler, ret->list->count, next);
	ret->sampler = next[0];
	oracle_join_ranks(oracle, track, &ret->sampler);
	return true;
}

static struct query *ask_tracks(struct oracle *oracle, enum query_kind kind)
{
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];
		struct hypothesis hypothesis = track->hypothesis;
		struct result *result;
		struct query *query;

		if (!has_question(oracle, track, kind, &hypothesis))
			continue;
		query = calloc(1, sizeof(*query));
		if (!query)
			return NULL;
		query->kind = kind;
		query->track = track->id;
		query->result_count = kind != QUERY_ORIGIN;
		result = &query->results[0];
		result->hypothesis = hypothesis;
		if (kind != QUERY_NEXT || hypothesis.list)
			return query;
		result->files = oracle_next_epoch(oracle, &result->count);
		if (result->files)
			return query;
		free(query);
		return NULL;
	}
	return NULL;
}

/* --- of readers ------------------------------------------------------------------------------ */

/* Whether a long search is worth it: once there is enough, and a last time with all that there will
 * be. */
static bool is_time(uint64_t stage, uint64_t last)
{
	uint64_t reached = stage & 7;

	return stage != last &&
	       (reached == SEARCH_LAST || (reached >= SEARCH_FROM && stage >> 3 != last >> 3));
}

/* What is tried of what costs much, with the stages of the longest beginning and the shortest.
 * What is usual first, once for each group, then models, and alone: that ends soon. */
static unsigned efforts_now(struct oracle *oracle, const struct effort *effort, uint64_t stage,
			    uint64_t all)
{
	struct asked *asked = &oracle->asked;
	unsigned efforts = 0;

	asked->brief = true;
	if (effort->usual && (all & 7) >= SEARCH_FROM && all >> 3 != asked->usual >> 3) {
		asked->usual = all;
		return GUESS_RANKS | GUESS_USUAL;
	}
	if (effort->models && is_time(all, asked->models)) {
		asked->models = all;
		return GUESS_RANKS | GUESS_MODELS;
	}
	asked->brief = false;
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

/* Turns of all readers since that one, itself included. */
static uint64_t turns_since(const struct oracle *oracle, uint64_t turn)
{
	return watch_turns(oracle->watch) + 1 - turn;
}

static bool was_seen(const struct observations *observations, const struct order_list *list)
{
	for (unsigned i = 0; i < observations->count; i++)
		if (order_list_find(list, observations->seen[i].file) != ORDER_NONE)
			return true;
	return false;
}

/* What was seen, known epochs, and the latest lists, but for those of other jobs: what is known of
 * these for long leaves no room for lists that are still to be asked for. */
static void observe(const struct oracle *oracle, const struct watch_group *group,
		    struct observations *observations)
{
	uint64_t turns = turns_since(oracle, group->began);
	unsigned room = GUESS_LISTS;

	observations->count = watch_beginnings(oracle->watch, observations->seen);
	observations->shortest = group->shortest;
	memcpy(observations->known, oracle->known, sizeof(oracle->known));
	observations->known_count = oracle->known_count;
	for (unsigned i = 0; i < oracle->known_count; i++)
		observations->known[i].missed = sub_sat(oracle->known[i].missed, turns);
	for (unsigned i = oracle->list_count; i-- > 0 && room > 0;)
		if (was_seen(observations, oracle->lists[i]))
			observations->lists[--room] = oracle->lists[i];
	observations->list_count = GUESS_LISTS - room;
	memmove(observations->lists, observations->lists + room,
		observations->list_count * sizeof(observations->lists[0]));
}

/* Whether a reader belongs to the group now that began before those that were asked about: the
 * first files may be its own. */
static bool has_older(const struct oracle *oracle, const struct watch_group *group)
{
	return group->youngest == oracle->asked.group && group->began < oracle->asked.began;
}

/* As if nothing had been asked about the present readers. */
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
	if (oracle->asked.group != group.youngest) {
		oracle->why = ORACLE_TOO_FEW;
		oracle->unusual = false;
		oracle->asked.kinds.count = 0;
		oracle_drop_lists(oracle);
	} else if (effort->hard && oracle->why == ORACLE_NO_NEED) {
		oracle->why = ORACLE_TOO_FEW;
	}
	oracle->asked.stage = stage;
	oracle->asked.shortest = shortest;
	oracle->asked.group = group.youngest;
	oracle->asked.began = group.began;
	observe(oracle, &group, &query->observations);
	query->observations.least = effort->least;
	query->observations.soon = effort->soon;
	query->observations.turns = watch_turns(oracle->watch);
	query->since = group.began;
	query->efforts = GUESS_LIKELY | efforts;
	query->why = effort->hard || (stage & 7) < SEARCH_FROM ? ORACLE_TOO_FEW : ORACLE_NO_NEED;
	query->group = group.youngest;
	query->asked = oracle->asked.kinds;
	if (query->observations.count > 0)
		return query;
	free(query);
	return NULL;
}

/* *is_asked: whether there is a query. */
static struct query *begin(const struct oracle *oracle, struct query *query, bool *is_asked)
{
	*is_asked = query != NULL;
	if (query)
		query->observations.hidden = oracle->ops.hidden(oracle->ops.context);
	return query;
}

struct query *oracle_ask_next(struct oracle *oracle)
{
	if (oracle->is_making_next)
		return NULL;
	return begin(oracle, ask_tracks(oracle, QUERY_NEXT), &oracle->is_making_next);
}

struct query *oracle_ask(struct oracle *oracle, const struct effort *effort)
{
	struct query *query;

	if (oracle->is_asking)
		return NULL;
	query = ask_tracks(oracle, QUERY_PART);
	if (!query && (query = oracle_ask_next(oracle)))
		return query;
	if (!query)
		query = ask_order(oracle, effort);
	if (!query && effort->guess)
		query = ask_tracks(oracle, QUERY_ORIGIN);
	return begin(oracle, query, &oracle->is_asking);
}

/* How much the beginnings say: 0 hardly anything, 1 enough for long searches, 2 all that they will.
 * */
static unsigned worth(uint64_t stage)
{
	uint64_t reached = stage & 7;

	return reached < SEARCH_FROM ? 0 : reached < SEARCH_LAST ? 1 : 2;
}

bool oracle_is_over(const struct oracle *oracle, bool all_seeds)
{
	const struct watch_group group = watch_group(oracle->watch);
	const struct asked *asked = &oracle->asked;
	uint64_t stage = watch_stage(&group, group.longest);
	uint64_t shortest = watch_stage(&group, group.shortest);

	if (group.youngest != asked->group)
		return worth(stage) > 0;
	if (has_older(oracle, &group))
		return true;
	return asked->stage && !asked->brief && !all_seeds &&
	       (worth(stage) > worth(asked->stage) || worth(shortest) > worth(asked->shortest));
}

/* --- running --------------------------------------------------------------------------------- */

/* Once an order was found, only a list as long as its own may go along. */
static int add_list(void *arg, const char *name, const uint32_t *files, uint32_t count,
		    uint32_t classes)
{
	struct query *query = arg;
	struct observations *observations = &query->observations;
	struct order_list *list;

	if ((query->result_count && count != query->results[0].hypothesis.list->count) ||
	    observations->list_count == GUESS_LISTS)
		return 0;
	for (unsigned i = 0; i < observations->list_count; i++)
		if (observations->lists[i]->count == count &&
		    memcmp(observations->lists[i]->files, files, count * sizeof(*files)) == 0)
			return 0;
	if (order_list_copy(name, files, count, &list) < 0)
		return -ENOMEM;
	list->classes = classes;
	query->lists[query->list_count++] = list;
	observations->lists[observations->list_count++] = list;
	return 0;
}

/* The files of the likeliest list, if all are read before a search of all seeds ends; else 0. */
static uint32_t too_short(const struct observations *observations)
{
	uint32_t files = observations->list_count > 0 ? observations->lists[0]->count : 0;

	return files < observations->least ? files : 0;
}

/* Those of the lists that have the same sampler; of lists of the same files, the one of which most
 * was seen. */
static void take_along(struct query *query)
{
	for (unsigned i = 0; i < query->observations.list_count; i++) {
		const struct order_list *list = query->observations.lists[i];
		struct hypothesis hypothesis = query->results[0].hypothesis;
		unsigned seen = guess_goes_along(&query->observations, &hypothesis, list), at = 1;

		for (; at < query->result_count; at++) {
			const struct order_list *other = query->results[at].hypothesis.list;

			if (order_list_find(other, list->files[0]) != ORDER_NONE ||
			    order_list_find(list, other->files[0]) != ORDER_NONE)
				break;
		}
		if (at == RESULTS || seen <= query->results[at].seen)
			continue;
		if (at == query->result_count)
			query->result_count++;
		hypothesis.list = list;
		query->results[at] = (struct result){.hypothesis = hypothesis, .seen = seen};
	}
}

static bool is_explained(const struct query *query, uint32_t file)
{
	for (unsigned i = 0; i < query->result_count; i++)
		if (order_list_find(query->results[i].hypothesis.list, file) != ORDER_NONE)
			return true;
	return false;
}

/* Masks beside images: lists that are there; and where a share of the files is in none of these,
 * those of the last such file, in their place. */
static void query_along(struct query *query, const struct oracle_hooks *hooks)
{
	struct observations *observations = &query->observations;
	unsigned left = 0, last = 0;

	take_along(query);
	for (unsigned i = 0; i < observations->count; i++)
		if (!is_explained(query, observations->seen[i].file)) {
			left++;
			last = i;
		}
	if (!choose_is_share(left, observations->count))
		return;
	observations->list_count = 0;
	hooks->lists(hooks->context, observations->seen[last].file, add_list, query);
	take_along(query);
}

/* Lists are asked for of one kind of files that counts. A text that names the images may come
 * first, and its lists say nothing of how these are numbered; but the lists of all files have the
 * images too. */
static void find_order(struct query *query, const struct oracle_hooks *hooks)
{
	struct observations *observations = &query->observations;
	bool is_short;
	unsigned at;

	for (unsigned i = 0; i < observations->count; i++)
		query->kinds[i] = hooks->kind(hooks->context, observations->seen[i].file);
	at = choose_file(query->kinds, observations->count, &query->asked);
	if (at < observations->count) {
		choose_note(&query->asked, query->kinds[at]);
		hooks->lists(hooks->context, observations->seen[at].file, add_list, query);
	}
	choose_lists(observations);
	is_short = too_short(observations);
	query->result_count =
		guess(observations, query->efforts & ~(is_short ? (unsigned)GUESS_ALL : 0),
		      &hooks->search, &query->results[0].hypothesis);
	if (query->result_count) {
		query_along(query, hooks);
		return;
	}
	if (guess_is_scan(observations))
		query->why = ORACLE_PATH_ORDER;
	else if (query->efforts & GUESS_ALL)
		query->why = is_short ? ORACLE_TOO_SHORT : ORACLE_UNKNOWN;
	query->over = hooks->search.over(hooks->search.context);
}

bool query_is_long(const struct query *query)
{
	return query->kind == QUERY_ORIGIN || query->efforts >= GUESS_MODELS;
}

void oracle_run(struct query *query, const struct oracle_hooks *hooks)
{
	const struct search_hooks *search = &hooks->search;

	if (query->kind == QUERY_ORDER)
		find_order(query, hooks);
	if (query->kind == QUERY_ORIGIN) {
		query->origin_count = streams_origins(&query->results[0].hypothesis.sampler,
						      OUTPUTS, search, query->origins, ORIGINS);
		query->over = search->over(search->context);
	}
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

static void say(const struct hypothesis *hypothesis, char ret[ORACLE_SENTENCE])
{
	char name[SAMPLER_NAME];

	snprintf(ret, ORACLE_SENTENCE, "%s over %s, seed %u",
		 sampler_name(&hypothesis->sampler, name), hypothesis->list->name,
		 hypothesis->sampler.seed);
}

static bool take_result(struct oracle *oracle, struct result *result, const struct query *query)
{
	uint64_t missed = sub_sat(oracle->missed, turns_since(oracle, query->since)), files;
	uint32_t recent[WATCH_RECENT];

	if (!result->forecast || oracle_follows(oracle, &result->hypothesis))
		return false;
	/* The first order that is known may be that of a later epoch. */
	files = forecast_count(result->forecast);
	if (!oracle->known_count)
		result->hypothesis.epoch += (missed + files / 2) / files;
	forecast_start(result->forecast, recent, watch_recent(oracle->watch, query->since, recent));
	oracle_begin(oracle, &result->hypothesis, result->forecast);
	result->forecast = NULL;
	oracle_remember(oracle, &result->hypothesis);
	oracle->tracks[oracle->count - 1].remembered = true;
	oracle->locks++;
	return true;
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

static bool take_order(struct oracle *oracle, struct query *query, char ret[ORACLE_SENTENCE])
{
	bool found = false, more;

	for (unsigned i = query->result_count; i-- > 0;)
		if (take_result(oracle, &query->results[i], query)) {
			say(&query->results[i].hypothesis, ret);
			found = true;
		}
	oracle->asked.kinds = query->asked;
	if (query->efforts & GUESS_ALL)
		oracle->too_short = too_short(&query->observations);
	/* Readers that began meanwhile, too, follow it. How others began is still to be explained.
	 */
	if (found) {
		const struct track *track = &oracle->tracks[oracle->count - 1];
		const struct came came = {track->forecast, turns_since(oracle, query->since)};

		watch_explain(oracle->watch, query->since, track->id,
			      forecast_came_chance(came.forecast, came.turns), came_in_time, &came);
		oracle->why = ORACLE_TOO_FEW; /* for those that come next */
		oracle->unusual = false;
		return true;
	}
	oracle->unusual = oracle->unusual || !query->over;
	/* What was tried for these readers before still counts. */
	if (!query->over && (query->why == ORACLE_PATH_ORDER || query->why > oracle->why))
		oracle->why = query->why;
	/* Readers may have paused: once more, but not for some that pause after each file. */
	more = oracle_is_over(oracle, false);
	if (query->over && (more || query->group != oracle->paused)) {
		if (!more)
			oracle->paused = query->group;
		ask_anew(oracle);
	}
	return false;
}

/* The track goes on where its readers are, with the part that is read here. */
static bool take_part(struct oracle *oracle, struct track *track, struct result *result,
		      char ret[ORACLE_SENTENCE])
{
	uint32_t recent[WATCH_RECENT];

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

bool oracle_answer(struct oracle *oracle, struct query *query, char ret[ORACLE_SENTENCE])
{
	bool *is_asked = query->kind == QUERY_NEXT ? &oracle->is_making_next : &oracle->is_asking;
	struct track *track = oracle_track(oracle, query->track);
	struct result *result = &query->results[0];
	bool found = false;

	if (query->kind == QUERY_ORDER)
		found = take_order(oracle, query, ret);
	else if (query->kind == QUERY_ORIGIN)
		take_origins(oracle, query);
	else if (track && query->kind == QUERY_PART)
		found = take_part(oracle, track, result, ret);
	else if (track && result->forecast) {
		track->next = result->hypothesis;
		track->next_forecast = result->forecast;
		result->forecast = NULL;
	} else if (track && !result->hypothesis.list)
		oracle->order_at = oracle->order_from; /* it will be made again */
	if (found) {				       /* other readers may have begun too */
		oracle->asked.stage = oracle->asked.hard = 0;
		oracle->asked.kinds.count = 0;
	}
	for (unsigned i = 0; i < query->list_count; i++) {
		if (oracle->list_count == ORACLE_LISTS)
			oracle_drop_lists(oracle);
		oracle->lists[oracle->list_count++] = query->lists[i];
	}
	if (found)
		oracle_drop_lists(oracle);
	for (unsigned i = 0; i < query->result_count; i++) {
		forecast_free(query->results[i].forecast);
		free(query->results[i].files);
	}
	free(query->observations.hidden);
	free(query);
	*is_asked = false;
	return found;
}
