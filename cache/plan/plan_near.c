/* What belongs together is asked for together: soon after one another, though other readers ask
 * in between. Soon is within PLAN_RECENT files: as many readers may take turns.
 *
 * Nothing is read on a suspicion. A habit is believed in once it was seen LEARNED times. Each time
 * it is kept counts 1, each time it is broken LOSS, so that it is believed in only while it is kept
 * 8 of 9 times: with directories of which 9/10 count as the whole, 4/5 of what is read is wanted,
 * or 5/4 of that read, as shared storage demands. And no more forecasts are open than its score:
 * when readers change their ways, as many were wrong as that, and then no more.
 *
 * The rest of this directory. A visit begins with a file of a directory of a few files, and ends
 * when none of it was asked for among the last PLAN_RECENT. Two habits are looked for: whole, 9/10
 * were asked for, in whatever order; and even, with the same step from each to the next, as clips
 * of so many frames are cut from a video. From the second file of a visit on, whichever is
 * believed in says the rest: all that is left, or so many steps more as the shortest of the last
 * visits had; if that is a few runs. Then a scan within the directory reads no further.
 *
 * Shuffled image folders look like neither. Of D directories of k files, the next of the same
 * comes soon with p = PLAN_RECENT / D; a visit of n files has p^(n-1), and is broken if n is 2.
 * 1,000 classes of 1,300: the directories are too large to be looked at. 10,000 classes of 50:
 * p = 0.0064, a whole visit has p^44, and an even one of three p^2 / 25 = 2e-6, while one in 156
 * files breaks both habits: LEARNED are never reached. Where clips and such classes lie in one
 * pack, and the clips are believed in, a chance visit costs one class, 50 files, once in 156
 * files; the second takes the belief away. Only where D is well below PLAN_RECENT does a shuffled
 * order visit whole directories; then a few hundred files are all there is, and they are asked for
 * soon indeed.
 *
 * The same name elsewhere. A file whose stem one of the last ones had, in the same place of another
 * branch or behind another suffix, makes these two an example of a pair. From then on each file
 * that has a partner by this example owes it, until the partner is asked for: the habit is kept;
 * or until the file is no longer recent: it is broken. A missing partner is owed by nobody. By
 * chance, N files shuffled, each with a partner, have it among the next ones with
 * PLAN_RECENT / N: LEARNED in a row for 10,000 files is 3e-7. Where names are numbers, the same
 * ones in each directory, stems meet all the time; but one example of two directories is for
 * these only, and few are tried at once, so that a file costs some look-ups at most. */
#include "cache/plan/plan_near.h"
#include "base/bits.h"
#include "cache/plan/plan_run.h"
#include <limits.h>
#include <stddef.h>

#define LEARNED	   3
#define LOSS	   8
#define MOST_OPEN  8		       /* visits */
#define MOST_PAIRS 32		       /* partners: as many as there are scans */
#define CANDIDATES 2		       /* pairs that are being learned at once */
#define LEAST	   4		       /* extents of the smallest directory that has a rest */
#define FEW_RUNS   4		       /* that the rest of a directory may take, */
#define FEW_BYTES  ((uint64_t)4 << 20) /* or bytes, where runs are short */
#define ROW	   2 /* directories in a row that a scan goes through, and not by chance */

/* --- habits ---------------------------------------------------------------------------------- */

static void habit_kept(struct plan_habit *habit, int most)
{
	if (habit->score < most)
		habit->score++;
}

static void habit_broken(struct plan_habit *habit)
{
	habit->score = habit->score > LOSS ? habit->score - LOSS : 0;
}

static bool habit_holds(const struct plan_habit *habit)
{
	return habit->score >= LEARNED && habit->open < (unsigned)habit->score;
}

/* The recent file that the extent is of, or NULL. */
static struct plan_recent *recent_of(struct plan_near *near, uint64_t extent)
{
	for (uint64_t i = 1; i <= PLAN_RECENT; i++) {
		struct plan_recent *recent = &near->recent[(near->clock - i) % PLAN_RECENT];

		if (extent - recent->file < recent->end - recent->file)
			return recent;
	}
	return NULL;
}

/* --- visits: the rest of this directory ------------------------------------------------------ */

