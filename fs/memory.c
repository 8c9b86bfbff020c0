#include "fs/memory.h"
#include "base/scope.h"
#include "base/size.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FALLBACK (1 * GIB) /* without /proc */

static uint64_t machine_available(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	if (!file)
		return FALLBACK;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			break;
	fclose(file);
	return kib ? kib * KIB : FALLBACK;
}

/* The number in a control file; UINT64_MAX for "max" and for a file that is not there. */
static uint64_t read_limit(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long limit;
	uint64_t result = UINT64_MAX;

	if (!file)
		return result;
	if (fscanf(file, "%llu", &limit) == 1)
		result = limit;
	fclose(file);
	return result;
}

/* The least limit of a group and of all those above it. Inside a container the path may not
 * exist; the climb then still ends at the container's own root. */
static uint64_t least_limit(const char *root, const char *group, const char *file)
{
	uint64_t least = UINT64_MAX;
	char path[PATH_MAX], *slash;

	if (snprintf(path, sizeof(path), "%s%s", root, group) >= (int)sizeof(path))
		return least;
	for (;;) {
		char control[PATH_MAX + 64];
		uint64_t limit;

		snprintf(control, sizeof(control), "%s/%s", path, file);
		limit = read_limit(control);
		if (limit < least)
			least = limit;
		slash = strrchr(path, '/');
		if (strlen(path) <= strlen(root) || !slash)
			return least;
		*slash = '\0';
	}
}

static uint64_t line_limit(char *line)
{
	char *controllers = strchr(line, ':'), *group;

	line[strcspn(line, "\n")] = '\0';
	if (!controllers || !(group = strchr(controllers + 1, ':')))
		return UINT64_MAX;
	*group++ = '\0';
	controllers++;
	if (*controllers == '\0')
		return least_limit("/sys/fs/cgroup", group, "memory.max");
	if (strcmp(controllers, "memory") == 0)
		return least_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
	return UINT64_MAX;
}

static uint64_t group_limit(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	uint64_t least = UINT64_MAX;
	char line[PATH_MAX + 64];

	if (!file)
		return least;
	while (fgets(line, sizeof(line), file)) {
		uint64_t limit = line_limit(line);

		if (limit < least)
			least = limit;
	}
	fclose(file);
	return least;
}

uint64_t memory_available(void)
{
	uint64_t machine = machine_available(), group = group_limit();

	return machine < group ? machine : group;
}
