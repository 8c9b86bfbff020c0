/* reader: reads every file of a list as a data loader does, and says how fast that went.
 *
 * A file costs the system calls of CPython 3.14's open(path, "rb").read(): open, fstat,
 * read(size + 1), read (which returns 0), close; --tcgets adds the ioctl that older ones send.
 * Threads take files from one shared order, all of it or, with --files and --seconds, its
 * beginning. The result is one line of JSON on standard output. */
#include "base/err.h"
#include "base/exit.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/opt.h"
#include "base/scope.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <xxhash.h>

#define MAX_THREADS 256
#define SECOND	    UINT64_C(1000000000) /* in nanoseconds, as all times here */
#define STEP	    (SECOND / 10)	 /* of --progress */

struct settings {
	uint64_t threads, seed, passes, files, seconds;
	bool listed, tcgets, warm, verify, progress;
};

static const struct opt table[] = {
	OPT_NUMBER('t', "threads", "N", struct settings, threads, "threads that read (2)"),
	OPT_NUMBER('s', "seed", "N", struct settings, seed, "of the shuffled order (0)"),
	OPT_FLAG('l', "listed", struct settings, listed, "read in the order of LIST, not shuffled"),
	OPT_NUMBER('p', "passes", "K", struct settings, passes, "times to read all files (1)"),
	OPT_NUMBER('n', "files", "N", struct settings, files,
		   "read the first N of the order (all)"),
	OPT_NUMBER('d', "seconds", "S", struct settings, seconds,
		   "begin no file when a pass has taken S seconds"),
	OPT_FLAG('c', "tcgets", struct settings, tcgets, "ask for a terminal after each open"),
	OPT_FLAG('w', "warm", struct settings, warm, "read everything once before the timing"),
	OPT_FLAG(0, "verify", struct settings, verify, "print a checksum of names and bytes"),
	OPT_FLAG(0, "progress", struct settings, progress,
		 "print how many files were read by each tenth of a second"),
	OPT_END};

static const struct opt_command command = {
	.name = "reader",
	.synopsis = "[options] ROOT LIST",
	.summary = "reads the files that LIST names, relative to ROOT, and reports the speed",
	.table = table,
};

struct list {
	char *text;	    /* the names, each NUL-ended */
	const char **names; /* pointers into text, in LIST's order */
	size_t count;
};

/* When a file was opened and closed; all zero: it was not read. */
struct span {
	uint64_t began, ended;
};

/* What all threads share. Read-only while they run, but for the atomics. */
struct job {
	const struct settings *settings;
	const struct list *list;
	const char *root;
	uint32_t *order;    /* list->count indices */
	size_t count;	    /* how many of them to read */
	uint64_t until;	    /* begin no file after it */
	struct span *spans; /* by place in the order; NULL: untimed */
	atomic_size_t next; /* place in the order of the next file to read */
	atomic_int error;   /* the first -errno; the others stop at their next file */
};

struct worker {
	pthread_t thread;
	struct job *job;
	char *data; /* of the file being read */
	size_t room;
	uint64_t bytes, sum;
};

struct result {
	uint64_t bytes, sum, took;
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

static void shuffle(uint32_t *order, size_t count, uint64_t *state)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = random_next(state) % i;
		uint32_t kept = order[i - 1];

		order[i - 1] = order[other];
		order[other] = kept;
	}
}

static int worker_reserve(struct worker *worker, size_t size)
{
	char *data;

	if (size <= worker->room)
		return 0;
	data = realloc(worker->data, size);
	if (!data)
		return -ENOMEM;
	worker->data = data;
	worker->room = size;
	return 0;
}

/* Reads to the end, into the worker's memory. Returns 0 or -errno. */
static int read_all(struct worker *worker, int fd, size_t expected, size_t *ret_len)
{
	size_t len = 0;

	for (;;) {
		int error = worker_reserve(worker, (len > expected ? len : expected) + 1);
		ssize_t got;

		if (error)
			return error;
		got = read(fd, worker->data + len, worker->room - len);
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		len += (size_t)got;
	}
	*ret_len = len;
	return 0;
}

static int read_file(struct worker *worker, const char *path, size_t *ret_len)
{
	SCOPE_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct termios terminal;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (worker->job->settings->tcgets)
		ioctl(fd, TCGETS, &terminal);
	return read_all(worker, fd, (size_t)st.st_size, ret_len);
}

/* Adds one file to the sum; the order of the files does not count, their names do. */
static uint64_t file_sum(const char *name, const char *data, size_t len)
{
	return XXH3_64bits_withSeed(data, len, XXH3_64bits(name, strlen(name)));
}