static void visit_settle(struct plan_visit *visit)
{
	if (visit->habit)
		visit->habit->open--;
	visit->habit = NULL;
}

/* The shortest of the last even visits. */
static unsigned reach(const struct plan_near *near)
{
	unsigned least = near->lengths[0];

	for (unsigned i = 1; i < PLAN_LENGTHS; i++)
		if (near->lengths[i] < least)
			least = near->lengths[i];
	return least;
}

static unsigned nearly_all(const struct plan_visit *visit)
{
	return (visit->size * 9 + 9) / 10;
}

static void judge_even(struct plan_near *near, const struct plan_visit *visit)
{
	bool even = visit->even && visit->count > 2;

	if (even && (near->even.score == 0 || visit->count >= reach(near)))
		habit_kept(&near->even, MOST_OPEN);
	else
		habit_broken(&near->even);
	if (even)
		near->lengths[near->length++ % PLAN_LENGTHS] = visit->count;
}

/* Where the kernel keeps the first file that nobody asked for, nobody needed to ask. */
static bool may_be_whole(const struct plan_visit *visit, const struct plan_view *view)
{
	uint32_t at = 0;

	while (at < visit->size && bit_get(visit->asked, at))
		at++;
	return at < visit->size && plan_is_kept(view, visit->directory + at);
}

/* One file is no visit: nothing would have been read ahead. */
static void visit_end(struct plan_near *near, const struct plan_view *view,
		      struct plan_visit *visit)
{
	visit_settle(visit);
	if (visit->count > 1) {
		if (!visit->whole && !may_be_whole(visit, view))
			habit_broken(&near->whole);
		judge_even(near, visit);
	}
	visit->count = visit->left = visit->until = 0;
}

static bool visit_asked(const struct plan_visit *visit, uint64_t extent)
{
	uint64_t at = extent - visit->directory;

	return bit_get(visit->asked, at);
}

/* Returns whether it was not asked for before. */
static bool visit_mark(struct plan_visit *visit, uint64_t extent)
{
	uint64_t at = extent - visit->directory;

	if (visit_asked(visit, extent))
		return false;
	bit_set(visit->asked, at);
	visit->count++;
	return true;
}

static void foresee_rest(struct plan_near *near, struct plan_visit *visit)
{
	visit->habit = &near->whole;
	visit->until = visit->size;
	visit->next = visit->directory;
	visit->stride = 1;
	visit->left = visit->size;
}

/* Backward steps are planned from their end, since runs go forward. */
static void foresee_steps(struct plan_near *near, struct plan_visit *visit)
{
	uint64_t length = (uint64_t)(visit->step < 0 ? -visit->step : visit->step);
	uint64_t end = visit->directory + visit->size, most;

	most = (visit->step < 0 ? visit->at - visit->directory : end - 1 - visit->at) / length;
	visit->habit = &near->even;
	visit->until = reach(near);
	visit->left = visit->until - visit->count;
	if (visit->left > most)
		visit->left = (unsigned)most;
	visit->stride = length;
	visit->next = visit->step < 0 ? visit->at - length * visit->left : visit->at + length;
}

static void foresee(struct plan_near *near, struct plan_visit *visit)
{
	if (visit->count < 2 || visit->until || visit->is_long)
		return;
	if (!visit->whole && habit_holds(&near->whole))
		foresee_rest(near, visit);
	else if (visit->even && visit->count < reach(near) && habit_holds(&near->even))
		foresee_steps(near, visit);
	if (visit->habit)
		visit->habit->open++;
}

static void visit_step(struct plan_visit *visit, uint64_t file)
{
	int64_t step = (int64_t)(file - visit->at);

	if (visit->count == 2)
		visit->step = step;
	visit->even = visit->count <= 2 || (visit->even && step == visit->step);
	visit->at = file;
}

/* What was asked for now keeps a habit, or shows that it is not kept. */
static void visit_judge(struct plan_near *near, struct plan_visit *visit)
{
	if (!visit->whole && visit->count >= nearly_all(visit)) {
		visit->whole = true;
		habit_kept(&near->whole, MOST_OPEN);
	}
	if (visit->habit == &near->whole ? visit->whole : visit->count >= visit->until)
		visit_settle(visit);
	if (visit->habit == &near->even && !visit->even)
		visit->left = 0;
}

