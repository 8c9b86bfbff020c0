/* Jobs of several processes, each of which reads a part of the order: cache/order/oracle.h, with
 * simulated loaders over the permutations of torch. */
#include "cache/order/permutation.h"
#include "tests/unit/oracle_world.h"
#include "tests/unit/test.h"

static uint32_t order[N], other[N];

/* Ranks from `first` on, in step. */
static struct oracle_state read_ranks(struct world *world, struct sampler_part part, uint32_t ranks,
				      struct epoch *epoch)
{
	struct oracle_state found;
	uint32_t count = 0;

	permutation_of(3, other, N);
	for (uint32_t i = 0; i < N; i++)
		if (i % part.world - part.first < ranks)
			order[count++] = other[i];
	read_epoch(world, order, count, epoch);
	found = state_of(world);
	assert_true(epoch->locked > 0);
	assert_int_equal(found.seed, 3);
	assert_int_equal(found.files, count);
	return found;
}

/* Before the models that scripts make: these take seconds, and look each millisecond or two. */
TEST_OF(world, ranks_are_found_before_models_are_tried)
{
	const struct sampler_part part = {.world = 8, .first = 2};
	struct epoch epoch = {.workers = 2, .batch = 1, .first_reader = 100, .slowly = true};

	world->models = true;
	read_ranks(world, part, 2, &epoch);
	assert_in_range(world->looks, 0, 100);
}

/* The first of two machines with eight: they begin as the whole does. */
TEST_OF(world, half_of_the_ranks_are_not_all)
{
	const struct sampler_part part = {.world = 16};
	struct epoch epoch = {.workers = 8, .batch = 1, .first_reader = 100};

	assert_non_null(strstr(read_ranks(world, part, 8, &epoch).sampler, "0 to 7 of 16"));
}

/* By a convention, or by a search; and whichever batches of it turn out to be read. */
TEST_OF(world, the_whole_is_one_order_however_it_was_found)
{
	const struct hypothesis searched = {.sampler = {.seed = 3}};
	struct hypothesis hypothesis = searched;

	hypothesis.sampler.part = (struct sampler_part){.world = 1, .unit = 1, .ranks = 1};
	assert_true(oracle_same_order(&searched, &hypothesis));
	hypothesis.sampler.part = (struct sampler_part){.world = 2, .unit = 32, .ranks = 1};
	assert_true(oracle_same_order(&searched, &hypothesis));
	hypothesis.sampler.part = (struct sampler_part){.world = 16, .unit = 1, .ranks = 0xff};
	assert_false(oracle_same_order(&searched, &hypothesis));
}

/* Accelerate on several nodes: seeds that rise, as with the Trainer, or one generator. */
TEST_OF(world, batches_of_a_node_are_learned_and_kept)
{
	static const struct {
		struct sampler_part part;
		uint32_t workers, seed;
		enum sampler_rule rule;
	} nodes[] = {
		{{.world = 2, .unit = 32, .ranks = 1}, 2, 42, SAMPLER_RESEED},
		{{.world = 2, .unit = 32, .first = 1, .ranks = 1}, 2, 42, SAMPLER_RESEED},
		{{.world = 2, .unit = 40, .first = 0, .ranks = 1}, 1, 1042, SAMPLER_STREAM},
	};

	for (unsigned i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
		uint32_t workers = nodes[i].workers;
		struct sampler sampler = {
			.rule = nodes[i].rule,
			.seed = nodes[i].seed,
			.part = nodes[i].part,
			.step = nodes[i].rule == SAMPLER_STREAM ? 2 * (N - 1) : 0,
		};

		for (uint32_t at = 0; at < 4; at++) {
			struct epoch epoch = {.workers = workers,
					      .batch = nodes[i].part.unit,
					      .first_reader = 100 + 10 * at};
			uint32_t count = sampler_order(&sampler, N, order);
			uint32_t missed = read_epoch(world, order, count, &epoch);

			assert_true(at > 1 || epoch.locked > 0);
			assert_int_equal(state_of(world).seed, sampler.seed);
			assert_int_equal(state_of(world).epoch, at);
			assert_non_null(strstr(state_of(world).sampler, "BatchSamplerShard"));
			assert_in_range(state_of(world).files, count - 256, count + 256);
			if (at > 1)
				assert_true(missed < 200);
			assert_int_equal(sampler_next(&sampler, N, &sampler), 1);
		}
		assert_int_equal(state_of(world).unlocks, 0);
		renew(world);
	}
}

/* A rank of `world`, that readers go by. Returns its track. */
static struct track *follow_rank(struct world *world, const struct order_list *list, uint32_t ranks,
				 uint32_t rank)
{
	struct hypothesis hypothesis = {
		.list = list,
		.sampler = {.rule = SAMPLER_RESEED,
			    .part = {.world = ranks, .unit = 1, .first = rank, .ranks = 1}}};
	struct forecast *forecast;
	uint32_t *files, count;

	files = hypothesis_files(&hypothesis, &count);
	assert_int_equal(forecast_new(files, count, NULL, &forecast), 0);
	oracle_begin(world->oracle, &hypothesis, forecast);
	world->oracle->tracks[world->oracle->count - 1].fed_by = 32;
	return &world->oracle->tracks[world->oracle->count - 1];
}

