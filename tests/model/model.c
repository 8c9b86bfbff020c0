/* model: does the same operations, from several threads, on a plain folder and on the mount of its
 * pack, and ends with status 1 at the first one that they answer differently.
 *
 *	cd PLAIN && find . -print0 | LC_ALL=C sort -z | model [options] PLAIN MOUNT
 *
 *	-s SEED    of all that is random (1)
 *	-n N       operations of each thread (1000)
 *	-t N       threads (8)
 *	-o THREAD  do those of this thread only, as it would beside the others
 *	-k N,N..   only these operations, counted from 0
 *	-u UID     do them as this user and group
 *	-p         of foldfs --no-fuse: see differences.c
 *	-v         say each operation
 *
 * At the end a line for each operation: its name, how often it was done, and how often it
 * succeeded and failed by EROFS. */
#include "tests/model/model.h"

#include "base/bits.h"
#include "base/exit.h"
#include "base/scope.h"
#include "tests/model/path.h"

#include <err.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define THREADS_MAX    64
#define OPERATIONS_MAX 64
#define SIDES	       2

struct count {
	uint64_t done, succeeded, erofs;
};

struct run {
	uint64_t seed;
	uint32_t operations;
	uint8_t *kept; /* a bit for each operation to do; NULL: all */
	unsigned threads;
	int only;
	long user;
	bool speaks, no_fuse;
	const char *roots[SIDES];
	struct path_list paths;
	struct operation table[OPERATIONS_MAX];
	unsigned kinds, weight;
	atomic_bool differs;
};

struct thread {
	struct run *run;
	unsigned number;
	uint64_t random;
	struct side sides[SIDES];
	struct outcome outcomes[SIDES];
	char path[PATH_ROOM], fresh[PATH_ROOM];
	struct count counts[OPERATIONS_MAX];
	pthread_t id;
};

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* --- one operation -------------------------------------------------------------------------- */

static const struct operation *choose(const struct run *run, uint64_t chance)
{
	const struct operation *operation = run->table;
	uint64_t left = chance % run->weight;

	for (; left >= operation->weight; operation++)
		left -= operation->weight;
	return operation;
}

static bool same(const struct outcome *a, const struct outcome *b)
{
	return a->result == b->result && a->error == b->error && a->len == b->len &&
	       memcmp(a->bytes, b->bytes, a->len) == 0;
}

static void show(const char *side, const struct outcome *outcome)
{
	printf("  %s: %" PRId64 "%s%s, %zu bytes:", side, outcome->result,
	       outcome->error ? ", " : "", outcome->error ? strerror(outcome->error) : "",
	       outcome->len);
	for (size_t i = 0; i < outcome->len && i < 64; i++)
		printf(" %02x", outcome->bytes[i]);
	putchar('\n');
}

static void show_difference(struct thread *thread, uint32_t number, const char *name,
			    const char *path)
{
	const struct outcome *plain = &thread->outcomes[0], *mount = &thread->outcomes[1];
	size_t at = 0;

	if (atomic_exchange(&thread->run->differs, true))
		return;
	while (at < plain->len && at < mount->len && plain->bytes[at] == mount->bytes[at])
		at++;
	printf("difference: seed %" PRIu64 " thread %u operation %u: %s '%s', from byte %zu\n",
	       thread->run->seed, thread->number, number, name, path, at);
	show("plain", plain);
	show("mount", mount);
}

static void operate(struct thread *thread, uint32_t number)
{
	const struct operation *operation = choose(thread->run, draw(&thread->random));
	struct count *count = &thread->counts[operation - thread->run->table];
	struct args args = {.path = thread->path, .fresh = thread->fresh};

	path_make(&thread->run->paths, draw(&thread->random), thread->path);
	path_make_fresh(&thread->run->paths, draw(&thread->random), thread->fresh);
	args.slot = draw(&thread->random) % MODEL_SLOTS;
	for (unsigned i = 0; i < MODEL_CHANCES; i++)
		args.chance[i] = draw(&thread->random);
	if (thread->run->kept && !bit_get(thread->run->kept, number))
		return;
	for (unsigned i = 0; i < SIDES; i++) {
		struct outcome *outcome = &thread->outcomes[i];

		*outcome = (struct outcome){.bytes = outcome->bytes};
		operation->run(&thread->sides[i], &args, outcome);
	}
	count->done++;
	count->succeeded += thread->outcomes[1].error == 0;
	count->erofs += thread->outcomes[1].error == EROFS;
	if (!same(&thread->outcomes[0], &thread->outcomes[1]) &&
	    !difference_allowed(operation->name, &thread->outcomes[0], &thread->outcomes[1],
				thread->run->no_fuse))
		show_difference(thread, number, operation->name, args.path);
}

/* --- threads -------------------------------------------------------------------------------- */

static void side_begin(struct side *side, const char *root, bool speaks, bool no_fuse)
{
	side->speaks = speaks;
	side->no_fuse = no_fuse;
	side->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	side->sink = memfd_create("sink", MFD_CLOEXEC);
	for (unsigned i = 0; i < MODEL_SLOTS; i++)
		side->slots[i] = -1;
	if (side->root < 0 || side->sink < 0)
		err(EXIT_USAGE, "%s", root);
}

static void side_end(struct side *side)
{
	for (unsigned i = 0; i < MODEL_SLOTS; i++)
		slot_put(side, i, -1);
	close(side->root);
	close(side->sink);
}

