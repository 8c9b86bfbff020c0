/* Thoughts: what there is to think about, what comes of it, and what follows. */
#include "cache/order/oracle_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESULTS 4
#define ROOTS	8		      /* candidates for where a seed comes from */
#define OUTPUTS ((uint64_t)200000000) /* looked through for it: initial weights come before */
#define STEP	((uint64_t)4000000)   /* between two looks at whether to go on */

/* A course that was found, and its forecast. */
struct result {
	struct course course;
	unsigned seen;	 /* files of it, which goes along with the first one */
	uint32_t *files; /* in the order of the course */
	uint32_t count;
	struct forecast *forecast; /* NULL: no memory */
};

/* Either what readers do is to be guessed, or a track's next pass or the part of this one that is
 * read here is to be made, or it is to be found out where its seed comes from. */
struct thought {
	struct question question;
	uint64_t since;		   /* the turn with which the readers in question began */
	bool models;		   /* GUESS_MODELS */
	bool hard;		   /* GUESS_MORE */
	bool all_seeds;		   /* GUESS_ALL */
	uint64_t group;		   /* of the readers, as in watch_stage() */
	uint64_t kinds[WATCH_LOG]; /* of the files that were seen */
	struct choose_kinds asked; /* the oracle's */
	struct order_list *lists[2 * GUESS_LISTS]; /* found on the way: asked for, and what
						    * goes along */
	unsigned list_count;
	unsigned lists_known;		/* of the question, also those that do not count */
	uint64_t track;			/* 0: a guess */
	bool part;			/* of this pass, not the next one */
	struct result results[RESULTS]; /* several where masks lie beside images */
	unsigned result_count;
	struct course rooted; /* its list NULL: that is not the question */
	bool given_up;	      /* before all was looked through */
	struct pass roots[ROOTS];
	unsigned root_count;
};

/* --- asking ---------------------------------------------------------------------------------- */

/* A track whose next pass is known, and not made yet. */
static struct track *find_next_wanted(struct oracle *oracle, struct course *ret)
{
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];
		struct pass next[PASS_NEXT];

		if (oracle_has_next(oracle, track) || track->fed_by == 0 ||
		    !forecast_is_half(track->forecast))
			continue;
		*ret = track->course;
		ret->epoch++;
		if (!track->course.list)
			return track;
		if (!pass_next_is_known(&track->course.pass))
			continue;
		pass_next(&track->course.pass, track->course.list->count, next);
		ret->pass = next[0];
		oracle_join_ranks(oracle, track, &ret->pass);
		return track;
	}
	return NULL;
}

static struct thought *ask_next(struct oracle *oracle)
{
	struct course course;
	const struct track *track = find_next_wanted(oracle, &course);
	struct thought *thought = track ? calloc(1, sizeof(*thought)) : NULL;
	struct result *result;

	if (!thought)
		return NULL;
	result = &thought->results[0];
	result->course = course;
	if (!course.list) {
		result->files = oracle_next_epoch(oracle, &result->count);
		if (!result->files) {
			free(thought);
			return NULL;
		}
	}
	thought->result_count = 1;
	thought->track = track->id;
	return thought;
}

/* The batches of a track that are read here. */
static struct thought *ask_part(struct oracle *oracle)
{
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];
		struct pass_part part;
		struct thought *thought;

		if (!track->batches || !batches_known(track->batches, &part))
			continue;
		thought = calloc(1, sizeof(*thought));
		if (!thought)
			return NULL;
		thought->results[0].course = track->course;
		thought->results[0].course.pass.part = part;
		thought->result_count = 1;
		thought->track = track->id;
		thought->part = true;
		return thought;
	}
	return NULL;
}

/* Whether there is enough to think about something dear: once there is, and once more at last. */
static bool is_time(uint64_t stage, uint64_t last)
{
	uint64_t doubled = stage & 7;

	return stage != last &&
	       (doubled == SEARCH_LAST || (doubled >= SEARCH_FROM && stage >> 3 != last >> 3));
}

/* What was seen and is known, and the latest lists. */
static void fill_question(const struct oracle *oracle, struct question *question)
{
	unsigned first = oracle->list_count > GUESS_LISTS ? oracle->list_count - GUESS_LISTS : 0;

	question->count = watch_beginnings(oracle->watch, question->seen);
	question->shortest = watch_shortest(oracle->watch);
	memcpy(question->known, oracle->known, sizeof(oracle->known));
	question->known_count = oracle->known_count;
	for (unsigned i = first; i < oracle->list_count; i++)
		question->lists[question->list_count++] = oracle->lists[i];
}

