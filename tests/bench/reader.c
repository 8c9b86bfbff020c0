/* reader: reads every file of a list in a shuffled order, as a data loader does, and says how fast
 * that went.
 *
 * A file costs the system calls of CPython 3.14's open(path, "rb").read(): open, fstat,
 * read(size + 1), read (which returns 0), close. Threads take files from one shared order, all of
 * it or, with --files and --seconds, its beginning. The result is one line of JSON on standard
 * output. */
#include "base/err.h"
#include "base/exit.h"
#include "base/io.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/scope.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAX_THREADS 256
#define SECOND	    UINT64_C(1000000000) /* in nanoseconds, as all times here */

struct settings {
	uint64_t threads, seed, passes, files, seconds;
};

static const struct opt table[] = {
	OPT_NUMBER('t', "threads", "N", struct settings, threads, "threads that read (2)"),
	OPT_NUMBER('s', "seed", "N", struct settings, seed, "of the shuffled order (0)"),
	OPT_NUMBER('p', "passes", "K", struct settings, passes, "times to read all files (1)"),
	OPT_NUMBER('n', "files", "N", struct settings, files,
		   "read the first N of the order (all)"),
	OPT_NUMBER('d', "seconds", "S", struct settings, seconds,
		   "begin no file when a pass has taken S seconds"),
	OPT_END};

static const struct opt_command command = {
	.name = "reader",
	.synopsis = "[options] ROOT LIST",
	.summary = "reads the files that LIST names, relative to ROOT, and reports the speed",
	.table = table,
};

struct list {
	char *text;	    /* the names, each NUL-ended */
	const char **names; /* pointers into text, in the order that they are read in */
	size_t count;
};

/* What all threads share. Read-only while they run, but for the atomics. */
struct job {
	const struct list *list;
	const char *root;
	size_t count;	    /* how many of the list to read */
	uint64_t until;	    /* begin no file after it */
	atomic_size_t next; /* place of the next file to read */
	atomic_size_t files;
	atomic_uint_fast64_t bytes;
	atomic_int error; /* the first -errno; the others stop at their next file */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* splitmix64 */
static uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void shuffle(struct list *list, uint64_t *state)
{
	for (size_t i = list->count; i > 1; i--) {
		size_t other = random_next(state) % i;
		const char *kept = list->names[i - 1];

		list->names[i - 1] = list->names[other];
		list->names[other] = kept;
	}
}

/* Reads a file to its end, into `data`, which grows to hold the largest one and a byte more. */
static int read_file(const char *path, char **data, size_t *room, size_t *ret_len)
{
	SCOPE_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if ((size_t)st.st_size + 2 > *room) {
		*room = (size_t)st.st_size + 2;
		free(*data);
		*data = malloc(*room);
		if (!*data)
			return -ENOMEM;
	}
	got = io_read(fd, *data, (size_t)st.st_size + 1);
	if (got < 0)
		return (int)got;
	*ret_len = (size_t)got;
	return 0;
}

static void *worker_run(void *context)
{
	struct job *job = context;
	SCOPE_FREE char *data = NULL;
	size_t room = 0, place, len;
	char path[4096];

	while (!atomic_load_explicit(&job->error, memory_order_relaxed)) {
		int error = 0;

		place = atomic_fetch_add(&job->next, 1);
		if (place >= job->count || now_ns() > job->until)
			break;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", job->root,
				     job->list->names[place]) >= sizeof(path))
			error = -ENAMETOOLONG;
		else
			error = read_file(path, &data, &room, &len);
		if (error) {
			log_error("%s: %s", path, strerror(-error));
			atomic_store(&job->error, error);
			break;
		}
		atomic_fetch_add(&job->files, 1);
		atomic_fetch_add(&job->bytes, len);
	}
	return NULL;
}

/* Reads the files once, by as many threads. Returns 0 or -errno. */
static int run_pass(struct job *job, const struct settings *settings)
{
	pthread_t threads[MAX_THREADS];
	size_t started = 0;
	int error = 0;

	atomic_store(&job->next, 0);
	job->until = settings->seconds ? now_ns() + settings->seconds * SECOND : UINT64_MAX;
	for (; started < settings->threads && !error; started += !error)
		error = -pthread_create(&threads[started], NULL, worker_run, job);
	if (error) {
		log_error("%" PRIu64 " threads: %s", settings->threads, strerror(-error));
		atomic_store(&job->error, error);
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return atomic_load(&job->error);
}

static void list_release(struct list *list)
{
	free(list->text);
	free(list->names);
}

/* The whole file at path, NUL-ended. */
static int read_text(const char *path, char **ret, size_t *ret_len)
{
	SCOPE_FREE char *text = NULL;
	size_t room = 0;
	int error = read_file(path, &text, &room, ret_len);

	if (error)
		return error;
	text[*ret_len] = '\0';
	*ret = steal_ptr(&text);
	return 0;
}

/* Fills list, which is empty. On failure the caller still releases it. */
static int list_load(struct list *list, const char *path)
{
	char *name, *rest;
	size_t len;
	int error = read_text(path, &list->text, &len);

	if (error)
		return error;
	list->names = calloc(len / 2 + 1, sizeof(*list->names));
	if (!list->names)
		return -ENOMEM;
	for (name = strtok_r(list->text, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest))
		list->names[list->count++] = name;
	return list->count ? 0 : -EINVAL;
}

/* All passes, each in an order of its own. */
static int read_list(const struct settings *settings, const char *root, struct list *list)
{
	bool part = settings->files && settings->files < list->count;
	struct job job = {
		.list = list, .root = root, .count = part ? settings->files : list->count};
	uint64_t state = settings->seed, took = 0;

	for (uint64_t pass = 0; pass < settings->passes; pass++) {
		uint64_t began;

		shuffle(list, &state);
		began = now_ns();
		if (run_pass(&job, settings))
			return EXIT_FAILED;
		took += now_ns() - began;
	}
	printf("{\"files\": %zu, \"bytes\": %" PRIu64 ", \"files_per_s\": %.1f}\n", job.files,
	       job.bytes, (double)job.files * (double)SECOND / (double)took);
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct settings settings = {.threads = 2, .passes = 1};
	struct list list SCOPE(list_release) = {0};
	struct opt_result parsed;
	struct err err = {0};
	int error;

	log_init("reader", LOG_LEVEL_NORMAL);
	error = opt_parse(&command, &settings, argc, argv, &parsed, &err);
	if (error) {
		log_error("%s", err_text(&err, error));
		return EXIT_USAGE;
	}
	if (parsed.want != OPT_RUN || parsed.nargs != 2 || settings.threads < 1 ||
	    settings.threads > MAX_THREADS) {
		opt_help(&command, stderr);
		return EXIT_USAGE;
	}
	error = list_load(&list, parsed.args[1]);
	if (error) {
		log_error("%s: %s", parsed.args[1],
			  error == -EINVAL ? "names no file" : strerror(-error));
		return EXIT_FAILED;
	}
	return read_list(&settings, parsed.args[0], &list);
}
