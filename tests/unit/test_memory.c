/* What this job may use: fs/memory.h, on trees made up of /proc and /sys. */
#include "base/size.h"
#include "fs/memory.h"
#include "tests/unit/test.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GROUPS "/sys/fs/cgroup"
/* What version 1 of cgroups says where there is no limit, with pages of 4 KiB. */
#define NO_LIMIT_1 "9223372036854771712"

struct tree {
	char root[64];
};

/* A file below the root, with the folders on the way. */
static void put(const struct tree *tree, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", tree->root, name);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* A machine of 64 GiB, 40 of which are available, with this /proc/self/cgroup. */
static struct tree make_machine(const char *groups)
{
	struct tree tree = {"memory-XXXXXX"};

	assert_non_null(mkdtemp(tree.root));
	put(&tree, "/proc/meminfo",
	    "MemTotal:       67108864 kB\n"
	    "MemFree:         1048576 kB\n"
	    "MemAvailable:   41943040 kB\n"
	    "Buffers:           12345 kB\n");
	put(&tree, "/proc/self/cgroup", groups);
	return tree;
}

/* A group of a version of cgroups; in GiB. */
static void put_group(const struct tree *tree, int version, const char *group, unsigned limit,
		      unsigned usage, unsigned cache)
{
	static const char *const stat[] = {
		"cache 1\ninactive_file 2\nactive_file 3\nhierarchical_memory_limit 4\n"
		"total_cache 5\ntotal_inactive_file %llu\ntotal_active_file %llu\n"
		"total_unevictable 6\n",
		"anon 1\nfile 2\nshmem 3\ninactive_anon 4\ninactive_file %llu\nactive_file %llu\n"
		"workingset_refault_file 5\n"};
	const char *const names[][2] = {{"memory.limit_in_bytes", "memory.usage_in_bytes"},
					{"memory.max", "memory.current"}};
	const unsigned numbers[] = {limit, usage};
	char text[512], path[512];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), GROUPS "%s/%s", group, names[version - 1][i]);
		snprintf(text, sizeof(text), "%llu\n", numbers[i] * (unsigned long long)GIB);
		put(tree, path, text);
	}
	snprintf(path, sizeof(path), GROUPS "%s/memory.stat", group);
	snprintf(text, sizeof(text), stat[version - 1], cache * (unsigned long long)GIB / 4,
		 cache * (unsigned long long)GIB / 4 * 3);
	put(tree, path, text);
}

TEST(without_proc_a_gibibyte_is_assumed)
{
	struct memory memory;

	memory_read("nowhere", &memory);
	assert_int_equal(memory.total, GIB);
	assert_int_equal(memory.available, GIB);
	assert_int_equal(memory.limit, UINT64_MAX);
}

/* A machine with groups, a line each: "1 FOLDER LIMIT USAGE CACHE" in GiB of version 1 or 2, or
 * "= FOLDER/FILE WORD"; and what is found, in GiB. */
struct story {
	const char *name, *cgroup, *groups;
	unsigned limit, available; /* limit 0: none */
};

