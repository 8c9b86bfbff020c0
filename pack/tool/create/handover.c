#include "pack/tool/create/handover.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/signals.h"
#include "pack/tool/create/create.h"
#include "pack/tool/work/interrupt.h"
#include "pack/tool/work/shell.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LIST_HEAD   "# packs that --shard-done has taken: --resume does not make them again\n"
#define LIST_MOST   (16 * MIB) /* more than SLICES_MOST lines */
#define PAUSE_FIRST CLOCK_SECOND
#define PAUSE_MOST  (30 * CLOCK_SECOND)
#define LOOK_NS	    (CLOCK_SECOND / 10) /* for an interruption, while it pauses */

struct handover {
	struct buf command; /* with "$1" for {} */
	uint64_t retry;	    /* seconds */
	struct buf name;    /* of the list */
	struct buf taken;   /* what the list had at the begin */
	int list;

	/* Of the pack that is handed over: the thread's while it runs. */
	bool runs;
	pthread_t thread;
	char *path;
	struct handover_pack pack; /* without its path */
	int status, result;
	bool listed;	     /* the list has a pack of this run */
	atomic_bool repeats; /* the caller still has patience */
};

/* --- the list ---------------------------------------------------------------------------------
 *
 * After its head a line for each pack: "shard=3-of-15 BEFORE-AFTER STATE STATUS". Of one that was
 * taken again, the last counts. */

static int refuse_list(struct err *err)
{
	return err_set(err, -EEXIST,
		       "exists, and is not a list of packs that were taken; choose another name "
		       "for PACK, or remove it");
}

static int read_list(int list, struct buf *taken, struct err *err)
{
	size_t head = strlen(LIST_HEAD);
	ssize_t n;
	int r = buf_reserve(taken, LIST_MOST);

	if (r < 0)
		return r;
	n = io_pread(list, taken->data, LIST_MOST, 0);
	if (n < 0)
		return (int)n;
	if (n > 0 && ((size_t)n < head || memcmp(taken->data, LIST_HEAD, head) != 0))
		return refuse_list(err);
	/* A run may have been killed in the middle of a line. */
	while (n > 0 && taken->data[n - 1] != '\n')
		n--;
	taken->len = n > 0 ? (size_t)n - head : 0;
	memmove(taken->data, taken->data + head, taken->len);
	return 0;
}

/* Keeps so many bytes behind the head. */
static int begin_list(int list, size_t kept)
{
	int r = io_pwrite_full(list, LIST_HEAD, strlen(LIST_HEAD), 0);

	if (r == 0 && ftruncate(list, (off_t)(strlen(LIST_HEAD) + kept)) < 0)
		r = -errno;
	return r;
}

static int open_list(struct handover *handover, const struct create_options *options,
		     struct err *err)
{
	const char *name = handover->name.data;
	struct stat st;
	bool other = lstat(name, &st) == 0 && !S_ISREG(st.st_mode);
	SCOPE_CLOSE int list =
		other ? -1 : open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
	int r;

