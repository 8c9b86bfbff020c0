/* std::shuffle as libstdc++ has it: cache/order/std_shuffle.h.
 *
 * The golden values come from a C++ program,
 *
 *	std::mt19937 g(seed); std::shuffle(v.begin(), v.end(), g);
 *
 * built with g++ 12.2, and for the form of GCC 10 with the same headers but for
 * uniform_int_distribution::operator(), of which only the branch with two divisions was left: it is
 * that of GCC 7 to 10 word for word. Those of std::mt19937_64 come from the same program with
 * that generator. */
#include "cache/order/std_shuffle.h"
#include "tests/unit/order_hash.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct golden {
	uint32_t seed;
	size_t n;
	uint32_t hash;
	uint32_t next; /* output of the generator: as many were taken as there */
};

static const struct golden multiply[] = {
	{524287, 1, 0x4b95f515, 1904680420u},	    {524287, 2, 0x3e801244, 683215632u},
	{524287, 3, 0xaf0870a6, 683215632u},	    {524287, 4, 0xb4dc2c15, 3574368776u},
	{524287, 9, 0x82203cfd, 3897182894u},	    {524287, 10, 0x0b535644, 1420355991u},
	{524287, 1000, 0xb74ef45d, 2632995579u},    {524287, 65534, 0x6c0caaac, 3918475195u},
	{524287, 65535, 0xe9ea5f63, 3118153083u},   {524287, 65536, 0x22ab9801, 1817394705u},
	{524287, 65537, 0xb7242050, 1087640474u},   {524287, 100000, 0x9f2a857d, 2037613057u},
	{524287, 1281167, 0xd5db09f1, 4066997645u}, {524288, 10, 0xe806e914, 1841441900u},
	{524288, 65535, 0xa41f1a37, 3846092621u},   {524288, 65536, 0x7af93995, 1263171551u},
	{524288, 1281167, 0xc9cbab19, 2020658714u}, {42, 10, 0x712678d4, 3348747335u},
	{42, 65535, 0x1aae4a3f, 3852062699u},	    {42, 65536, 0x623ef3ad, 660333310u},
	{42, 1281167, 0x6b005f89, 2947801293u},
};

static const struct golden divide[] = {
	{524287, 1, 0x4b95f515, 1904680420u},	    {524287, 2, 0x3e801244, 683215632u},
	{524287, 3, 0xaf0870a6, 683215632u},	    {524287, 4, 0xb4dc2c15, 3574368776u},
	{524287, 9, 0x82203cfd, 3897182894u},	    {524287, 10, 0x0b535644, 1420355991u},
	{524287, 1000, 0x9cdb2451, 2632995579u},    {524287, 65534, 0x8c945ebc, 3293810962u},
	{524287, 65535, 0xe7ed45f3, 2726608286u},   {524287, 65536, 0xf4b21475, 1817394705u},
	{524287, 65537, 0xdbc22e6c, 1087640474u},   {524287, 100000, 0x5404c8f1, 3224585110u},
	{524287, 1281167, 0xe3bf2b71, 900659868u},  {524288, 10, 0xe806e914, 1841441900u},
	{524288, 65535, 0xf80f3af7, 1423250610u},   {524288, 65536, 0x7b6dd71d, 1263171551u},
	{524288, 1281167, 0x5058c415, 1699919678u}, {42, 10, 0x712678d4, 3348747335u},
	{42, 65535, 0xba921a2f, 4283092031u},	    {42, 65536, 0x5b769975, 660333310u},
	{42, 1281167, 0xc2dfb299, 3116763205u},
};

struct golden_64 {
	uint64_t seed;
	size_t n;
	uint32_t hash;
};

static const struct golden_64 mt19937_64[] = {
	{4295491583u, 1, 0x4b95f515},
	{4295491583u, 2, 0x4bb53254},
	{4295491583u, 3, 0x4cd2e1e6},
	{4295491583u, 4, 0xd0f88d55},
	{4295491583u, 9, 0xe3b9371d},
	{4295491583u, 10, 0xfe2bacb4},
	{4295491583u, 1000, 0x7431c07d},
	{4295491583u, 65535, 0xd86d0ca7},
	{4295491583u, 65536, 0xb84b9951},
	{4295491583u, 100000, 0x039e9555},
	{4295491583u, 1281167, 0x1ad159b5},
	{12885426175u, 1, 0x4b95f515},
	{12885426175u, 2, 0x3e801244},
	{12885426175u, 3, 0xc972b0c6},
	{12885426175u, 4, 0xb4dc2c15},
	{12885426175u, 9, 0x8809fc1d},
	{12885426175u, 10, 0x166c06e4},
	{12885426175u, 1000, 0x4c08e539},
	{12885426175u, 65535, 0xb0b4ee37},
	{12885426175u, 65536, 0x4e8762e9},
	{12885426175u, 100000, 0x68022785},
	{12885426175u, 1281167, 0xe50c65e1},
	{42u, 1, 0x4b95f515},
	{42u, 2, 0x4bb53254},
	{42u, 3, 0x4cd2e1e6},
	{42u, 4, 0x62f45b35},
	{42u, 9, 0xd66032dd},
	{42u, 10, 0x948ad574},
	{42u, 1000, 0xf6b13cfd},
	{42u, 65535, 0xe36a39d7},
	{42u, 65536, 0x21c46865},
	{42u, 100000, 0xe20de5a1},
	{42u, 1281167, 0xaf472729},
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static uint32_t *ascending(size_t n)
{
	uint32_t *order = malloc(n * sizeof(*order));

	assert_non_null(order);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	return order;
}

static void check(const struct golden *golden, size_t count, enum std_uniform uniform)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t *order = ascending(golden[i].n);
		struct mt19937 mt;

		mt19937_init(&mt, golden[i].seed);
		std_shuffle(&mt, uniform, order, golden[i].n);
		assert_int_equal(order_hash(order, golden[i].n), golden[i].hash);
		assert_int_equal(mt19937_next(&mt), golden[i].next);
		free(order);
	}
}

static void it_shuffles_as_gcc_since_11_does(void **state)
{
	(void)state;
	check(multiply, COUNT(multiply), STD_MULTIPLY);
}

static void it_shuffles_as_gcc_before_11_does(void **state)
{
	(void)state;
	check(divide, COUNT(divide), STD_DIVIDE);
}

static void it_shuffles_with_the_generator_of_64_bits(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(mt19937_64); i++) {
		const struct golden_64 *golden = &mt19937_64[i];
		uint32_t *order = ascending(golden->n);

		std_shuffle_64(golden->seed, order, golden->n);
		assert_int_equal(order_hash(order, golden->n), golden->hash);
		free(order);
	}
	std_shuffle_64(42, NULL, 0);
}

static void nothing_to_shuffle_takes_no_output(void **state)
{
	uint32_t one = 7;
	struct mt19937 mt, untouched;

	(void)state;
	mt19937_init(&mt, 1);
	mt19937_init(&untouched, 1);
	std_shuffle(&mt, STD_MULTIPLY, &one, 0);
	std_shuffle(&mt, STD_MULTIPLY, &one, 1);
	assert_int_equal(one, 7);
	assert_int_equal(mt19937_next(&mt), mt19937_next(&untouched));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_shuffles_as_gcc_since_11_does),
		cmocka_unit_test(it_shuffles_as_gcc_before_11_does),
		cmocka_unit_test(it_shuffles_with_the_generator_of_64_bits),
		cmocka_unit_test(nothing_to_shuffle_takes_no_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
