/* A home directory of a test's own, with .aws in it, and an environment without any AWS_*. The
 * working directory is there. */
#pragma once

#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char aws_home[] = "/tmp/aws_home.XXXXXX";

static void aws_clear_environment(void)
{
	for (char **entry = environ; *entry;) {
		char name[256];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
		if (strncmp(name, "AWS_", 4) == 0)
			unsetenv(name);
		else
			entry++;
	}
}

static int aws_home_enter(void **state)
{
	(void)state;
	aws_clear_environment();
	return mkdtemp(aws_home) && chdir(aws_home) == 0 && mkdir(".aws", 0700) == 0
		       ? setenv("HOME", aws_home, 1)
		       : -1;
}

static int aws_home_leave(void **state)
{
	(void)state;
	return chdir("/") < 0 ? -1 : scratch_remove(aws_home);
}

static inline void write_text(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Variables, each as "NAME=value"; one that is empty is as if it were not set. */
#define aws_set(...) aws_set_all((const char *const[]){__VA_ARGS__, NULL})
static inline void aws_set_all(const char *const *all)
{
	for (; *all; all++) {
		char name[64];
		size_t len = strcspn(*all, "=");

		snprintf(name, sizeof(name), "%.*s", (int)len, *all);
		assert_int_equal(setenv(name, *all + len + 1, 1), 0);
	}
}
