/* The generators are followed side by side, a lane of a vector each: word i of all of them lies
 * together, so that a step of the recurrence is the same few instructions for all, without
 * shuffling or odd ends. What is compared is the word before tempering, which is a bijection: the
 * seed is untempered once. */
#include "base/scope.h"
#include "cache/order/mt19937.h"
#include "cache/order/pass.h"
#include <errno.h>
#include <stdlib.h>

#define LANES  8 /* words of a vector of AVX2: 6 * 10^9 outputs/s; wider ones are no faster */
#define GROUPS (PASS_ROOTS / LANES)
#define TURN   16 /* blocks of one group while it is in the first-level cache */

_Static_assert(PASS_ROOTS % LANES == 0, "a lane for each root");

typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));
typedef uint32_t small __attribute__((vector_size(4 * sizeof(uint32_t)))); /* SSE2, NEON */

/* GCC aligns a vector that the processor of the build does not have less than one that has it
 * expects. */
struct group {
	_Alignas(sizeof(lanes)) lanes words[MT19937_WORDS];
	lanes wanted;
	lanes hit; /* not 0 where a word of the last block is the wanted one */
};

_Static_assert(_Alignof(struct group) >= sizeof(lanes), "aligned loads");

typedef void block_fn(struct group *group);

struct pass_roots {
	struct group groups[GROUPS];
	struct pass pass;
	uint64_t searched;
	block_fn *next_block;
};

/* A macro, for a function with each width: a vector that the processor does not have GCC takes to
 * pieces, word by word. */
#define STEP(i, next, near)                                                                     \
	do {                                                                                    \
		__typeof__(hit) mixed =                                                         \
			(words[(i)*parts] & 0x80000000u) | (words[(next)*parts] & 0x7fffffffu); \
                                                                                                \
		words[(i)*parts] = words[(near)*parts] ^ (mixed >> 1) ^                         \
				   (-(words[(next)*parts] & 1u) & MT19937_TWIST);               \
		hit |= (__typeof__(hit))(words[(i)*parts] == wanted);                           \
	} while (0)

#define NEXT_BLOCK(name, vector, attributes)                                                 \
	attributes static void name(struct group *group)                                     \
	{                                                                                    \
		const unsigned parts = sizeof(lanes) / sizeof(vector);                       \
		const unsigned last = MT19937_WORDS - 1, far = MT19937_WORDS - MT19937_NEAR; \
                                                                                             \
		for (unsigned part = 0; part < parts; part++) {                              \
			vector *words = (vector *)group->words + part;                       \
			vector wanted = ((vector *)&group->wanted)[part], hit = {0};         \
                                                                                             \
			for (unsigned i = 0; i < far; i++)                                   \
				STEP(i, i + 1, i + MT19937_NEAR);                            \
			for (unsigned i = far; i < last; i++)                                \
				STEP(i, i + 1, i - far);                                     \
			STEP(last, 0, MT19937_NEAR - 1);                                     \
			((vector *)&group->hit)[part] = hit;                                 \
		}                                                                            \
	}

NEXT_BLOCK(next_block_small, small, )
#ifdef __x86_64__
NEXT_BLOCK(next_block_avx2, lanes, __attribute__((target("avx2"))))
#endif

static block_fn *choose_block(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return next_block_avx2;
#endif
	return next_block_small;
}

/* y ^ (y << shift & mask), backwards: each turn has `shift` more bits right. */
static uint32_t undo_left(uint32_t y, unsigned shift, uint32_t mask)
{
	uint32_t x = y;

	for (unsigned right = shift; right < 32; right += shift)
		x = y ^ (x << shift & mask);
	return x;
}

static uint32_t undo_right(uint32_t y, unsigned shift)
{
	uint32_t x = y;

	for (unsigned right = shift; right < 32; right += shift)
		x = y ^ x >> shift;
	return x;
}

static uint32_t untemper(uint32_t y)
{
	y = undo_right(y, 18);
	y = undo_left(y, 15, 0xefc60000u);
	y = undo_left(y, 7, 0x9d2c5680u);
	return undo_right(y, 11);
}

int pass_roots_new(const struct pass *pass, struct pass_roots **ret)
{
	struct pass_roots *roots = aligned_alloc(_Alignof(struct pass_roots), sizeof(*roots));

	if (!roots)
		return -ENOMEM;
	roots->pass = *pass;
	roots->searched = 0;
	roots->next_block = choose_block();
	for (unsigned i = 0; i < PASS_ROOTS; i++) {
		struct group *group = &roots->groups[i / LANES];
		struct mt19937 mt;

		mt19937_init(&mt, pass_popular[i]);
		for (unsigned w = 0; w < MT19937_WORDS; w++)
			group->words[w][i % LANES] = mt.state[w];
		group->wanted[i % LANES] = untemper(pass->seed);
	}
	*ret = roots;
	return 0;
}

void pass_roots_free(struct pass_roots *roots)
{
	free(roots);
}

uint64_t pass_roots_searched(const struct pass_roots *roots)
{
	return roots->searched;
}

struct found {
	struct pass *ret;
	unsigned most, count;
};

static void add_found(struct found *found, const struct pass *pass, uint32_t root, uint64_t word)
{
	struct pass *ret = &found->ret[found->count];

	if (word == 0 || found->count == found->most) /* a seed is the second of two outputs */
		return;
	found->count++;
	*ret = *pass;
	ret->rule = PASS_WORDS;
	ret->root = root;
	ret->word = word;
	ret->step = 0;
}

static bool has_hit(const struct group *group)
{
	uint32_t any = 0;

	for (unsigned lane = 0; lane < LANES; lane++)
		any |= group->hit[lane];
	return any;
}

/* `begin` is the output that the first word of the block is. */
static void look(const struct pass_roots *roots, unsigned g, uint64_t begin, struct found *found)
{
	const struct group *group = &roots->groups[g];

	for (unsigned i = 0; i < MT19937_WORDS; i++)
		for (unsigned lane = 0; lane < LANES; lane++)
			if (group->words[i][lane] == group->wanted[lane])
				add_found(found, &roots->pass, pass_popular[g * LANES + lane],
					  begin + i);
}

unsigned pass_roots_search(struct pass_roots *roots, uint64_t outputs, struct pass *ret,
			   unsigned most)
{
	struct found found = {.ret = ret, .most = most};
	uint64_t end = roots->searched + outputs;

	while (roots->searched < end) {
		for (unsigned g = 0; g < GROUPS; g++) {
			for (unsigned b = 0; b < TURN; b++) {
				roots->next_block(&roots->groups[g]);
				if (has_hit(&roots->groups[g]))
					look(roots, g, roots->searched + b * MT19937_WORDS, &found);
			}
		}
		roots->searched += TURN * MT19937_WORDS;
	}
	return found.count;
}