/* By the first that asks; and where the next epoch deals places anew, to the ranks of that one. */
TEST_OF(world, a_rank_goes_on_with_one_other)
{
	struct order_list *list;
	struct track *tracks[3];
	struct sampler next;

	assert_int_equal(order_list_copy("images", world->list, N, &list), 0);
	tracks[0] = follow_rank(world, list, 8, 2);
	tracks[1] = follow_rank(world, list, 8, 3);
	next = tracks[0]->hypothesis.sampler;
	next.part.first = 5;
	oracle_join_ranks(world->oracle, tracks[0], &next);
	assert_int_equal(next.part.first, 5);
	assert_int_equal(next.part.ranks, 3);
	tracks[2] = follow_rank(world, list, 8, 4);
	next = tracks[2]->hypothesis.sampler;
	tracks[0]->followed_up = true;
	oracle_join_ranks(world->oracle, tracks[2], &next);
	assert_int_equal(next.part.ranks, 1);
	order_list_free(list);
}

/* --- whatever happens ------------------------------------------------------------------------ */

#define RANKS  8
#define SEEDS  1000
#define EPOCHS 3
#define BEGUN  32 /* files of a rank, by which it is found after two queries */

/* Of a job: when its ranks begin, and who of them and of their workers is faster, is chance. */
struct node {
	uint32_t world, first, ranks; /* of the job, and here */
	uint32_t workers, batch;
	bool persistent;
	uint32_t latency; /* turns that a query takes */
	uint32_t apart;	  /* turns in which ranks begin */
	uint32_t random;
	uint32_t parts[RANKS][N];
	struct loader loaders[RANKS];
	uint32_t begins[RANKS];
	struct query *query;
	uint32_t due;	 /* the turn with which it is query */
	uint32_t missed; /* files that were not foreseen */
};

static uint32_t below(struct node *node, uint32_t n)
{
	return draw_below(&node->random, n);
}

static uint32_t one_of(struct node *node, const uint32_t values[4])
{
	return values[below(node, 4)];
}

static void make_node(struct node *node, uint32_t number)
{
	*node = (struct node){.random = number};
	for (uint32_t i = 0; i < 8; i++)
		below(node, 2);
	node->world = one_of(node, (const uint32_t[]){2, 3, 4, 8});
	node->ranks = below(node, 2) ? node->world : 1 + below(node, node->world);
	node->first = below(node, node->world / node->ranks) * node->ranks;
	node->workers = one_of(node, (const uint32_t[]){0, 1, 2, 2});
	node->batch = one_of(node, (const uint32_t[]){1, 16, 32, 64});
	node->persistent = below(node, 2);
	node->latency = 1 + below(node, 40);
	node->apart = one_of(node, (const uint32_t[]){1, 10, 60, 300});
}

static void begin_epoch(struct node *node, uint32_t epoch)
{
	for (uint32_t rank = 0; rank < node->ranks; rank++) {
		struct loader *loader = &node->loaders[rank];
		uint32_t count = 0;

		for (uint32_t place = node->first + rank; place < N; place += node->world)
			node->parts[rank][count++] = order[place];
		loader_init(loader, node->parts[rank], count, node->workers, node->batch);
		loader->first_reader = 100 + 10 * rank;
		if (node->workers && !node->persistent)
			loader->first_reader += 100 * epoch;
		loader->random = 1 + below(node, SEEDS);
		node->begins[rank] = below(node, node->apart);
	}
}

/* A file of each rank, but for those that are slower now. */
static bool read_turn(struct world *world, struct node *node, uint32_t turn)
{
	uint32_t reader, index;
	bool on = false;

	for (uint32_t rank = 0; rank < node->ranks; rank++) {
		if (turn < node->begins[rank] || below(node, RANKS) == 0) {
			on = true;
			continue;
		}
		if (!loader_next(&node->loaders[rank], &reader, &index))
			continue;
		on = true;
		node->missed += !foreseen(world, BASE + index);
		oracle_saw(world->oracle, reader, BASE + index);
	}
	return on;
}

static void think_slowly(struct world *world, struct node *node, uint32_t turn)
{
	const struct effort effort = {.guess = true, .hard = true};
	const struct oracle_hooks hooks = hooks_of(world);

	if (node->query && turn < node->due)
		return;
	if (node->query)
		oracle_answer(world->oracle, node->query, world->sentence);
	node->query = oracle_ask(world->oracle, &effort);
	node->due = turn + node->latency;
	if (node->query)
		oracle_run(node->query, &hooks);
}

/* What is missed comes before they are found, one after the other. */
TEST_OF(world, ranks_are_followed_however_they_begin)
{
	static struct node node;

	for (uint32_t number = 0; number < 24; number++) {
		make_node(&node, number);
		for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
			permutation_of(number + epoch, order, N);
			begin_epoch(&node, epoch);
			for (uint32_t turn = 0; read_turn(world, &node, turn); turn++)
				think_slowly(world, &node, turn);
			node.due = 0;
			think_slowly(world, &node, 0);
			assert_int_equal(state_of(world).seed, number + epoch);
		}
		assert_in_range(node.missed, 1, EPOCHS * node.ranks * (BEGUN + 2 * node.latency));
		for (uint32_t turn = node.due; node.query; turn = node.due)
			think_slowly(world, &node, turn);
		renew(world);
	}
}
