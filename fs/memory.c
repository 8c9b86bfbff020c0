#include "fs/memory.h"
#include "base/scope.h"
#include "base/size.h"
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FALLBACK    (1 * GIB)	    /* without /proc */
#define CONTROL_MAX (PATH_MAX + 64) /* the path of a group's control file */

/* The control files of one version of cgroups. */
struct version {
	const char *limit, *soft_limit; /* soft: above it the group is slowed down until it obeys */
	const char *usage;
	const char *file_pages[2]; /* in memory.stat: page cache, of the groups below as well */
};

static const struct version version_1 = {
	.limit = "memory.limit_in_bytes",
	.usage = "memory.usage_in_bytes",
	.file_pages = {"total_inactive_file", "total_active_file"},
};

static const struct version version_2 = {
	.limit = "memory.max",
	.soft_limit = "memory.high",
	.usage = "memory.current",
	.file_pages = {"inactive_file", "active_file"},
};

/* Two numbers of a file of lines "name number"; those that are not there stay as they are. */
static void read_fields(const char *path, const char *const names[2], uint64_t values[2])
{
	SCOPE_FILE FILE *file = fopen(path, "re");
	unsigned long long value;
	char line[256], name[64];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %llu", name, &value) != 2)
			continue;
		for (int i = 0; i < 2; i++)
			if (strcmp(name, names[i]) == 0)
				values[i] = value;
	}
}

static void read_machine(const char *root, struct memory *memory)
{
	const char *const names[2] = {"MemTotal:", "MemAvailable:"};
	uint64_t kib[2] = {FALLBACK / KIB, FALLBACK / KIB};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	read_fields(path, names, kib);
	memory->total = kib[0] * KIB;
	memory->available = kib[1] * KIB;
}

/* The number in a control file; `otherwise` for "max" and for a file that is not there. */
static uint64_t read_number(const char *group, const char *name, uint64_t otherwise)
{
	SCOPE_FILE FILE *file = NULL;
	char path[CONTROL_MAX];
	unsigned long long number;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	file = fopen(path, "re");
	return file && fscanf(file, "%llu", &number) == 1 ? number : otherwise;
}

/* What is left of a limit: the kernel takes back page cache before it kills. */
static uint64_t left_of(const char *group, const struct version *version, uint64_t limit)
{
	uint64_t usage = read_number(group, version->usage, 0), pages[2] = {0};
	char path[CONTROL_MAX];

	snprintf(path, sizeof(path), "%s/memory.stat", group);
	read_fields(path, version->file_pages, pages);
	pages[0] += pages[1];
	usage = usage > pages[0] ? usage - pages[0] : 0;
	return limit > usage ? limit - usage : 0;
}

/* Version 1 writes "no limit" as a number larger than any machine. */
static void read_group(const char *group, const struct version *version, struct memory *memory)
{
	uint64_t limit = read_number(group, version->limit, UINT64_MAX), left;

	if (version->soft_limit) {
		uint64_t soft = read_number(group, version->soft_limit, UINT64_MAX);

		if (soft < limit)
			limit = soft;
	}
	if (limit >= memory->total)
		return;
	if (limit < memory->limit)
		memory->limit = limit;
	left = left_of(group, version, limit);
	if (left < memory->available)
		memory->available = left;
}

/* The group's folder. In a container, /proc may give the path as the host sees it, while the tree
 * that is mounted begins at the container's own group: then only the end of the path exists, or
 * none of it. A path with ".." leads out of the namespace. */
static bool find_group(const char *base, const char *group, char path[PATH_MAX])
{
	if (strcmp(group, "/") == 0 || strstr(group, "/.."))
		group = "";
	for (; group; group = *group ? strchr(group + 1, '/') : NULL) {
		if (snprintf(path, PATH_MAX, "%s%s", base, group) >= PATH_MAX)
			continue;
		if (access(path, F_OK) == 0)
			return true;
	}
	return snprintf(path, PATH_MAX, "%s", base) < PATH_MAX;
}

/* A group is bound by all those above it. */
static void read_groups(const char *base, const char *group, const struct version *version,
			struct memory *memory)
{
	char path[PATH_MAX], *slash;

	if (!find_group(base, group, path))
		return;
	for (;;) {
		read_group(path, version, memory);
		slash = strrchr(path, '/');
		if (!slash || slash < path + strlen(base))
			return;
		*slash = '\0';
	}
}

static bool has_memory(char *controllers)
{
	char *rest = controllers, *name;

	while ((name = strsep(&rest, ",")))
		if (strcmp(name, "memory") == 0)
			return true;
	return false;
}

/* A line of /proc/self/cgroup: "4:memory:/group" in version 1, "0::/group" in version 2, whose
 * tree is mounted in a folder of its own beside those of version 1. */
static void read_line(const char *root, char *line, struct memory *memory)
{
	char *controllers = strchr(line, ':'), *group;
	char base[PATH_MAX];

	line[strcspn(line, "\n")] = '\0';
	if (!controllers || !(group = strchr(controllers + 1, ':')))
		return;
	*group++ = '\0';
	controllers++;
	if (*controllers == '\0') {
		snprintf(base, sizeof(base), "%s/sys/fs/cgroup", root);
		read_groups(base, group, &version_2, memory);
		snprintf(base, sizeof(base), "%s/sys/fs/cgroup/unified", root);
		read_groups(base, group, &version_2, memory);
	} else if (has_memory(controllers)) {
		snprintf(base, sizeof(base), "%s/sys/fs/cgroup/memory", root);
		read_groups(base, group, &version_1, memory);
	}
}

void memory_read(const char *root, struct memory *ret)
{
	SCOPE_FILE FILE *file = NULL;
	char path[PATH_MAX], line[PATH_MAX + 64];

	read_machine(root, ret);
	ret->limit = UINT64_MAX;
	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		read_line(root, line, ret);
}

uint64_t memory_available(void)
{
	struct memory memory;

	memory_read("", &memory);
	return memory.available;
}
