/* What can be found out, in which order, and when a query is to end for another. */
#include "base/math.h"
#include "cache/order/oracle_query.h"
#include <stdlib.h>
#include <string.h>

/* Whether a track has a question, and the hypothesis that it is about (*ret is the track's). */
typedef bool wants_fn(struct oracle *oracle, struct track *track, struct hypothesis *ret);

/* Its next epoch is known but not made. */
static bool wants_next(struct oracle *oracle, struct track *track, struct hypothesis *ret)
{
	struct sampler next[SAMPLER_NEXT];

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

/* Only some of its batches are read here. */
static bool wants_part(struct oracle *oracle, struct track *track, struct hypothesis *ret)
{
	(void)oracle;
	return track->batches && batches_part(track->batches, &ret->sampler.part);
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

	asked->brief = effort->models && is_time(all, asked->models);
	if (asked->brief) {
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

uint64_t oracle_turns_since(const struct oracle *oracle, uint64_t turn)
{
	return watch_turns(oracle->watch) + 1 - turn;
}

static bool was_seen(const struct observations *observations, const struct order_list *list)
{
	unsigned at = 0;

	while (at < observations->count &&
	       order_list_find(list, observations->seen[at].file) == ORDER_NONE)
		at++;
	return at < observations->count;
}

/* What was seen, known epochs, and the latest lists, but for those of other jobs: what is known of
 * these for long leaves no room for lists that are still to be asked for. */
static void fill_observations(const struct oracle *oracle, const struct watch_group *group,
			      struct observations *observations)
{
	uint64_t turns = oracle_turns_since(oracle, group->began);
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

void oracle_ask_anew(struct oracle *oracle)
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
		oracle_ask_anew(oracle);
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
	if (query->observations.count > 0)
		return query;
	free(query);
	return NULL;
}

/* *is_asked: whether there is a query. */
static struct query *begin_query(const struct oracle *oracle, struct query *query, bool *is_asked)
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
	return begin_query(oracle, ask_next(oracle), &oracle->is_making_next);
}

struct query *oracle_ask(struct oracle *oracle, const struct effort *effort)
{
	struct query *query;

	if (oracle->is_asking)
		return NULL;
	query = ask_tracks(oracle, QUERY_PART, wants_part);
	if (!query && (query = oracle_ask_next(oracle)))
		return query;
	if (!query)
		query = ask_order(oracle, effort);
	if (!query && effort->guess)
		query = ask_tracks(oracle, QUERY_ORIGIN, wants_origin);
	return begin_query(oracle, query, &oracle->is_asking);
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

	if (stage >> 3 != asked->group)
		return worth(stage) > 0;
	if (has_older(oracle, &group))
		return true;
	return asked->stage && !asked->brief && !all_seeds &&
	       (worth(stage) > worth(asked->stage) || worth(shortest) > worth(asked->shortest));
}