static int read_place(struct worker *worker, size_t place)
{
	struct job *job = worker->job;
	const char *name = job->list->names[job->order[place]];
	uint64_t began = now_ns();
	char path[4096];
	size_t len = 0;
	int error;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", job->root, name) >= sizeof(path))
		error = -ENAMETOOLONG;
	else
		error = read_file(worker, path, &len);
	if (error) {
		log_error("%s: %s", path, strerror(-error));
		return error;
	}
	if (job->spans)
		job->spans[place] = (struct span){began, now_ns()};
	worker->bytes += len;
	if (job->settings->verify)
		worker->sum += file_sum(name, worker->data, len);
	return 0;
}

static void *worker_run(void *context)
{
	struct worker *worker = context;
	struct job *job = worker->job;

	while (!atomic_load_explicit(&job->error, memory_order_relaxed)) {
		size_t place = atomic_fetch_add(&job->next, 1);
		int error;

		if (place >= job->count || now_ns() > job->until)
			break;
		error = read_place(worker, place);
		if (error)
			atomic_store(&job->error, error);
	}
	return NULL;
}

/* Starts the threads, as many as possible, and waits for them. */
static int run_workers(struct job *job, struct worker *workers, size_t count)
{
	size_t started;
	int error = 0;

	for (started = 0; started < count && !error; started += !error) {
		workers[started].job = job;
		error = -pthread_create(&workers[started].thread, NULL, worker_run,
					&workers[started]);
	}
	if (error) {
		log_error("%zu threads: %s", count, strerror(-error));
		atomic_store(&job->error, error);
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	return atomic_load(&job->error);
}

/* Reads the files once and adds to result. */
static int run_pass(struct job *job, struct result *result)
{
	size_t count = job->settings->threads;
	SCOPE_FREE struct worker *workers = calloc(count, sizeof(*workers));
	uint64_t began = now_ns();
	int error;

	if (!workers)
		return -ENOMEM;
	atomic_store(&job->next, 0);
	job->until = job->settings->seconds ? began + job->settings->seconds * SECOND : UINT64_MAX;
	error = run_workers(job, workers, count);
	result->took += now_ns() - began;
	for (size_t i = 0; i < count; i++) {
		result->bytes += workers[i].bytes;
		result->sum += workers[i].sum;
		free(workers[i].data);
	}
	return error;
}

/* The untimed pass, if any, and the timed ones; each in an order of its own. `spans` has room
 * for all timed files. */
static int run(struct job *job, struct span *spans, struct result *ret)
{
	const struct settings *settings = job->settings;
	uint64_t state = settings->seed;
	struct result sum = {0}, untimed = {0};

	for (uint64_t pass = settings->warm ? 0 : 1; pass <= settings->passes; pass++) {
		int error;

		if (!settings->listed)
			shuffle(job->order, job->list->count, &state);
		job->spans = pass ? spans + (pass - 1) * job->count : NULL;
		error = run_pass(job, pass ? &sum : &untimed);
		if (error)
			return error;
	}
	*ret = sum;
	return 0;
}

/* Moves the files that were read to the front. Returns how many they are. */
static size_t keep_read(struct span *spans, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (spans[i].ended)
			spans[kept++] = spans[i];
	return kept;
}

static int by_duration(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	uint64_t took_x = x->ended - x->began, took_y = y->ended - y->began;

	return (took_x > took_y) - (took_x < took_y);
}

static int by_end(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->ended > y->ended) - (x->ended < y->ended);
}

static void print_durations(struct json *json, struct span *spans, size_t files)
{
	const struct span *half, *most;

	qsort(spans, files, sizeof(*spans), by_duration);
	half = &spans[(files - 1) / 2];
	most = &spans[(size_t)((double)(files - 1) * 0.99)];
	json_double(json, "p50_us", (double)(half->ended - half->began) / 1e3);
	json_double(json, "p99_us", (double)(most->ended - most->began) / 1e3);
	most = &spans[files - 1];
	json_double(json, "longest_us", (double)(most->ended - most->began) / 1e3);
}

/* Between passes the clock runs on. began_us is for who looks at the same clock meanwhile. */
static void print_progress(struct json *json, struct span *spans, size_t files)
{
	uint64_t began = UINT64_MAX, step = 1;

	qsort(spans, files, sizeof(*spans), by_end);
	for (size_t i = 0; i < files; i++)
		began = spans[i].began < began ? spans[i].began : began;
	json_u64(json, "began_us", began / 1000);
	json_array(json, "progress");
	for (size_t i = 0; i < files; i++)
		for (; spans[i].ended - began > step * STEP; step++)
			json_u64(json, NULL, i);
	json_u64(json, NULL, files);
	json_end(json);
}