static struct plan_visit *visit_of(struct plan_near *near, uint64_t directory)
{
	struct plan_visit *unused = NULL;

	for (size_t i = 0; i < PLAN_RECENT; i++) {
		struct plan_visit *visit = &near->visits[i];

		if (visit->count == 0)
			unused = visit;
		else if (visit->directory == directory)
			return visit;
	}
	return unused; /* there is one: fewer than PLAN_RECENT files keep a visit */
}

/* How many visits led here, each to the end of a directory and on to the next one's start. */
static unsigned visits_in_a_row(struct plan_near *near, const struct plan_kin *kin)
{
	const struct plan_recent *before = recent_of(near, kin->directory - 1);

	return kin->file == kin->directory && before && before->visit ? before->visit->row + 1 : 0;
}

static struct plan_visit *visit_demand(struct plan_near *near, const struct plan_view *view,
				       const struct plan_kin *kin, uint64_t extent)
{
	uint64_t size = kin->directory_end - kin->directory;
	struct plan_visit *visit;

	if (size < LEAST || size > PLAN_DIRECTORY)
		return NULL;
	visit = visit_of(near, kin->directory);
	/* Once more from the start, in the next epoch. */
	if (visit->count && visit->whole && visit_asked(visit, extent))
		visit_end(near, view, visit);
	if (visit->count == 0)
		*visit = (struct plan_visit){.directory = kin->directory,
					     .size = (uint32_t)size,
					     .row = visits_in_a_row(near, kin),
					     .again = view->served(view->context, extent)};
	visit->last = near->clock;
	if (visit_mark(visit, extent)) {
		visit_step(visit, kin->file);
		visit_judge(near, visit);
		foresee(near, visit);
	}
	return visit;
}

bool plan_near_foresees(const struct plan_near *near)
{
	const struct plan_visit *visit = near->visit;

	if (!visit || visit->count > visit->until || visit->row >= ROW)
		return false;
	return visit->count && (visit->even || visit->until == visit->size);
}

/* --- pairs: the same name elsewhere ---------------------------------------------------------- */

static bool pair_known(const struct plan_pair *pair)
{
	return pair->habit.score > 0;
}

static bool pair_partner(const struct plan_pair *pair, const struct plan_view *view, uint64_t file,
			 uint64_t *ret)
{
	return pair_known(pair) && view->namesake(view->context, file, pair->from, pair->to, ret) &&
	       *ret != file;
}

static void pair_forget(struct plan_near *near, unsigned i)
{
	near->pairs[i] = (struct plan_pair){0};
	for (size_t at = 0; at < PLAN_RECENT; at++)
		near->recent[at].owed &= (uint8_t) ~(1 << i);
}

/* What the file owes to pair i is given, or never will be. */
static void owed_end(struct plan_near *near, struct plan_recent *recent, unsigned i, bool kept)
{
	struct plan_habit *habit = &near->pairs[i].habit;

	recent->owed &= (uint8_t) ~(1 << i);
	habit->open--;
	if (kept)
		habit_kept(habit, MOST_PAIRS);
	else
		habit_broken(habit);
	if (habit->score == 0)
		pair_forget(near, i);
}

/* Whether the file is the partner of a recent one, which owes it no more. */
static bool partner_came(struct plan_near *near, const struct plan_view *view,
			 struct plan_recent *recent, uint64_t file)
{
	bool found = false;
	uint64_t partner;

	for (unsigned i = 0; i < PLAN_PAIRS; i++) {
		if (!pair_partner(&near->pairs[i], view, recent->file, &partner) || partner != file)
			continue;
		if (recent->owed & 1 << i)
			owed_end(near, recent, i, true);
		found = true;
	}
	return found;
}

/* Where one more is learned: a place that is free, or that of one that was not believed in for
 * long. NULL while CANDIDATES are being learned. */
static struct plan_pair *pair_place(struct plan_near *near)
{
	struct plan_pair *place = NULL;
	unsigned candidates = 0;

	for (unsigned i = 0; i < PLAN_PAIRS; i++) {
		struct plan_pair *pair = &near->pairs[i];
		bool late = near->clock - pair->since > PLAN_RECENT;

		if (!pair_known(pair) || (pair->habit.score < LEARNED && late))
			place = pair;
		else if (pair->habit.score < LEARNED)
			candidates++;
	}
	return candidates < CANDIDATES ? place : NULL;
}