static struct thought *ask_guess(struct oracle *oracle, const struct effort *effort)
{
	struct thought *thought;
	uint64_t stage = watch_stage(oracle->watch);
	uint64_t all = watch_stage_of_all(oracle->watch);
	bool search = effort->hard &&
		      (is_time(all, oracle->searched) || effort->least < oracle->too_short);
	bool hard = effort->hard && is_time(stage, oracle->asked_hard);
	bool models = effort->models && is_time(all, oracle->asked_models);
	bool any = search || hard || models;

	if (!effort->guess || stage == 0 || (stage == oracle->asked_stage && !any))
		return NULL;
	thought = calloc(1, sizeof(*thought));
	if (!thought)
		return NULL;
	if (hard)
		oracle->asked_hard = stage;
	if (models)
		oracle->asked_models = all;
	if (oracle->asked_group != stage >> 3) {
		oracle->asked_kinds.count = 0;
		oracle_drop_lists(oracle);
	}
	fill_question(oracle, &thought->question);
	thought->since = watch_began(oracle->watch);
	thought->models = oracle->is_patient = models;
	thought->hard = hard;
	thought->all_seeds = search;
	thought->group = stage >> 3;
	thought->asked = oracle->asked_kinds;
	thought->question.least = effort->least;
	thought->lists_known = thought->question.list_count;
	oracle->asked_group = stage >> 3;
	oracle->asked_stage = stage;
	if (search)
		oracle->searched = all;
	if (thought->question.count == 0) {
		free(thought);
		return NULL;
	}
	return thought;
}

/* A seed that took a search was drawn: by what, says which is drawn next. */
static struct thought *ask_roots(struct oracle *oracle)
{
	for (unsigned i = 0; i < oracle->count; i++) {
		struct track *track = &oracle->tracks[i];
		const struct pass *pass = &track->course.pass;
		struct thought *thought;

		if (track->rooted == ROOTED || !track->course.list || pass->rule != PASS_UNKNOWN ||
		    pass->skip || pass->seed < GUESS_SMALL)
			continue;
		thought = calloc(1, sizeof(*thought));
		if (!thought)
			return NULL;
		track->rooted++;
		thought->rooted = track->course;
		return thought;
	}
	return NULL;
}

struct thought *oracle_ask(struct oracle *oracle, const struct effort *effort)
{
	struct thought *thought;

	if (oracle->thinking)
		return NULL;
	thought = ask_part(oracle);
	if (!thought)
		thought = ask_next(oracle);
	if (!thought)
		thought = ask_guess(oracle, effort);
	if (!thought && effort->guess)
		thought = ask_roots(oracle);
	oracle->thinking = thought != NULL;
	if (thought)
		thought->question.hidden = oracle->ops.hidden(oracle->ops.context);
	return thought;
}

/* --- thinking -------------------------------------------------------------------------------- */

/* The list that has the same files, if there is one. */
static const struct order_list *find_known(const struct thought *thought, const uint32_t *files,
					   uint32_t count)
{
	for (unsigned i = 0; i < thought->lists_known; i++) {
		const struct order_list *list = thought->question.lists[i];

		if (list->count == count && memcmp(list->files, files, count * sizeof(*files)) == 0)
			return list;
	}
	return NULL;
}

static int add_list(void *arg, const char *name, const uint32_t *files, uint32_t count)
{
	struct thought *thought = arg;
	struct question *question = &thought->question;
	struct order_list *list;

	if (question->list_count == GUESS_LISTS || find_known(thought, files, count))
		return 0;
	if (order_list_new(name, files, count, &list) < 0)
		return -ENOMEM;
	thought->lists[thought->list_count++] = list;
	question->lists[question->list_count++] = list;
	thought->lists_known++;
	return 0;
}

static void ask_about(struct thought *thought, const struct oracle_hooks *hooks, unsigned at)
{
	choose_note(&thought->asked, thought->kinds[at]);
	hooks->lists(hooks->context, thought->question.seen[at].file, add_list, thought);
}

/* Of one kind of files that counts: where a text came first that names the images, its lists say
 * nothing of how these are indexed, but that of all files has them too. And where masks lie beside
 * images, of the last one of them. */
static void ask_lists(struct thought *thought, const struct oracle_hooks *hooks)
{
	const struct question *question = &thought->question;
	const struct order_list *list;
	unsigned at;

	for (unsigned i = 0; i < question->count; i++)
		thought->kinds[i] = hooks->kind(hooks->context, question->seen[i].file);
	at = choose_file(thought->kinds, question->count, &thought->asked);
	if (at == question->count)
		return;
	ask_about(thought, hooks, at);
	list = choose_likeliest(question);
	if (!list ||
	    !choose_is_share(question->count - choose_seen(question, list), question->count))
		return;
	for (at = question->count - 1;
	     order_list_find(list, question->seen[at].file) != ORDER_NONE;)
		at--;
	ask_about(thought, hooks, at);
}

