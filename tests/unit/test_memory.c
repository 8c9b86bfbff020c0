/* What this job may use: fs/memory.h, on trees made up of /proc and /sys. A machine has 64 GiB, 40
 * of which are available; what else it has is a trace, in GiB:
 *
 *	v1 GROUP LIMIT USED CACHE	a control group of version 1, or 2, and how much of what it
 *	v2 GROUP LIMIT USED CACHE	uses is page cache
 *	high GROUP N, max GROUP N	of version 2, alone
 *	text FILE WORD			a file of a group, with this word; @: empty
 *	is LIMIT LEFT			so it is read; no-limit LEFT */
#include "base/size.h"
#include "fs/memory.h"
#include "tests/unit/trace.h"
#include <limits.h>
#include <sys/stat.h>

#define GROUPS "/sys/fs/cgroup"
/* What version 1 of cgroups says where there is no limit, with pages of 4 KiB. */
#define NO_LIMIT_1 "9223372036854771712"

/* A file below the root, with the folders on the way. */
static void put(const char *root, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
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

static void put_number(const char *root, const char *group, const char *name, uint64_t number)
{
	char path[512], text[32];

	snprintf(path, sizeof(path), GROUPS "%s/%s", group, name);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);
	put(root, path, text);
}

static void put_group(const char *root, struct trace *trace, bool second)
{
	char group[TRACE_WORD], text[512], path[512];
	unsigned long long cache;

	trace_word(trace, group);
	put_number(root, group, second ? "memory.max" : "memory.limit_in_bytes",
		   trace_sum(trace, GIB));
	put_number(root, group, second ? "memory.current" : "memory.usage_in_bytes",
		   trace_sum(trace, GIB));
	cache = trace_sum(trace, GIB);
	snprintf(text, sizeof(text),
		 second ? "anon 1\nfile 2\nshmem 3\ninactive_anon 4\ninactive_file %llu\n"
			  "active_file %llu\nworkingset_refault_file 5\n"
			: "cache 1\ninactive_file 2\nactive_file 3\nhierarchical_memory_limit 4\n"
			  "total_cache 5\ntotal_inactive_file %llu\ntotal_active_file %llu\n"
			  "total_unevictable 6\n",
		 cache / 4, cache - cache / 4);
	snprintf(path, sizeof(path), GROUPS "%s/memory.stat", group);
	put(root, path, text);
}

static void put_word(const char *root, struct trace *trace)
{
	char file[TRACE_WORD], word[TRACE_WORD], path[512], text[64];

	trace_word(trace, file);
	trace_word(trace, word);
	snprintf(path, sizeof(path), GROUPS "%s", file);
	snprintf(text, sizeof(text), *word == '@' ? "" : "%s\n", word);
	put(root, path, text);
}

static void assert_memory(const char *root, uint64_t limit, uint64_t available)
{
	struct memory memory;

	memory_read(root, &memory);
	assert_int_equal(memory.total, 64 * GIB);
	assert_int_equal(memory.limit, limit);
	assert_int_equal(memory.available, available);
}

/* With this /proc/self/cgroup. */
static void check(const char *groups, const char *text)
{
	struct trace trace = trace_begin(text);
	char root[] = "memory-XXXXXX", group[TRACE_WORD];
	uint64_t limit;

	assert_non_null(mkdtemp(root));
	put(root, "/proc/meminfo",
	    "MemTotal:       67108864 kB\n"
	    "MemFree:         1048576 kB\n"
	    "MemAvailable:   41943040 kB\n"
	    "Buffers:           12345 kB\n");
	put(root, "/proc/self/cgroup", groups);
	while (trace_next(&trace)) {
		if (trace_is(&trace, "v1") || trace_is(&trace, "v2")) {
			put_group(root, &trace, trace_is(&trace, "v2"));
		} else if (trace_is(&trace, "text")) {
			put_word(root, &trace);
		} else if (trace_is(&trace, "is")) {
			limit = trace_sum(&trace, GIB);
			assert_memory(root, limit, trace_sum(&trace, GIB));
		} else if (trace_is(&trace, "no-limit")) {
			assert_memory(root, UINT64_MAX, trace_sum(&trace, GIB));
		} else {
			trace_word(&trace, group);
			put_number(root, group,
				   trace_is(&trace, "high") ? "memory.high" : "memory.max",
				   trace_sum(&trace, GIB));
		}
	}
}

