#include "cache/order/mt19937.h"
#include "cache/order/sampler.h"

#define WORDS	    256	 /* outputs of a generator that are tried as seeds */
#define PLAIN_ROOTS 1024 /* 0, 1, 2, ... are tried as its seed */

/* torch.Generator() that nobody seeds: default_rng_seed_val of c10/core/GeneratorImpl.h,
 * 67280421310721, of which the low 32 bits count. */
#define TORCH_UNSEEDED 4053586177u

/* ultralytics/data/build.py: 6148914691236517205 + RANK, which is -1 on a single device, 0 and more
 * otherwise. */
static const uint32_t ultralytics[] = {0x55555554, 0x55555555, 0x55555556, 0x55555557, 0x55555558,
				       0x55555559, 0x5555555a, 0x5555555b, 0x5555555c};

const uint32_t sampler_popular[SAMPLER_ROOTS] = {
	42,   0,    1,	   1337,	   1234, 123, 3407, 2, 3, 12345, 10,   2023, 2024, 2025,
	2021, 2022, 2020,  2026,	   5,	 7,   100,  4, 8, 6,	 1111, 666,  777,  233,
	999,  9999, 31337, TORCH_UNSEEDED,
};

/* Others that people choose, beyond the plain ones. */
static const uint32_t rare[] = {
	1024,	   1029,      1111,	  1122,	      1212,	  1221,	      1234,
	1235,	   1314,      1337,	  1338,	      1993,	  1994,	      1995,
	1996,	   1997,      1998,	  1999,	      2000,	  2001,	      2010,
	2011,	   2012,      2013,	  2014,	      2015,	  2016,	      2017,
	2018,	   2019,      2020,	  2021,	      2022,	  2023,	      2024,
	2025,	   2026,      2027,	  2048,	      2077,	  2222,	      2333,
	2345,	   3333,      3407,	  3456,	      4040,	  4096,	      4242,
	4321,	   4444,      5000,	  5555,	      6666,	  7777,	      8192,
	8888,	   9999,      10000,	  10086,      11111,	  12321,      12345,
	13579,	   19260817,  20000,	  22222,      23333,	  31337,      31415,
	32767,	   32768,     33333,	  42424,      54321,	  55555,      65535,
	65536,	   66666,     77777,	  88888,      99999,	  100000,     111111,
	114514,	   123123,    123456,	  131071,     1234567,	  271828,     314159,
	424242,	   524287,    654321,	  666666,     888888,	  999999,     1000000,
	3141592,   9876543,   12345678,	  31415926,   87654321,	  123456789,  271828182,
	314159265, 987654321, 1234567890, 2147483647, 3735928559, 3405691582, 4294967295,
	20200101,  20210101,  20220101,	  20230101,   20240101,	  20250101,   TORCH_UNSEEDED,
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct caller {
	sampler_try_fn *try;
	void *arg;
};

static bool try_epoch(const struct caller *caller, struct sampler sampler)
{
	sampler.part = (struct sampler_part){.world = 1, .unit = 1, .ranks = 1};
	return caller->try(caller->arg, &sampler);
}

static bool try_word(const struct caller *caller, const uint32_t *words, uint32_t root,
		     uint32_t word)
{
	return try_epoch(caller, (struct sampler){.rule = SAMPLER_WORDS,
						  .seed = words[word],
						  .root = root,
						  .word = word});
}

/* A seed is the second of two outputs, so never number 0. 3: after DataLoader's base_seed. 1: of a
 * sampler, or Accelerate, that draws when it is made. */
static bool try_words(const struct caller *caller, uint32_t root)
{
	uint32_t words[WORDS];
	struct mt19937 mt;

	mt19937_init(&mt, root);
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = mt19937_next(&mt);
	if (try_word(caller, words, root, 3) || try_word(caller, words, root, 1))
		return true;
	for (unsigned i = 5; i < WORDS; i += 2)
		if (try_word(caller, words, root, i))
			return true;
	for (unsigned i = 2; i < WORDS; i += 2)
		if (try_word(caller, words, root, i))
			return true;
	return false;
}

/* np.random.randint(2**31) of a seeded numpy, whose generator is the same: shared_random_seed() of
 * detectron2/utils/comm.py, sync_random_seed() of mmengine/dist/utils.py. */
static bool try_numpy(const struct caller *caller, uint32_t root)
{
	struct mt19937 mt;

	mt19937_init(&mt, root);
	for (unsigned i = 0; i < 8; i++)
		if (try_epoch(caller, (struct sampler){.seed = mt19937_next(&mt) & INT32_MAX}))
			return true;
	return false;
}

/* DataLoader(shuffle=True, generator=torch.Generator().manual_seed(root)), which gives its
 * base_seed too. */
static bool try_generator(const struct caller *caller, uint32_t root)
{
	return try_epoch(caller, (struct sampler){.rule = SAMPLER_STREAM, .seed = root, .skip = 2});
}

/* RandomSampler(generator=...), which gives nothing else. */
static bool try_seed(const struct caller *caller, uint32_t root)
{
	return try_epoch(caller, (struct sampler){.seed = root});
}

/* Likeliest first. `plain`: all seeds below it are tried too. */
static const struct {
	bool (*try)(const struct caller *caller, uint32_t root);
	const uint32_t *roots;
	unsigned count, plain;
} conventions[] = {
	{try_words, sampler_popular, COUNT(sampler_popular), 0},
	{try_generator, sampler_popular, COUNT(sampler_popular), 0},
	{try_generator, ultralytics, COUNT(ultralytics), 0},
	{try_generator, rare, COUNT(rare), PLAIN_ROOTS},
	{try_seed, rare, COUNT(rare), 0},
	{try_numpy, rare, COUNT(rare), PLAIN_ROOTS},
	{try_words, rare, COUNT(rare), PLAIN_ROOTS},
};

void sampler_each_convention(sampler_try_fn *try, void *arg)
{
	const struct caller caller = {.try = try, .arg = arg};

	for (unsigned at = 0; at < COUNT(conventions); at++) {
		for (uint32_t root = 0; root < conventions[at].plain; root++)
			if (conventions[at].try(&caller, root))
				return;
		for (unsigned i = 0; i < conventions[at].count; i++)
			if (conventions[at].try(&caller, conventions[at].roots[i]))
				return;
	}
}
