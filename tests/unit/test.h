/* What a unit test program is made of. Each includes this once, defines its tests, and needs no
 * main(): they run in the order of the file.
 *
 *	TEST(a_new_list_is_empty)
 *	{
 *		assert_int_equal(list_count(&(struct list){0}), 0);
 *	}
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct test_fixture {
	CMFixtureFunction setup, teardown;
};

static struct CMUnitTest test_all[256];
static size_t test_count;

static inline void test_add(const char *name, CMUnitTestFunction function,
			    const struct test_fixture *fixture)
{
	if (test_count == sizeof(test_all) / sizeof(*test_all))
		abort();
	test_all[test_count++] = (struct CMUnitTest){
		.name = name,
		.test_func = function,
		.setup_func = fixture->setup,
		.teardown_func = fixture->teardown,
	};
}

/* What comes before and after each test OF it: functions of cmocka, or NULL. What the first leaves
 * in state, a `type`, is what the tests get by the name of the fixture. */
#define FIXTURE_BY(fixture, type, setup, teardown)                                          \
	typedef type test_type_##fixture;                                                   \
	__attribute__((unused)) static const struct test_fixture test_fixture_##fixture = { \
		setup, teardown}

/* As above, with a `type` of zeros: setup(type *) and teardown(type *) begin and end it. */
#define FIXTURE(fixture, type, setup, teardown)                 \
	static inline int test_setup_##fixture(void **state)    \
	{                                                       \
		*state = calloc(1, sizeof(type));               \
		assert_non_null(*state);                        \
		setup(*state);                                  \
		return 0;                                       \
	}                                                       \
	static inline int test_teardown_##fixture(void **state) \
	{                                                       \
		teardown(*state);                               \
		free(*state);                                   \
		return 0;                                       \
	}                                                       \
	FIXTURE_BY(fixture, type, test_setup_##fixture, test_teardown_##fixture)

/* A test of a fixture, which it has as `given`. */
#define TEST_WITH(fixture, given, name)                                    \
	static void name(test_type_##fixture *given);                      \
	static void test_run_##name(void **state)                          \
	{                                                                  \
		name(*state);                                              \
	}                                                                  \
	__attribute__((constructor)) static void test_add_##name(void)     \
	{                                                                  \
		test_add(#name, test_run_##name, &test_fixture_##fixture); \
	}                                                                  \
	static void name(__attribute__((unused)) test_type_##fixture *given)

/* Once more, with another fixture. */
#define TEST_AGAIN(fixture, name)                                                            \
	__attribute__((constructor)) static void test_add_##name##_with_##fixture(void)      \
	{                                                                                    \
		test_add(#name " (" #fixture ")", test_run_##name, &test_fixture_##fixture); \
	}                                                                                    \
	_Static_assert(1, "")

#define TEST_OF(fixture, name) TEST_WITH(fixture, fixture, name)
#define TEST(name)	       TEST_OF(no_fixture, name)
FIXTURE_BY(no_fixture, void, NULL, NULL);

/* What main() of a program is that defines TEST_MAIN, to begin or end with something of its own.
 * The fixture of all its tests may be NULL. */
static inline int test_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	return _cmocka_run_group_tests("tests", test_all, test_count, setup, teardown);
}

#ifndef TEST_MAIN
int main(void)
{
	return test_run(NULL, NULL);
}
#endif