/* The files of the likeliest list, if these are read before all seeds were tried; else 0. */
static uint32_t too_short(const struct question *question)
{
	uint32_t files = question->list_count > 0 ? question->lists[0]->count : 0;

	return files < question->least ? files : 0;
}

static bool think_hard(struct thought *thought, const struct oracle_hooks *hooks,
		       struct course *ret)
{
	const struct question *question = &thought->question;

	if ((thought->models && guess(question, GUESS_MODELS, &hooks->guess, ret)) ||
	    (thought->hard && guess(question, GUESS_MORE, &hooks->guess, ret)))
		return true;
	if (!thought->all_seeds || question->list_count == 0 || too_short(question))
		return false;
	hooks->takes_long(hooks->context);
	return guess(question, GUESS_ALL, &hooks->guess, ret);
}

static bool have_common_file(const struct order_list *a, const struct order_list *b)
{
	return order_list_find(a, b->files[0]) != ORDER_NONE ||
	       order_list_find(b, a->files[0]) != ORDER_NONE;
}

/* Of lists of the same files, which differ in a few places, the one of which most was seen. Returns
 * whether the list is taken. */
static bool take_along(struct thought *thought, const struct order_list *list)
{
	unsigned seen = guess_goes_along(&thought->question, &thought->results[0].course, list);
	unsigned at = 1;

	while (at < thought->result_count &&
	       !have_common_file(thought->results[at].course.list, list))
		at++;
	if (at == RESULTS || seen <= thought->results[at].seen)
		return false;
	if (at == thought->result_count)
		thought->result_count++;
	thought->results[at] = (struct result){.course = thought->results[0].course, .seen = seen};
	thought->results[at].course.list = list;
	return true;
}

static int add_along(void *arg, const char *name, const uint32_t *files, uint32_t count)
{
	struct thought *thought = arg;
	struct order_list *list;

	if (count != thought->results[0].course.list->count ||
	    thought->list_count == sizeof(thought->lists) / sizeof(thought->lists[0]) ||
	    find_known(thought, files, count))
		return 0;
	if (order_list_new(name, files, count, &list) < 0)
		return -ENOMEM;
	if (take_along(thought, list))
		thought->lists[thought->list_count++] = list;
	else
		order_list_free(list);
	return 0;
}

static bool is_explained(const struct thought *thought, uint32_t file)
{
	for (unsigned i = 0; i < thought->result_count; i++)
		if (order_list_find(thought->results[i].course.list, file) != ORDER_NONE)
			return true;
	return false;
}

/* The same pass over other lists: those that are there; and, where a share of the files is in none
 * of these, those that the last such file is in, which may have been too many for the question. */
static void think_along(struct thought *thought, const struct oracle_hooks *hooks)
{
	const struct question *question = &thought->question;
	unsigned left = 0, last = 0;

	for (unsigned i = 0; i < question->list_count; i++)
		take_along(thought, question->lists[i]);
	for (unsigned i = 0; i < question->count; i++)
		if (!is_explained(thought, question->seen[i].file)) {
			left++;
			last = i;
		}
	if (choose_is_share(left, question->count))
		hooks->lists(hooks->context, question->seen[last].file, add_along, thought);
}

static void think_guess(struct thought *thought, const struct oracle_hooks *hooks)
{
	struct question *question = &thought->question;
	struct course *found = &thought->results[0].course;

	ask_lists(thought, hooks);
	choose_lists(question);
	thought->result_count = guess(question, GUESS_LIKELY, &hooks->guess, found) ||
				think_hard(thought, hooks, found);
	if (thought->result_count)
		think_along(thought, hooks);
}

static void think_roots(struct thought *thought, const struct oracle_hooks *hooks)
{
	struct pass_roots *roots;

	hooks->takes_long(hooks->context);
	if (pass_roots_new(&thought->rooted.pass, &roots) < 0)
		return;
	while (thought->root_count < ROOTS && pass_roots_searched(roots) < OUTPUTS &&
	       !hooks->guess.stopped(hooks->guess.context)) {
		unsigned most = ROOTS - thought->root_count, found;

		found = pass_roots_search(roots, STEP, thought->roots + thought->root_count, most);
		thought->root_count += found < most ? found : most;
	}
	pass_roots_free(roots);
}

void oracle_think(struct thought *thought, const struct oracle_hooks *hooks)
{
	if (thought->rooted.list)
		think_roots(thought, hooks);
	else if (!thought->track)
		think_guess(thought, hooks);
	thought->given_up = hooks->guess.stopped(hooks->guess.context);
	for (unsigned i = 0; i < thought->result_count; i++) {
		struct result *result = &thought->results[i];

		if (!result->files)
			result->files = course_files(&result->course, &result->count);
		if (result->files && result->count &&
		    forecast_new(result->files, result->count, thought->question.hidden,
				 &result->forecast) == 0)
			result->files = NULL;
	}
}

/* --- answers --------------------------------------------------------------------------------- */