static void thread_begin(struct thread *thread, struct run *run, unsigned number)
{
	uint64_t seed = run->seed * THREADS_MAX + number;

	thread->run = run;
	thread->number = number;
	thread->random = draw(&seed);
	for (unsigned i = 0; i < SIDES; i++) {
		side_begin(&thread->sides[i], run->roots[i], run->speaks && i == 0, run->no_fuse);
		thread->outcomes[i].bytes = aligned_alloc(4096, MODEL_BYTES);
		if (!thread->outcomes[i].bytes)
			errx(EXIT_USAGE, "out of memory");
	}
}

static void thread_end(struct thread *thread, struct count counts[OPERATIONS_MAX])
{
	for (unsigned i = 0; i < SIDES; i++) {
		side_end(&thread->sides[i]);
		free(thread->outcomes[i].bytes);
	}
	for (unsigned i = 0; i < thread->run->kinds; i++) {
		counts[i].done += thread->counts[i].done;
		counts[i].succeeded += thread->counts[i].succeeded;
		counts[i].erofs += thread->counts[i].erofs;
	}
}

static void *thread_run(void *arg)
{
	struct thread *thread = arg;
	const struct run *run = thread->run;

	for (uint32_t n = 0; n < run->operations && !atomic_load(&run->differs); n++)
		operate(thread, n);
	return NULL;
}

/* LeakSanitizer looks at the process from another one, which takes that it may be dumped. */
static void become(long user)
{
	if (setgroups(0, NULL) < 0 || setresgid((gid_t)user, (gid_t)user, (gid_t)user) < 0 ||
	    setresuid((uid_t)user, (uid_t)user, (uid_t)user) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
		err(EXIT_USAGE, "user %ld", user);
}

static bool is_left_out(const struct run *run, unsigned number)
{
	return run->only >= 0 && (unsigned)run->only != number;
}

static void run_threads(struct run *run, struct count counts[OPERATIONS_MAX])
{
	SCOPE_FREE struct thread *threads = calloc(run->threads, sizeof(*threads));

	if (!threads)
		errx(EXIT_USAGE, "out of memory");
	for (unsigned i = 0; i < run->threads; i++)
		if (!is_left_out(run, i))
			thread_begin(&threads[i], run, i);
	if (run->user > 0)
		become(run->user);
	for (unsigned i = 0; i < run->threads; i++)
		if (!is_left_out(run, i) &&
		    pthread_create(&threads[i].id, NULL, thread_run, &threads[i]) != 0)
			errx(EXIT_USAGE, "no thread");
	for (unsigned i = 0; i < run->threads; i++) {
		if (is_left_out(run, i))
			continue;
		pthread_join(threads[i].id, NULL);
		thread_end(&threads[i], counts);
	}
}

/* --- the program ---------------------------------------------------------------------------- */

static void take(struct run *run, const struct operation *operations)
{
	for (; operations->name; operations++) {
		run->table[run->kinds++] = *operations;
		run->weight += operations->weight;
	}
}

static uint8_t *parse_kept(const char *numbers)
{
	uint8_t *kept = calloc(1, UINT32_MAX / 8 + 1);
	char *end;

	if (!kept)
		errx(EXIT_USAGE, "out of memory");
	for (; *numbers; numbers = *end ? end + 1 : end)
		bit_set(kept, (uint32_t)strtoul(numbers, &end, 10));
	return kept;
}

static void parse(int argc, char **argv, struct run *run)
{
	int option;

	while ((option = getopt(argc, argv, "s:n:t:o:k:u:pv")) != -1) {
		unsigned long long value = optarg ? strtoull(optarg, NULL, 10) : 0;

		if (option == 's')
			run->seed = value;
		else if (option == 'n')
			run->operations = (uint32_t)value;
		else if (option == 't')
			run->threads = (unsigned)value;
		else if (option == 'o')
			run->only = (int)value;
		else if (option == 'k')
			run->kept = parse_kept(optarg);
		else if (option == 'u')
			run->user = (long)value;
		else if (option == 'p')
			run->no_fuse = true;
		else if (option == 'v')
			run->speaks = true;
		else
			exit(EXIT_USAGE);
	}
	if (argc - optind != SIDES || run->threads < 1 || run->threads > THREADS_MAX)
		errx(EXIT_USAGE, "usage: model [options] PLAIN MOUNT, paths on standard input");
	run->roots[0] = argv[optind];
	run->roots[1] = argv[optind + 1];
}

int main(int argc, char **argv)
{
	struct run run = {.seed = 1, .operations = 1000, .threads = 8, .only = -1};
	struct count counts[OPERATIONS_MAX] = {0};
	int r;

	parse(argc, argv, &run);
	r = path_list_read(STDIN_FILENO, &run.paths);
	if (r < 0)
		errx(EXIT_USAGE, "paths on standard input: %s", strerror(-r));
	take(&run, name_operations);
	take(&run, file_operations);
	take(&run, list_operations);
	take(&run, change_operations);
	run_threads(&run, counts);
	for (unsigned i = 0; i < run.kinds; i++)
		if (counts[i].done > 0)
			printf("%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", run.table[i].name,
			       counts[i].done, counts[i].succeeded, counts[i].erofs);
	path_list_release(&run.paths);
	free(run.kept);
	return atomic_load(&run.differs) ? 1 : 0;
}
