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

/* What comes before and after each test OF it: each NULL, or a function that gets state and returns
 * 0, or else the test fails. */
#define FIXTURE(fixture, setup, teardown) \
	__attribute__((unused)) static const struct test_fixture fixture = {setup, teardown}

/* A test, whose body has `void **state`, as the setup of its fixture left it. */
#define TEST_OF(fixture, name)                                         \
	static void name(void **state);                                \
	__attribute__((constructor)) static void test_add_##name(void) \
	{                                                              \
		test_add(#name, name, &(fixture));                     \
	}                                                              \
	static void name(__attribute__((unused)) void **state)

/* Once more, with another fixture. */
#define TEST_AGAIN(fixture, name)                                                       \
	__attribute__((constructor)) static void test_add_##name##_with_##fixture(void) \
	{                                                                               \
		test_add(#name " (" #fixture ")", name, &(fixture));                    \
	}                                                                               \
	_Static_assert(1, "")

#define TEST(name) TEST_OF(test_alone, name)
FIXTURE(test_alone, NULL, NULL);

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
