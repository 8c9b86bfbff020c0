/* What surrounds an oracle: files, the lists that programs make of them, who follows its forecasts,
 * and loaders over the permutations of torch. */
#pragma once

#include "base/math.h"
#include "cache/order/oracle_internal.h"
#include "tests/unit/loader.h"
#include "tests/unit/test.h"
#include <string.h>

#ifndef N
#define N 5000
#endif
#define BASE  100	     /* the first file of the list */
#define FILES (BASE + 3 * N) /* behind it: the masks, and what others read */

struct world {
	struct oracle *oracle;
	unsigned followed;
	const struct forecast *forecasts[FORECASTS + 1];
	uint32_t list[N];
	bool pushed[FILES];
	unsigned pushes;
	uint8_t hidden[FILES / 8 + 1];
	bool hides;
	uint32_t near;	  /* lists of a few files each that are told first, */
	bool alike;	  /* and one that is nearly right */
	bool loose;	  /* a list of everything is told last; not all images have masks */
	bool wider;	  /* a list of images and some more is told as well */
	uint32_t folders; /* not 0: nothing else, but folders of so many files each */
	unsigned asked;	  /* so often for lists */
	uint64_t most;	  /* seeds are searched up to here, */
	double least;	  /* for lists of so many files, */
	double soon;	  /* and what is usual for these */
	uint64_t searched;
	unsigned long_searches;
	bool usual;	   /* that is tried too, */
	bool models;	   /* and models, */
	uint32_t classes;  /* with as many */
	unsigned looks;	   /* at whether to stop */
	bool gives_up;	   /* once it thinks hard, */
	unsigned patience; /* and has looked so often since */
	char sentence[ORACLE_SENTENCE];
};

static inline void follow(void *context, const struct forecast *forecast)
{
	struct world *world = context;

	assert_true(world->followed < FORECASTS);
	world->forecasts[world->followed++] = forecast;
}

static inline void leave(void *context, const struct forecast *forecast)
{
	struct world *world = context;
	unsigned at = 0;

	while (world->forecasts[at] != forecast)
		assert_true(++at < world->followed);
	world->forecasts[at] = world->forecasts[--world->followed];
}

static inline uint8_t *hidden(void *context)
{
	const struct world *world = context;
	uint8_t *copy = world->hides ? malloc(sizeof(world->hidden)) : NULL;

	return copy ? memcpy(copy, world->hidden, sizeof(world->hidden)) : NULL;
}

/* Of each hundred files. */
static inline void hide(struct world *world, uint32_t share)
{
	uint32_t random = 7;

	for (uint32_t file = 0; file < FILES; file++)
		if (draw_below(&random, 100) < share)
			bit_set(world->hidden, file);
	world->hides = true;
}

static inline bool foreseen(const struct world *world, uint32_t file)
{
	for (unsigned i = 0; i < world->followed; i++)
		if (forecast_foresees(world->forecasts[i], file))
			return true;
	return false;
}

static inline void begin(struct world *world)
{
	const struct oracle_ops ops = {
		.context = world, .follow = follow, .leave = leave, .hidden = hidden};

	assert_int_equal(oracle_new(FILES, &ops, &world->oracle), 0);
	for (uint32_t i = 0; i < N; i++)
		world->list[i] = BASE + i;
	world->most = 1 << 16;
}

static inline void end(struct world *world)
{
	oracle_free(world->oracle);
	assert_int_equal(world->followed, 0);
}

static inline void renew(struct world *world)
{
	end(world);
	*world = (struct world){0};
	begin(world);
}

/* --- the oracle's surroundings --------------------------------------------------------------- */

static inline bool is_over(void *context)
{
	struct world *world = context;

	world->looks++;
	return world->gives_up && world->long_searches > 0 && world->looks > world->patience;
}

static inline unsigned search(void *context, const struct seeds *seeds, uint64_t from, uint64_t to,
			      struct seeds_found *ret, unsigned most)
{
	struct world *world = context;
	unsigned count = 0;

	if (to == SEEDS_ALL) {
		world->long_searches++;
		world->looks = 0;
		from = GUESS_SMALL; /* the others were tried before */
	} else {
		to = min(to, SEEDS_STEP); /* those that tests have are there: it saves time */
	}
	for (; from < to && from < world->most && count == 0 && !is_over(context);
	     from += SEEDS_STEP) {
		count = seeds_search(seeds, (uint32_t)from, ret, most);
		world->searched += SEEDS_STEP;
	}
	return count;
}

static inline int files_in_a_row(const char *name, uint32_t first, uint32_t count,
				 oracle_list_fn *found, void *arg)
{
	uint32_t files[FILES];

	for (uint32_t i = 0; i < count; i++)
		files[i] = first + i;
	return found(arg, name, files, count, 0);
}