static void pair_learn(struct plan_near *near, const struct plan_view *view, uint64_t from,
		       uint64_t to)
{
	struct plan_pair *place = pair_place(near);
	uint64_t same;

	if (!place || !view->namesake(view->context, from, from, to, &same) || same != to)
		return;
	pair_forget(near, (unsigned)(place - near->pairs));
	*place = (struct plan_pair){
		.from = from, .to = to, .since = near->clock, .habit = {.score = 1}};
}

/* By a pair that is known. */
static bool is_partner(const struct plan_near *near, const struct plan_view *view, uint64_t file,
		       uint64_t of)
{
	uint64_t partner;

	for (unsigned i = 0; i < PLAN_PAIRS; i++)
		if (pair_partner(&near->pairs[i], view, of, &partner) && partner == file)
			return true;
	return false;
}

/* From the newest on: where many have the same stem, that is the one it most likely belongs to.
 * But when that is itself the partner of an older one, both are, because from there is most time
 * until they are asked for. */
static void pairs_confirm(struct plan_near *near, const struct plan_view *view,
			  const struct plan_kin *kin)
{
	const struct plan_recent *leader = NULL;
	bool known = false;

	for (uint64_t i = 1; i < PLAN_RECENT; i++) {
		struct plan_recent *recent = &near->recent[(near->clock - i) % PLAN_RECENT];

		if (recent->stem != kin->stem || recent->end == 0)
			continue;
		known |= partner_came(near, view, recent, kin->file);
		if (!leader || (!known && is_partner(near, view, leader->file, recent->file)))
			leader = recent;
	}
	if (leader && !known)
		pair_learn(near, view, leader->file, kin->file);
}

static void partner_add(struct plan_near *near, uint64_t file)
{
	if (near->partner_count == PLAN_PARTNERS) {
		near->partner++;
		near->partner_count--;
	}
	near->partners[(near->partner + near->partner_count++) % PLAN_PARTNERS] = file;
}

/* Who has just been asked for, or is still with the kernel, will not be asked for soon. */
static bool partner_expected(struct plan_near *near, const struct plan_view *view, uint64_t file,
			     uint64_t partner)
{
	return !recent_of(near, partner) &&
	       (!view->served(view->context, partner) || view->served(view->context, file));
}

/* The partners of a file are owed from now on. Returns by which pairs. */
static uint8_t pairs_owe(struct plan_near *near, const struct plan_view *view, uint64_t file)
{
	uint8_t owed = 0;
	uint64_t partner;

	for (unsigned i = 0; i < PLAN_PAIRS; i++) {
		struct plan_habit *habit = &near->pairs[i].habit;

		if (!pair_partner(&near->pairs[i], view, file, &partner) ||
		    !partner_expected(near, view, file, partner))
			continue;
		if (habit_holds(habit) && !view->have(view->context, partner))
			partner_add(near, partner);
		habit->open++;
		owed |= (uint8_t)(1 << i);
	}
	return owed;
}

/* --- demands --------------------------------------------------------------------------------- */

void plan_near_init(struct plan_near *near)
{
	*near = (struct plan_near){0};
	for (size_t i = 0; i < PLAN_LENGTHS; i++)
		near->lengths[i] = UINT_MAX;
}

/* What is no longer recent has kept its habits by now, or broken them. */
static void recent_leave(struct plan_near *near, const struct plan_view *view,
			 struct plan_recent *recent)
{
	for (unsigned i = 0; i < PLAN_PAIRS; i++)
		if (recent->owed & 1 << i)
			owed_end(near, recent, i, false);
	if (recent->visit && recent->visit->last + PLAN_RECENT == near->clock)
		visit_end(near, view, recent->visit);
	*recent = (struct plan_recent){0};
}