TEST(without_proc_a_gibibyte_is_assumed)
{
	struct memory memory;

	memory_read("nowhere", &memory);
	assert_int_equal(memory.total, GIB);
	assert_int_equal(memory.available, GIB);
	assert_int_equal(memory.limit, UINT64_MAX);
}

TEST(without_groups_it_is_what_the_machine_has)
{
	check("", "no-limit 40");
}

TEST(a_limit_counts_what_is_used)
{
	check("5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n", "v1 /memory/job 8 5 0; is 8 3");
	check("0::/job\n", "v2 /job 8 5 0; is 8 3");
}

TEST(page_cache_of_the_group_can_be_had_back)
{
	check("4:memory:/job\n", "v1 /memory/job 8 8 6; is 8 6");
	check("0::/job\n", "v2 /job 8 8 6; is 8 6");
}

TEST(never_more_is_left_than_the_limit_nor_less_than_nothing)
{
	check("0::/job\n", "v2 /job 8 1 2; is 8 8");
	check("0::/job\n", "v2 /job 8 9 0; is 8 0");
}

TEST(the_machine_can_be_shorter_than_the_group)
{
	check("0::/job\n", "v2 /job 60 1 0; is 60 40");
}

TEST(no_limit_is_said_in_two_ways)
{
	check("4:memory:/job\n",
	      "v1 /memory/job 0 50 0; text /memory/job/memory.limit_in_bytes " NO_LIMIT_1
	      "; no-limit 40");
	check("0::/job\n", "v2 /job 0 50 0; text /job/memory.max max; no-limit 40");
}

TEST(a_limit_above_the_machine_is_none)
{
	check("0::/job\n", "v2 /job 65 64 0; no-limit 40");
}

/* The least limit and the least that is left can be those of different groups. */
TEST(every_group_above_counts)
{
	check("0::/slurm/job/step\n",
	      "text /slurm/job/step/memory.max max; v2 /slurm/job 16 4 0; v2 /slurm 32 30 1; is 16 "
	      "3");
	check("4:memory:/slurm/job/step\n",
	      "v1 /memory/slurm/job/step 20 1 0; v1 /memory/slurm/job 16 4 0;"
	      "v1 /memory/slurm 32 30 1; v1 /memory 63 62 0; is 16 1");
}

TEST(the_soft_limit_of_version_2_is_a_limit)
{
	check("0::/job\n", "v2 /job 8 5 0; high /job 6; is 6 1; text /job/memory.high max; is 8 3");
}

/* systemd's hybrid layout: the memory controller belongs to one of the two. */
TEST(a_hybrid_layout_has_version_2_in_a_folder_of_its_own)
{
	check("4:memory:/job\n0::/job\n",
	      "v1 /memory/job 8 5 0; text /unified/job/cgroup.procs @; is 8 3");
	check("5:cpu:/\n0::/job\n", "v2 /unified/job 4 1 0; is 4 3");
}

TEST(the_memory_controller_can_share_its_line)
{
	check("4:hugetlb,memory:/job\n3:memorys:/no\n",
	      "v1 /memory/job 8 5 0; v1 /memory/no 1 1 0; is 8 3");
}

TEST(a_namespace_begins_at_the_containers_own_group)
{
	check("0::/\n", "v2 / 8 5 0; is 8 3");
}

/* Without a namespace, /proc names the group as the host does. */
TEST(a_container_without_a_namespace_has_its_group_at_the_root)
{
	check("4:memory:/docker/0123abcd\n", "v1 /memory 8 5 0; is 8 3");
	check("4:memory:/docker/0123abcd/worker\n",
	      "v1 /memory 8 5 0; v1 /memory/worker 4 3 0; is 4 1");
}

TEST(a_path_out_of_the_namespace_is_not_followed)
{
	check("0::/../other\n", "v2 / 8 5 0; v2 /../other 1 1 0; is 8 3");
}

TEST(a_limit_without_its_other_files_is_still_a_limit)
{
	check("0::/job\n", "max /job 8; is 8 8");
}

TEST(nonsense_sets_no_limit)
{
	check("\nnonsense\n4:memory\n::\n:::\n0::/job",
	      "text /job/memory.max alot; text /job/memory.high @; no-limit 40");
}

TEST(this_machine_has_memory)
{
	struct memory memory;

	memory_read("", &memory);
	assert_true(memory_available() > 0);
	assert_true(memory_available() < (uint64_t)1 << 50);
	assert_true(memory.limit > 0);
}
