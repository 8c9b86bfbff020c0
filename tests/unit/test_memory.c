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
#define NO_LIMIT_1 "9223372036854771712\n"

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

static void put_in(const struct tree *tree, const char *group, const char *name, uint64_t number)
{
	char path[512], text[32];

	snprintf(path, sizeof(path), GROUPS "%s/%s", group, name);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);
	put(tree, path, text);
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

static void put_group_1(const struct tree *tree, const char *group, uint64_t limit, uint64_t usage,
			uint64_t cache)
{
	char text[512], path[512];

	put_in(tree, group, "memory.limit_in_bytes", limit);
	put_in(tree, group, "memory.usage_in_bytes", usage);
	snprintf(text, sizeof(text),
		 "cache 1\ninactive_file 2\nactive_file 3\nhierarchical_memory_limit 4\n"
		 "total_cache 5\ntotal_inactive_file %llu\ntotal_active_file %llu\n"
		 "total_unevictable 6\n",
		 (unsigned long long)(cache / 4), (unsigned long long)(cache - cache / 4));
	snprintf(path, sizeof(path), GROUPS "%s/memory.stat", group);
	put(tree, path, text);
}

static void put_group_2(const struct tree *tree, const char *group, uint64_t limit, uint64_t usage,
			uint64_t cache)
{
	char text[512], path[512];

	put_in(tree, group, "memory.max", limit);
	put_in(tree, group, "memory.current", usage);
	snprintf(text, sizeof(text),
		 "anon 1\nfile 2\nshmem 3\ninactive_anon 4\ninactive_file %llu\nactive_file %llu\n"
		 "workingset_refault_file 5\n",
		 (unsigned long long)(cache / 4), (unsigned long long)(cache - cache / 4));
	snprintf(path, sizeof(path), GROUPS "%s/memory.stat", group);
	put(tree, path, text);
}

static void assert_memory(const struct tree *tree, uint64_t limit, uint64_t available)
{
	struct memory memory;

	memory_read(tree->root, &memory);
	assert_int_equal(memory.total, 64 * GIB);
	assert_int_equal(memory.limit, limit);
	assert_int_equal(memory.available, available);
}

TEST(without_groups_it_is_what_the_machine_has)
{
	struct tree tree = make_machine("");

	assert_memory(&tree, UINT64_MAX, 40 * GIB);
}

TEST(without_proc_a_gibibyte_is_assumed)
{
	struct memory memory;

	memory_read("nowhere", &memory);
	assert_int_equal(memory.total, GIB);
	assert_int_equal(memory.available, GIB);
	assert_int_equal(memory.limit, UINT64_MAX);
}

TEST(a_limit_of_version_1_counts_what_is_used)
{
	struct tree tree = make_machine("5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n");

	put_group_1(&tree, "/memory/job", 8 * GIB, 5 * GIB, 0);
	assert_memory(&tree, 8 * GIB, 3 * GIB);
}

TEST(a_limit_of_version_2_counts_what_is_used)
{
	struct tree tree = make_machine("0::/job\n");

	put_group_2(&tree, "/job", 8 * GIB, 5 * GIB, 0);
	assert_memory(&tree, 8 * GIB, 3 * GIB);
}

TEST(page_cache_of_the_group_can_be_had_back)
{
	struct tree tree1 = make_machine("4:memory:/job\n");
	struct tree tree2 = make_machine("0::/job\n");

	put_group_1(&tree1, "/memory/job", 8 * GIB, 8 * GIB, 6 * GIB);
	put_group_2(&tree2, "/job", 8 * GIB, 8 * GIB, 6 * GIB);
	assert_memory(&tree1, 8 * GIB, 6 * GIB);
	assert_memory(&tree2, 8 * GIB, 6 * GIB);
}

TEST(never_more_is_left_than_the_limit_nor_less_than_nothing)
{
	struct tree cached = make_machine("0::/job\n"), over = make_machine("0::/job\n");

	put_group_2(&cached, "/job", 8 * GIB, 1 * GIB, 2 * GIB);
	put_group_2(&over, "/job", 8 * GIB, 9 * GIB, 0);
	assert_memory(&cached, 8 * GIB, 8 * GIB);
	assert_memory(&over, 8 * GIB, 0);
}

TEST(the_machine_can_be_shorter_than_the_group)
{
	struct tree tree = make_machine("0::/job\n");

	put_group_2(&tree, "/job", 60 * GIB, 1 * GIB, 0);
	assert_memory(&tree, 60 * GIB, 40 * GIB);
}

TEST(no_limit_is_said_in_two_ways)
{
	struct tree tree1 = make_machine("4:memory:/job\n");
	struct tree tree2 = make_machine("0::/job\n");

	put_group_1(&tree1, "/memory/job", 0, 50 * GIB, 0);
	put(&tree1, GROUPS "/memory/job/memory.limit_in_bytes", NO_LIMIT_1);
	put_group_2(&tree2, "/job", 0, 50 * GIB, 0);
	put(&tree2, GROUPS "/job/memory.max", "max\n");
	assert_memory(&tree1, UINT64_MAX, 40 * GIB);
	assert_memory(&tree2, UINT64_MAX, 40 * GIB);
}

TEST(a_limit_above_the_machine_is_none)
{
	struct tree tree = make_machine("0::/job\n");

	put_group_2(&tree, "/job", 65 * GIB, 64 * GIB, 0);
	assert_memory(&tree, UINT64_MAX, 40 * GIB);
}