static void file_demand(struct plan_near *near, const struct plan_view *view, uint64_t extent)
{
	struct plan_recent *recent = &near->recent[near->clock % PLAN_RECENT];
	struct plan_kin kin;

	view->kin(view->context, extent, &kin);
	recent_leave(near, view, recent);
	pairs_confirm(near, view, &kin);
	near->visit = visit_demand(near, view, &kin, extent);
	*recent = (struct plan_recent){
		.file = kin.file,
		.end = kin.file_end,
		.stem = kin.stem,
		.visit = near->visit,
		.owed = pairs_owe(near, view, kin.file),
	};
	near->clock++;
}

void plan_near_demand(struct plan_near *near, const struct plan_view *view, uint64_t extent)
{
	struct plan_recent *recent;

	if (!view->kin)
		return;
	recent = recent_of(near, extent);
	if (!recent) {
		file_demand(near, view, extent);
	} else if (recent->visit) {
		near->visit = recent->visit;
		if (visit_mark(recent->visit, extent))
			visit_judge(near, recent->visit);
	}
}

/* --- runs ------------------------------------------------------------------------------------ */

bool plan_near_wants(const struct plan_near *near)
{
	return near->partner_count || (near->visit && near->visit->left);
}

/* Returns whether anything is left to read of the file that there was no room for. */
static bool partner_run(const struct plan_view *view, const struct plan_limits *limits,
			uint64_t file, struct plan_run *ret)
{
	struct plan_run_builder builder = plan_run_begin(view, limits, limits->room, ret);
	struct plan_kin kin;

	view->kin(view->context, file, &kin);
	for (uint64_t e = file; e < kin.file_end; e++)
		if (!view->have(view->context, e) && !plan_run_add(&builder, e))
			return true;
	return false;
}

/* Of a partner longer than a run the rest is left to the scan that it is read by. */
static bool partners_next(struct plan_near *near, const struct plan_view *view,
			  const struct plan_limits *limits, struct plan_run *ret)
{
	while (near->partner_count) {
		uint64_t file = near->partners[near->partner % PLAN_PARTNERS];
		bool more = partner_run(view, limits, file, ret);

		if (more && ret->count == 0)
			return false;
		near->partner++;
		near->partner_count--;
		if (ret->count)
			return true;
	}
	return false;
}

/* Bytes of the directory, with what lies between. */
static uint64_t span_of(const struct plan_visit *visit, const struct plan_view *view)
{
	uint64_t first, last;
	uint32_t size;

	view->locate(view->context, visit->directory, &first, &size);
	view->locate(view->context, visit->directory + visit->size - 1, &last, &size);
	return last < first ? UINT64_MAX : last + size - first;
}

/* What is longer is read piece by piece, by a scan, or not ahead. */
static bool is_long(const struct plan_near *near, const struct plan_visit *visit,
		    const struct plan_view *view, const struct plan_limits *limits)
{
	uint64_t few = FEW_RUNS * limits->run > FEW_BYTES ? FEW_RUNS * limits->run : FEW_BYTES;

	if (visit->habit == &near->whole)
		return span_of(visit, view) > few;
	return (uint64_t)visit->left * plan_size(view, visit->next) > few;
}

static void visit_let_go(struct plan_visit *visit)
{
	visit_settle(visit);
	visit->left = visit->until = 0;
	visit->is_long = true;
}

static bool visit_has(const struct plan_visit *visit, const struct plan_view *view)
{
	return visit_asked(visit, visit->next) || view->have(view->context, visit->next) ||
	       (!visit->again && view->served(view->context, visit->next));
}

static bool visit_run(const struct plan_near *near, struct plan_visit *visit,
		      const struct plan_view *view, const struct plan_limits *limits,
		      struct plan_run *ret)
{
	struct plan_run_builder builder = plan_run_begin(view, limits, limits->room, ret);

	if (is_long(near, visit, view, limits))
		visit_let_go(visit);
	while (visit->left) {
		if (!visit_has(visit, view) && !plan_run_add(&builder, visit->next))
			break;
		visit->next += visit->stride;
		visit->left--;
	}
	return ret->count > 0;
}

bool plan_near_next(struct plan_near *near, const struct plan_view *view,
		    const struct plan_limits *limits, struct plan_run *ret)
{
	if (partners_next(near, view, limits, ret))
		return true;
	for (size_t i = 0; i < PLAN_RECENT; i++)
		if (near->visits[i].left && visit_run(near, &near->visits[i], view, limits, ret))
			return true;
	return false;
}
