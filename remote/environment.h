/* Variables of the environment. An empty one counts as not set. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>

/* NULL: not set, or empty. */
static inline const char *environment_get(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static inline bool environment_is_true(const char *name)
{
	const char *value = environment_get(name);

	return value && strcasecmp(value, "true") == 0;
}
