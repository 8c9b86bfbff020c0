#include "fs/memory.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FALLBACK (1 * GIB) /* without /proc */

/* The control files of one version of cgroups. */
struct version {
	const char *limit, *soft_limit; /* soft: above it the group is slowed down */
	const char *usage;
	const char *file_pages[2]; /* in memory.stat: page cache, including that of groups below */
};

static const struct version version_1 = {
	.limit = "memory.limit_in_bytes",
	.soft_limit = "memory.limit_in_bytes",
	.usage = "memory.usage_in_bytes",
	.file_pages = {"total_inactive_file", "total_active_file"},
};

static const struct version version_2 = {
	.limit = "memory.max",
	.soft_limit = "memory.high",
	.usage = "memory.current",
	.file_pages = {"inactive_file", "active_file"},
};

/* Reads a number from a file: from its line "name number", or its first word if name is NULL.
 * Returns `otherwise` for "max", and if there is no number. */
static uint64_t read_number(const char *folder, const char *file, const char *name,
			    uint64_t otherwise)
{
	SCOPE_FILE FILE *stream = NULL;
	char path[PATH_MAX + 64], line[256], word[64];
	unsigned long long number;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	stream = fopen(path, "re");
	while (stream && fgets(line, sizeof(line), stream))
		if (name ? sscanf(line, "%63s %llu", word, &number) == 2 && strcmp(word, name) == 0
			 : sscanf(line, "%llu", &number) == 1)
			return number;
	return otherwise;
}

/* Finds the group's folder. In a container, /proc may give the path as the host sees it, while the
 * mounted tree begins at the container's own group: then only the end of the path exists, or
 * nothing of it. A path with ".." leads out of the namespace. */
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

/* Reads a group and all groups above it, whose limits apply too. */
static void read_groups(const char *root, const char *tree, const char *group,
			const struct version *version, struct memory *memory)
{
	char base[PATH_MAX], path[PATH_MAX], *slash;

	snprintf(base, sizeof(base), "%s/sys/fs/cgroup%s", root, tree);
	if (!find_group(base, group, path))
		return;
	for (;;) {
		/* In version 1, "no limit" is a number larger than any machine. */
		uint64_t limit = min(read_number(path, version->limit, NULL, UINT64_MAX),
				     read_number(path, version->soft_limit, NULL, UINT64_MAX));

		if (limit < memory->total) {
			/* Page cache does not count as used: the kernel drops it first. */
			uint64_t usage = read_number(path, version->usage, NULL, 0);
			uint64_t pages = 0;

			for (int i = 0; i < 2; i++)
				pages +=
					read_number(path, "memory.stat", version->file_pages[i], 0);
			memory->limit = min(memory->limit, limit);
			memory->available =
				min(memory->available, sub_sat(limit, sub_sat(usage, pages)));
		}
		slash = strrchr(path, '/');
		if (!slash || slash < path + strlen(base))
			return;
		*slash = '\0';
	}
}

/* Reads a line of /proc/self/cgroup: "4:memory:/group" in version 1, "0::/group" in version 2.
 * Beside version 1, the tree of version 2 is mounted in a folder of its own. */
static void read_line(const char *root, char *line, struct memory *memory)
{
	char *controllers = strchr(line, ':'), *group, *name;

	line[strcspn(line, "\n")] = '\0';
	if (!controllers || !(group = strchr(controllers + 1, ':')))
		return;
	*group++ = '\0';
	controllers++;
	if (*controllers == '\0') {
		read_groups(root, "", group, &version_2, memory);
		read_groups(root, "/unified", group, &version_2, memory);
	}
	while ((name = strsep(&controllers, ",")))
		if (strcmp(name, "memory") == 0)
			read_groups(root, "/memory", group, &version_1, memory);
}

void memory_read(const char *root, struct memory *ret)
{
	SCOPE_FILE FILE *file = NULL;
	char path[PATH_MAX], line[PATH_MAX + 64];

	ret->total = read_number(root, "proc/meminfo", "MemTotal:", FALLBACK / KIB) * KIB;
	ret->available = read_number(root, "proc/meminfo", "MemAvailable:", FALLBACK / KIB) * KIB;
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