static void take_lists(struct oracle *oracle, struct thought *thought, bool found)
{
	for (unsigned i = 0; i < thought->list_count; i++) {
		if (oracle->list_count == ORACLE_LISTS)
			oracle_drop_lists(oracle);
		oracle->lists[oracle->list_count++] = thought->lists[i];
	}
	if (found)
		oracle_drop_lists(oracle);
}

static void say(const struct course *course, char ret[ORACLE_SENTENCE])
{
	char name[PASS_NAME];

	snprintf(ret, ORACLE_SENTENCE, "%s over %s, seed %u", pass_name(&course->pass, name),
		 course->list->name, course->pass.seed);
}

/* Readers of whom it has a fourth go by it: mosaics have three others with each file. What the
 * others began with is still to be explained. */
static void explain_readers(struct oracle *oracle, const struct question *question,
			    const struct track *track)
{
	for (unsigned i = 0; i < question->count; i++) {
		uint32_t reader = question->seen[i].reader, came = 0, count = 0;

		if (question->seen[i].nth)
			continue;
		for (unsigned j = i; j < question->count; j++)
			if (question->seen[j].reader == reader) {
				count++;
				came += forecast_came(track->forecast, question->seen[j].file);
			}
		if (choose_is_share(came, count))
			watch_explain(oracle->watch, reader, track->id);
	}
}

static bool take_course(struct oracle *oracle, struct result *result, const struct thought *thought)
{
	uint32_t recent[WATCH_RECENT];

	if (!result->forecast || oracle_follows(oracle, &result->course))
		return false;
	forecast_start(result->forecast, recent,
		       watch_recent(oracle->watch, thought->since, recent));
	oracle_begin(oracle, &result->course, result->forecast);
	explain_readers(oracle, &thought->question, &oracle->tracks[oracle->count - 1]);
	result->forecast = NULL;
	oracle_remember(oracle, &result->course);
	oracle->locks++;
	return true;
}

static void take_next(struct oracle *oracle, struct thought *thought)
{
	struct track *track = oracle_track(oracle, thought->track);
	struct result *result = &thought->results[0];

	if (track && !result->forecast && !result->course.list)
		oracle->order_at -= result->count; /* to be made another time */
	if (!track || !result->forecast)
		return;
	track->next = result->course;
	track->next_forecast = result->forecast;
	result->forecast = NULL;
}

/* Its readers go on where they are. */
static bool take_part(struct oracle *oracle, struct thought *thought)
{
	struct track *track = oracle_track(oracle, thought->track);
	struct result *result = &thought->results[0];
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
	track->course = result->course;
	result->forecast = NULL;
	oracle->ops.follow(oracle->ops.context, track->forecast);
	oracle_remember(oracle, &track->course);
	return true;
}

/* Which of them is right, the next epoch shows. */
static void take_roots(struct oracle *oracle, const struct thought *thought)
{
	for (unsigned i = 0; i < oracle->count; i++)
		if (!thought->given_up &&
		    oracle_same_order(&oracle->tracks[i].course, &thought->rooted))
			oracle->tracks[i].rooted = ROOTED;
	for (unsigned i = 0; i < thought->root_count; i++) {
		struct course course = thought->rooted;

		course.pass = thought->roots[i];
		oracle_remember(oracle, &course);
	}
}

static void thought_free(struct thought *thought)
{
	for (unsigned i = 0; i < thought->result_count; i++) {
		forecast_free(thought->results[i].forecast);
		free(thought->results[i].files);
	}
	free(thought->question.hidden);
	free(thought);
}

bool oracle_answer(struct oracle *oracle, struct thought *thought, char ret[ORACLE_SENTENCE])
{
	bool found = false;

	take_roots(oracle, thought);
	if (thought->part) {
		found = take_part(oracle, thought);
		if (found)
			say(&thought->results[0].course, ret);
	} else if (thought->track)
		take_next(oracle, thought);
	else
		for (unsigned i = thought->result_count; i-- > 0;)
			if (take_course(oracle, &thought->results[i], thought)) {
				say(&thought->results[i].course, ret);
				found = true;
			}
	if (thought->group)
		oracle->asked_kinds = thought->asked;
	if (thought->all_seeds)
		oracle->too_short = too_short(&thought->question);
	if (found) { /* others may have begun as well */
		oracle->asked_stage = oracle->asked_hard = 0;
		oracle->asked_kinds.count = 0;
	} else if (thought->given_up && thought->group != oracle->given_up) {
		/* Once more: not for those who pause after each file. */
		oracle->given_up = thought->group;
		oracle->asked_stage = oracle->asked_hard = oracle->searched = 0;
		oracle->asked_models = 0;
	}
	take_lists(oracle, thought, found);
	thought_free(thought);
	oracle->thinking = false;
	return found;
}