/* All that is in the file's directory, and in those that it is in. */
static inline int near_lists(const struct world *world, uint64_t file, oracle_list_fn *found,
			     void *arg)
{
	bool image = file < BASE + N;
	uint32_t masks[N];

	if (file < BASE || file >= BASE + 2 * N)
		return 0;
	for (uint32_t i = 0; i < world->near; i++) {
		const uint32_t few[] = {(uint32_t)file, FILES + i};

		assert_int_equal(found(arg, "few", few, 2, 0), 0);
	}
	for (uint32_t i = 0; i < N; i++)
		masks[i] = BASE + N + (i % 10 ? i : (i + 10) % N);
	if (!image && world->alike)
		assert_int_equal(found(arg, "otherwise", masks, N, 0), 0);
	for (uint32_t i = 0; i < N; i++)
		masks[i] = BASE + N + i;
	return image ? found(arg, "images", world->list, N, world->classes)
		     : found(arg, "masks", masks, world->loose ? N / 10 * 9 : N, 0);
}

static inline int lists(void *context, uint64_t file, oracle_list_fn *found, void *arg)
{
	struct world *world = context;
	uint32_t each = world->folders;
	int r;

	world->asked++;
	if (each)
		return files_in_a_row("folder", (uint32_t)file / each * each, each, found, arg);
	r = near_lists(world, file, found, arg);
	if (r == 0 && world->wider)
		r = files_in_a_row("images and more", BASE, N + N / 10, found, arg);
	if (r == 0 && world->loose)
		r = files_in_a_row("everything", 0, FILES, found, arg);
	return r;
}

/* Texts, images, masks. */
static inline uint64_t kind(void *context, uint64_t file)
{
	(void)context;
	return file < BASE ? 0 : file < BASE + N ? 1 : 2;
}

static inline struct oracle_hooks hooks_of(struct world *world)
{
	return (struct oracle_hooks){
		.search = {.context = world, .search = search, .over = is_over},
		.context = world,
		.lists = lists,
		.kind = kind,
	};
}

/* Returns whether it had something to think about, and in *found whether an order was found. */
static inline bool think_once(struct world *world, bool hard, bool *found)
{
	const struct effort effort = {.guess = true,
				      .usual = world->usual,
				      .models = world->models,
				      .hard = hard,
				      .least = world->least,
				      .soon = world->soon};
	const struct oracle_hooks hooks = hooks_of(world);
	struct query *query = oracle_ask(world->oracle, &effort);

	if (!query)
		return false;
	oracle_run(query, &hooks);
	*found |= oracle_answer(world->oracle, query, world->sentence);
	return true;
}

/* As long as there is something to think about. */
static inline bool think(struct world *world, bool hard)
{
	bool found = false;

	while (think_once(world, hard, &found))
		;
	return found;
}

static inline struct oracle_state state_of(const struct world *world)
{
	struct oracle_state state;

	oracle_state(world->oracle, &state);
	return state;
}

#define OFTEN  512 /* files of an epoch, in which it thinks after each of them, */
#define SELDOM 256 /* and then after so many: queries take time */

/* An epoch over `order`, indices of the list. Returns how many files were not foreseen. */
struct epoch {
	uint32_t workers, batch, first_reader, random;
	bool in_memory; /* so that thinking hard is not worth it */
	bool masks;
	bool in_turn;	       /* as in loader.h */
	bool slowly;	       /* it thinks seldom from the beginning */
	bool missed;	       /* it does not think at all */
	uint32_t mosaic;       /* others that are read with each */
	uint32_t seed, before; /* of this epoch and the one before; 0: not checked */
	uint32_t others;       /* returned: files at which another seed was shown than these */
	uint32_t locked;       /* returned: after so many files an order was found; 0: never */
};

/* Whether an order is said to be followed that is neither of these. */
static inline bool shows_other_than(const struct world *world, uint32_t seed, uint32_t before)
{
	const struct oracle_state state = state_of(world);

	return state.tracks && state.seed != seed && state.seed != before;
}

static inline uint32_t read_epoch(struct world *world, const uint32_t *order, uint32_t count,
				  struct epoch *epoch)
{
	uint32_t reader, index, missed = 0, at = 0, pause, random = 1;
	struct loader loader;

	loader_init(&loader, order, count, epoch->workers, epoch->batch);
	loader.first_reader = epoch->first_reader;
	loader.random = epoch->random;
	loader.in_turn = epoch->in_turn;
	epoch->locked = 0;
	while (loader_next(&loader, &reader, &index)) {
		uint32_t id = epoch->first_reader ? reader : 0;

		if (world->hides && bit_get(world->hidden, BASE + index))
			continue;
		missed += !foreseen(world, BASE + index);
		oracle_saw(world->oracle, id, BASE + index);
		if (epoch->masks) {
			missed += !foreseen(world, BASE + N + index);
			oracle_saw(world->oracle, id, BASE + N + index);
		}
		for (uint32_t i = 0; i < epoch->mosaic; i++)
			oracle_saw(world->oracle, id, BASE + draw_below(&random, N));
		epoch->others += epoch->seed && shows_other_than(world, epoch->seed, epoch->before);
		pause = at >= OFTEN ? SELDOM : epoch->slowly ? 64 : 1;
		if (++at % pause || epoch->missed)
			continue;
		if (think(world, !epoch->in_memory) && !epoch->locked)
			epoch->locked = at;
	}
	return missed;
}

FIXTURE(world, struct world, begin, end);