	if (list < 0)
		return other ? refuse_list(err) : -errno;
	/* Not all filesystems have locks. */
	if ((flock(list, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) ||
	    !io_is_named(list, name))
		return err_set(
			err, -EBUSY,
			"another foldpack hands over packs of this set, or a command that one "
			"began does so still; wait for it");
	r = read_list(list, &handover->taken, err);
	if (r < 0)
		return r;
	if (options->force && !options->resume)
		handover->taken.len = 0;
	else if (handover->taken.len && !options->resume)
		return err_set(err, -EINPROGRESS,
			       "packs of this set were handed over before; --resume goes on behind "
			       "them, --force starts again");
	r = begin_list(list, handover->taken.len);
	if (r == 0)
		handover->list = steal_fd(&list);
	return r;
}

static int add_line(struct handover *handover)
{
	SCOPE(buf_release) struct buf line = BUF_INIT;
	char text[SHARD_TEXT];
	int r;

	shard_write(&handover->pack.shard, text);
	r = buf_addf(&line, "shard=%s %016" PRIx64 " %d\n", text, handover->pack.state,
		     handover->status);
	if (r == 0 && lseek(handover->list, 0, SEEK_END) < 0)
		r = -errno;
	if (r == 0)
		r = io_write_full(handover->list, line.data, line.len);
	if (r == 0)
		r = io_sync(handover->list, fdatasync);
	if (r < 0)
		return log_fail(CREATE_REPORTED, "%s: %s", handover->name.data, strerror(-r));
	if (!handover->listed)
		io_sync_directory(handover->name.data);
	handover->listed = true;
	return 0;
}

static bool is_same(const struct shard *a, const struct shard *b)
{
	return a->number == b->number && a->of == b->of && a->before == b->before &&
	       a->after == b->after;
}

/* Reads a line, which ends in a newline. */
static bool read_taken(const char *line, size_t len, struct handover_pack *ret, int *ret_status)
{
	char text[2 * SHARD_TEXT];

	snprintf(text, sizeof(text), "%.*s", (int)len, line);
	shard_read(line, len, &ret->shard);
	return ret->shard.of &&
	       sscanf(text, "%*s %*s %" SCNx64 " %d", &ret->state, ret_status) == 2;
}

int handover_was_taken(const struct handover *handover, const struct handover_pack *pack,
		       int *ret_status)
{
	const char *line = handover->taken.data, *end = line + handover->taken.len, *next;
	bool taken = false, changed = false;
	struct handover_pack one;
	int status;

	for (; line < end; line = next) {
		next = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
		if (!read_taken(line, (size_t)(next - line), &one, &status) ||
		    one.shard.number != pack->shard.number)
			continue;
		if (!is_same(&one.shard, &pack->shard))
			return log_fail(CREATE_REPORTED,
					"%s: taken already, but made with other options, or of the "
					"folder in another state; --force without --resume starts "
					"again",
					pack->path);
		taken = one.state == pack->state;
		changed = !taken;
		*ret_status = status;
	}
	if (changed)
		log_notice("%s: taken already, but files of it have changed since; made again",
			   pack->path);
	if (taken)
		log_info("%s: taken already", pack->path);
	return taken;
}

/* --- the command ------------------------------------------------------------------------------ */

struct tries {
	char said[SHELL_SAID];
	char why[128];	       /* the last one failed */
	uint64_t since, pause; /* ns; since 0: none has failed */
};

/* Both outputs of the command, a line each. */
static void say_lines(const struct handover *handover, struct tries *tries,
		      void (*say)(const char *format, ...))
{
	char *said = tries->said;

	for (char *line; (line = strsep(&said, "\r\n"));)
		if (*line)
			say("%s: %s", handover->path, line);
}

static void name_end(struct tries *tries, int status)
{
	if (status < 0)
		snprintf(tries->why, sizeof(tries->why), "cannot be run: %s", strerror(-status));
	else if (WIFSIGNALED(status))
		snprintf(tries->why, sizeof(tries->why), "was ended by signal %d",
			 WTERMSIG(status));
	else
		snprintf(tries->why, sizeof(tries->why), "ended with status %d",
			 WEXITSTATUS(status));
}

/* 126 and 127 are of the shell: there is no such program, or it is none. */
static bool may_pass(int status)
{
	return status < 0 || WIFSIGNALED(status) ||
	       (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127);
}

/* Returns whether to go on. */
static bool rest(const struct handover *handover, uint64_t ns)
{
	const struct timespec look = {.tv_nsec = (long)LOOK_NS};
	uint64_t until = clock_ns() + ns;
	bool goes_on = true;

	while (goes_on && clock_ns() < until) {
		nanosleep(&look, NULL);
		goes_on = atomic_load(&handover->repeats) && !interrupt_pending();
	}
	return goes_on;
}

/* Whether to repeat a command that has failed; true after a pause. */
static bool again(const struct handover *handover, struct tries *tries, int status)
{
	bool first = tries->since == 0;
	uint64_t now = clock_ns();

	name_end(tries, status);
	tries->since = first ? now : tries->since;
	tries->pause = first ? PAUSE_FIRST : min(2 * tries->pause, PAUSE_MOST);
	if (interrupt_pending() || !may_pass(status) ||
	    (now - tries->since + tries->pause) / CLOCK_SECOND > handover->retry)
		return false;
	if (first) {
		say_lines(handover, tries, log_notice);
		log_notice("%s: the command of --shard-done %s; it is repeated for up to %" PRIu64
			   " s",
			   handover->path, tries->why, handover->retry);
	}
	return rest(handover, tries->pause);
}

static int take(struct handover *handover)
{
	struct tries tries = {0};
	int status;

	do
		status = interrupt_pending() ? -EINTR
					     : shell_run(handover->command.data, handover->path,
							 handover->list, tries.said);
	while (status != 0 && again(handover, &tries, status));
	if (status == 0) {
		say_lines(handover, &tries, log_detail);
		return add_line(handover);
	}
	if (interrupt_pending()) {
		log_notice("%s: not taken; --resume goes on with it", handover->path);
		return -EINTR;
	}
	say_lines(handover, &tries, log_error);
	return log_fail(CREATE_REPORTED,
			"%s: not taken: the command of --shard-done %s; --resume goes on with it",
			handover->path, tries.why);
}

static void *run_thread(void *context)
{
	struct handover *handover = context;

	handover->result = take(handover);
	if (handover->result == 0)
		log_info("%s: taken", handover->path);
	return NULL;
}

/* --- from outside ----------------------------------------------------------------------------- */

/* {} becomes "$1", whatever quotes are around it. */
static int set_command(struct buf *text, const char *command)
{
	int r = buf_adds(text, "");

	for (const char *at; r == 0 && (at = strstr(command, "{}")); command = at) {
		char quote = at > command && (at[-1] == '"' || at[-1] == '\'') ? at[-1] : '\0';
		bool quoted = quote && at[2] == quote;

		r = buf_addf(text, "%.*s\"$1\"", (int)(at - command) - quoted, command);
		at += 2 + quoted;
	}
	return r < 0 ? r : buf_adds(text, command);
}

int handover_new(struct create *create, struct handover **ret)
{
	const struct create_options *options = &create->options;
	struct handover *handover;
	struct err err = {0};
	int r;

	if (!options->cut.done)
		return 0;
	handover = calloc(1, sizeof(*handover));
	if (!handover)
		return -ENOMEM;
	handover->list = -1;
	handover->retry = remote_retry(&options->common.remote, REMOTE_RETRY);
	r = set_command(&handover->command, options->cut.done);
	if (r == 0)
		r = buf_addf(&handover->name, "%s.taken", create->pack);
	if (r == 0)
		r = open_list(handover, options, &err);
	if (r < 0 && r != -ENOMEM)
		r = log_fail(CREATE_REPORTED, "%s: %s", handover->name.data, err_text(&err, r));
	if (r < 0)
		handover_free(handover);
	else
		*ret = handover;
	return r;
}

/* A list without packs would be in the way. */
void handover_free(struct handover *handover)
{
	if (!handover)
		return;
	if (handover->list >= 0 && !handover->taken.len && !handover->listed)
		unlink(handover->name.data);
	scope_close(&handover->list);
	buf_release(&handover->command);
	buf_release(&handover->name);
	buf_release(&handover->taken);
	free(handover->path);
	free(handover);
}

int handover_begin(struct handover *handover, const struct handover_pack *pack, int status)
{
	int r = handover_end(handover, true);

	if (r < 0)
		return r;
	free(handover->path);
	/* With a path from the root, it matters to no program what the name begins with. */
	handover->path = realpath(pack->path, NULL);
	if (!handover->path)
		return log_fail(CREATE_REPORTED, "%s: %s", pack->path, strerror(errno));
	handover->pack = (struct handover_pack){.shard = pack->shard, .state = pack->state};
	handover->status = status;
	atomic_store(&handover->repeats, true);
	r = thread_without_signals(&handover->thread, run_thread, handover);
	handover->runs = r == 0;
	return r;
}

int handover_end(struct handover *handover, bool repeats)
{
	if (!handover || !handover->runs)
		return 0;
	atomic_store(&handover->repeats, repeats);
	pthread_join(handover->thread, NULL);
	handover->runs = false;
	return handover->result;
}