/* The least limit and the least that is left can be those of different groups. */
TEST(every_group_above_counts)
{
	struct tree tree = make_machine("0::/slurm/job_7/step_0\n");

	put(&tree, GROUPS "/slurm/job_7/step_0/memory.max", "max\n");
	put_group_2(&tree, "/slurm/job_7", 16 * GIB, 4 * GIB, 0);
	put_group_2(&tree, "/slurm", 32 * GIB, 30 * GIB, 1 * GIB);
	assert_memory(&tree, 16 * GIB, 3 * GIB);
}

TEST(every_group_above_counts_in_version_1)
{
	struct tree tree = make_machine("4:memory:/slurm/job_7/step_0\n");

	put_group_1(&tree, "/memory/slurm/job_7/step_0", 20 * GIB, 1 * GIB, 0);
	put_group_1(&tree, "/memory/slurm/job_7", 16 * GIB, 4 * GIB, 0);
	put_group_1(&tree, "/memory/slurm", 32 * GIB, 30 * GIB, 1 * GIB);
	put_group_1(&tree, "/memory", 63 * GIB, 62 * GIB, 0);
	assert_memory(&tree, 16 * GIB, 1 * GIB);
}

TEST(the_soft_limit_of_version_2_is_a_limit)
{
	struct tree tree = make_machine("0::/job\n");

	put_group_2(&tree, "/job", 8 * GIB, 5 * GIB, 0);
	put_in(&tree, "/job", "memory.high", 6 * GIB);
	assert_memory(&tree, 6 * GIB, 1 * GIB);
	put(&tree, GROUPS "/job/memory.high", "max\n");
	assert_memory(&tree, 8 * GIB, 3 * GIB);
}

/* systemd's hybrid layout: the memory controller belongs to one of the two. */
TEST(a_hybrid_layout_has_version_2_in_a_folder_of_its_own)
{
	struct tree tree1 = make_machine("4:memory:/job\n0::/job\n");
	struct tree tree2 = make_machine("5:cpu:/\n0::/job\n");

	put_group_1(&tree1, "/memory/job", 8 * GIB, 5 * GIB, 0);
	put(&tree1, GROUPS "/unified/job/cgroup.procs", "");
	put_group_2(&tree2, "/unified/job", 4 * GIB, 1 * GIB, 0);
	assert_memory(&tree1, 8 * GIB, 3 * GIB);
	assert_memory(&tree2, 4 * GIB, 3 * GIB);
}

TEST(the_memory_controller_can_share_its_line)
{
	struct tree tree = make_machine("4:hugetlb,memory:/job\n3:memorys:/no\n");

	put_group_1(&tree, "/memory/job", 8 * GIB, 5 * GIB, 0);
	put_group_1(&tree, "/memory/no", 1 * GIB, 1 * GIB, 0);
	assert_memory(&tree, 8 * GIB, 3 * GIB);
}

TEST(a_namespace_begins_at_the_containers_own_group)
{
	struct tree tree = make_machine("0::/\n");

	put_group_2(&tree, "", 8 * GIB, 5 * GIB, 0);
	assert_memory(&tree, 8 * GIB, 3 * GIB);
}

/* Without a namespace, /proc names the group as the host does. */
TEST(a_container_without_a_namespace_has_its_group_at_the_root)
{
	struct tree tree = make_machine("4:memory:/docker/0123abcd\n");

	put_group_1(&tree, "/memory", 8 * GIB, 5 * GIB, 0);
	assert_memory(&tree, 8 * GIB, 3 * GIB);
}

TEST(a_group_within_such_a_container_is_found_by_the_end_of_its_path)
{
	struct tree tree = make_machine("4:memory:/docker/0123abcd/worker\n");

	put_group_1(&tree, "/memory", 8 * GIB, 5 * GIB, 0);
	put_group_1(&tree, "/memory/worker", 4 * GIB, 3 * GIB, 0);
	assert_memory(&tree, 4 * GIB, 1 * GIB);
}

TEST(a_path_out_of_the_namespace_is_not_followed)
{
	struct tree tree = make_machine("0::/../other\n");

	put_group_2(&tree, "", 8 * GIB, 5 * GIB, 0);
	put_group_2(&tree, "/../other", 1 * GIB, 1 * GIB, 0);
	assert_memory(&tree, 8 * GIB, 3 * GIB);
}

TEST(a_limit_without_its_other_files_is_still_a_limit)
{
	struct tree tree = make_machine("0::/job\n");

	put_in(&tree, "/job", "memory.max", 8 * GIB);
	assert_memory(&tree, 8 * GIB, 8 * GIB);
}

TEST(nonsense_sets_no_limit)
{
	struct tree tree = make_machine("\nnonsense\n4:memory\n::\n:::\n0::/job");

	put(&tree, GROUPS "/job/memory.max", "a lot\n");
	put(&tree, GROUPS "/job/memory.high", "");
	assert_memory(&tree, UINT64_MAX, 40 * GIB);
}

TEST(this_machine_has_memory)
{
	struct memory memory;

	memory_read("", &memory);
	assert_true(memory_available() > 0);
	assert_true(memory_available() < (uint64_t)1 << 50);
	assert_true(memory.limit > 0);
}