static int print_result(const struct settings *settings, const struct result *result,
			struct span *spans, size_t files)
{
	double seconds = (double)result->took / (double)SECOND;
	struct buf buf = BUF_INIT;
	struct json json = json_begin(&buf);
	int error;

	json_object(&json, NULL);
	json_u64(&json, "files", files);
	json_u64(&json, "bytes", result->bytes);
	json_u64(&json, "threads", settings->threads);
	json_double(&json, "wall_s", seconds);
	json_double(&json, "files_per_s", (double)files / seconds);
	json_double(&json, "mb_per_s", (double)result->bytes / 1e6 / seconds);
	print_durations(&json, spans, files);
	if (settings->progress)
		print_progress(&json, spans, files);
	if (settings->verify) {
		char sum[17];

		snprintf(sum, sizeof(sum), "%016" PRIx64, result->sum);
		json_string(&json, "sum", sum);
	}
	json_end(&json);
	error = buf_error(&buf);
	if (!error)
		printf("%.*s\n", (int)buf.len, buf.data);
	buf_release(&buf);
	return error;
}

static void list_release(struct list *list)
{
	free(list->text);
	free(list->names);
}

/* The whole file at path, NUL-ended. */
static int read_text(const char *path, char **ret, size_t *ret_len)
{
	SCOPE_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	SCOPE_FREE char *text = NULL;
	struct stat st;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	got = io_read(fd, text, (size_t)st.st_size);
	if (got < 0)
		return (int)got;
	text[got] = '\0';
	*ret_len = (size_t)got;
	*ret = steal_ptr(&text);
	return 0;
}

static size_t count_lines(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	return count;
}

/* Fills list, which is empty. On failure the caller still releases it. */
static int list_load(struct list *list, const char *path)
{
	char *end, *name;
	size_t len = 0;
	int error = read_text(path, &list->text, &len);

	if (error)
		return error;
	list->names = calloc(count_lines(list->text, len) + 1, sizeof(*list->names));
	if (!list->names)
		return -ENOMEM;
	for (name = list->text; name < list->text + len; name = end + 1) {
		end = memchr(name, '\n', (size_t)(list->text + len - name));
		if (!end)
			end = list->text + len;
		*end = '\0';
		if (end > name)
			list->names[list->count++] = name;
	}
	return list->count && list->count < UINT32_MAX ? 0 : -EINVAL;
}

static int read_list(const struct settings *settings, const char *root, const struct list *list)
{
	bool part = settings->files && settings->files < list->count;
	size_t count = part ? settings->files : list->count;
	size_t files = count * settings->passes;
	SCOPE_FREE uint32_t *order = calloc(list->count, sizeof(*order));
	SCOPE_FREE struct span *spans = calloc(files, sizeof(*spans));
	struct job job = {
		.settings = settings, .list = list, .root = root, .order = order, .count = count};
	struct result result;
	int error;

	if (!order || !spans) {
		log_error("%zu files: %s", files, strerror(ENOMEM));
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < list->count; i++)
		order[i] = i;
	error = run(&job, spans, &result);
	return error ? error : print_result(settings, &result, spans, keep_read(spans, files));
}

static int main_list(const struct settings *settings, char **args)
{
	struct list list SCOPE(list_release) = {0};
	int error = list_load(&list, args[1]);

	if (error) {
		log_error("%s: %s", args[1], error == -EINVAL ? "names no file" : strerror(-error));
		return EXIT_FAILED;
	}
	return read_list(settings, args[0], &list) ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct settings settings = {.threads = 2, .passes = 1};
	struct opt_result parsed;
	struct err err = {0};
	int error;

	log_init("reader", LOG_LEVEL_NORMAL);
	error = opt_parse(&command, &settings, argc, argv, &parsed, &err);
	if (error) {
		log_error("%s", err_text(&err, error));
		return EXIT_USAGE;
	}
	if (parsed.want == OPT_VERSION)
		return puts("reader " FOLDFS_VERSION) < 0;
	if (parsed.want == OPT_HELP) {
		opt_help(&command, stdout);
		return EXIT_DONE;
	}
	if (parsed.nargs != 2 || settings.threads < 1 || settings.threads > MAX_THREADS ||
	    settings.passes < 1) {
		opt_help(&command, stderr);
		return EXIT_USAGE;
	}
	return main_list(&settings, parsed.args);
}