static const struct story stories[] = {
	{"without groups it is what the machine has", "", "= /cgroup.procs -", 0, 40},
	{"version 1 counts what is used", "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n",
	 "1 /memory/job 8 5 0", 8, 3},
	{"so does version 2", "0::/job\n", "2 /job 8 5 0", 8, 3},
	{"page cache can be had back", "4:memory:/job\n", "1 /memory/job 8 8 6", 8, 6},
	{"of version 2, too", "0::/job\n", "2 /job 8 8 6", 8, 6},
	{"no more is left than the limit", "0::/job\n", "2 /job 8 1 2", 8, 8},
	{"nor less than nothing", "0::/job\n", "2 /job 8 9 0", 8, 0},
	{"the machine can be shorter than the group", "0::/job\n", "2 /job 60 1 0", 60, 40},
	{"no limit, in version 1", "4:memory:/job\n",
	 "1 /memory/job 0 50 0\n= /memory/job/memory.limit_in_bytes " NO_LIMIT_1, 0, 40},
	{"no limit, in version 2", "0::/job\n", "2 /job 0 50 0\n= /job/memory.max max", 0, 40},
	{"a limit above the machine is none", "0::/job\n", "2 /job 65 64 0", 0, 40},
	/* The least limit and the least that is left can be those of different groups. */
	{"every group above counts", "0::/slurm/job_7/step_0\n",
	 "= /slurm/job_7/step_0/memory.max max\n2 /slurm/job_7 16 4 0\n2 /slurm 32 30 1", 16, 3},
	{"in version 1, too", "4:memory:/slurm/job_7/step_0\n",
	 "1 /memory/slurm/job_7/step_0 20 1 0\n1 /memory/slurm/job_7 16 4 0\n"
	 "1 /memory/slurm 32 30 1\n1 /memory 63 62 0",
	 16, 1},
	{"the soft limit of version 2 is a limit", "0::/job\n",
	 "2 /job 8 5 0\n= /job/memory.high 6442450944", 6, 1},
	{"unless there is none", "0::/job\n", "2 /job 8 5 0\n= /job/memory.high max", 8, 3},
	/* systemd's hybrid layout: the memory controller belongs to one of the two. */
	{"a hybrid layout with version 1", "4:memory:/job\n0::/job\n",
	 "1 /memory/job 8 5 0\n= /unified/job/cgroup.procs -", 8, 3},
	{"a hybrid layout with version 2", "5:cpu:/\n0::/job\n", "2 /unified/job 4 1 0", 4, 3},
	{"the memory controller can share its line", "4:hugetlb,memory:/job\n3:memorys:/no\n",
	 "1 /memory/job 8 5 0\n1 /memory/no 1 1 0", 8, 3},
	{"a namespace begins at the container's own group", "0::/\n", "2 / 8 5 0", 8, 3},
	/* Without a namespace, /proc names the group as the host does. */
	{"a container without one has its group at the root", "4:memory:/docker/0123abcd\n",
	 "1 /memory 8 5 0", 8, 3},
	{"a group in such a container is found by the end of its path",
	 "4:memory:/docker/0123abcd/worker\n", "1 /memory 8 5 0\n1 /memory/worker 4 3 0", 4, 1},
	{"a path out of the namespace is not followed", "0::/../other\n",
	 "2 / 8 5 0\n2 /../other 1 1 0", 8, 3},
	{"a limit without its other files is still one", "0::/job\n",
	 "= /job/memory.max 8589934592", 8, 8},
	{"nonsense sets no limit", "\nnonsense\n4:memory\n::\n:::\n0::/job",
	 "= /job/memory.max a\n= /job/memory.high -", 0, 40},
};

TEST(every_story_of_groups_ends_as_it_should)
{
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		const struct story *story = &stories[i];
		struct tree tree = make_machine(story->cgroup);
		char lines[256], *rest = strcpy(lines, story->groups), *line;
		struct memory memory;

		while ((line = strsep(&rest, "\n"))) {
			char path[128] = GROUPS, word[32];
			char *folder = path + strlen(GROUPS);
			unsigned limit, usage, cache;
			int version;

			if (sscanf(line, "= %99s %31s", folder, word) == 2)
				put(&tree, path, word);
			else if (sscanf(line, "%d %99s %u %u %u", &version, folder, &limit, &usage,
					&cache) == 5)
				put_group(&tree, version, folder, limit, usage, cache);
			else
				fail_msg("%s: '%s'", story->name, line);
		}
		memory_read(tree.root, &memory);
		if (memory.total != 64 * GIB || memory.available != story->available * GIB ||
		    memory.limit != (story->limit ? story->limit * GIB : UINT64_MAX))
			fail_msg("%s: limit %lu, available %lu", story->name, memory.limit,
				 memory.available);
	}
}

TEST(this_machine_has_memory)
{
	struct memory memory;

	memory_read("", &memory);
	assert_true(memory_available() > 0);
	assert_true(memory_available() < (uint64_t)1 << 50);
	assert_true(memory.limit > 0);
}
