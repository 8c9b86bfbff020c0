#include "pack/tool/work/coprocess.h"

#include "base/io.h"
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "base/spawn.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define PERIOD_MS    100  /* between two looks at whether foldpack is to end */
#define GRACE_MS     3000 /* for a program that has nothing more to do */
#define MOMENT_MS    2	  /* between two looks at whether it has */
#define PIPE_BYTES   (1 << 20)
#define HEAD	     8	  /* bytes of a length */
#define VERDICT_MOST 4096 /* bytes */
#define BYTES_MOST   (2 * GIB)

struct coprocess {
	pid_t process; /* 0: none */
	int in, out;   /* ours; they do not block */
	struct coprocess *next;
};

struct coprocesses {
	struct coprocess_params params;
	pthread_mutex_t lock;
	pthread_cond_t freed;
	struct coprocess *idle; /* those that run come first; protected by lock, and so is */
	struct err failure;	/* of one: nobody is asked any more */
	struct coprocess all[];
};

void answer_release(struct answer *answer)
{
	buf_release(&answer->text);
	buf_release(&answer->bytes);
}

/* --- their life ------------------------------------------------------------------------------- */

int coprocesses_new(const struct coprocess_params *params, struct coprocesses **ret)
{
	struct coprocesses *all = calloc(1, sizeof(*all) + params->most * sizeof(*all->all));

	if (!all)
		return -ENOMEM;
	all->params = *params;
	if (!all->params.patience_ms)
		all->params.patience_ms = SPAWN_PATIENCE_MS;
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->freed, NULL);
	for (unsigned i = 0; i < params->most; i++) {
		all->all[i] = (struct coprocess){.in = -1, .out = -1, .next = all->idle};
		all->idle = &all->all[i];
	}
	*ret = all;
	return 0;
}

static void hang_up(int *end)
{
	scope_close(end);
	*end = -1;
}

/* One that does not end by itself is killed, with what it has started. Returns its status; -1: it
 * was killed here. */
static int end_process(struct coprocess *one, unsigned grace_ms)
{
	const struct timespec moment = {.tv_nsec = MOMENT_MS * 1000000};
	bool killed = false;
	int status = 0;

	hang_up(&one->in);
	hang_up(&one->out);
	if (!one->process)
		return 0;
	while (waitpid(one->process, &status, WNOHANG) == 0) {
		if (!killed && (grace_ms < MOMENT_MS || interrupt_pending()))
			killed = kill(-one->process, SIGKILL) == 0;
		grace_ms = (unsigned)sub_sat(grace_ms, MOMENT_MS);
		nanosleep(&moment, NULL);
	}
	one->process = 0;
	return killed ? -1 : status;
}

void coprocesses_free(struct coprocesses *all)
{
	if (!all)
		return;
	for (unsigned i = 0; i < all->params.most; i++)
		hang_up(&all->all[i].in);
	for (unsigned i = 0; i < all->params.most; i++)
		end_process(&all->all[i], GRACE_MS);
	pthread_cond_destroy(&all->freed);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* Fewer wakings: a picture fits into a pipe, mostly. Where the user has too many of these, it stays
 * as it is. */
static int open_pipe(int *ret_ours, int *ret_theirs, bool reads)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	*ret_ours = ends[reads ? 0 : 1];
	*ret_theirs = ends[reads ? 1 : 0];
	fcntl(*ret_ours, F_SETPIPE_SZ, PIPE_BYTES);
	return fcntl(*ret_ours, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int start(const struct coprocesses *all, struct coprocess *one, struct err *err)
{
	const struct coprocess_params *params = &all->params;
	SCOPE_CLOSE int input = -1, output = -1;
	int r = open_pipe(&one->in, &input, false);

	if (r == 0)
		r = open_pipe(&one->out, &output, true);
	if (r == 0)
		r = spawn_coprocess(params->argv, input, output, &one->process);
	if (r == 0)
		return 0;
	one->process = 0;
	return err_set(err, -ECHILD, "%s does not start: %s: %s%s", params->name, params->argv[0],
		       strerror(-r), params->way_out);
}

/* --- a question ------------------------------------------------------------------------------- */

struct talk {
	struct iovec parts[2], *left; /* of the question, to be written */
	int count;		      /* of those left */
	struct buf heard;
	uint64_t wanted; /* bytes of the answer, as far as it is known */
};

static void talk_release(struct talk *talk)
{
	buf_release(&talk->heard);
}

static uint64_t length_at(const struct talk *talk, uint64_t at)
{
	return le_get64((const uint8_t *)talk->heard.data + at);
}

/* 0; 1: it has ended; -EPROTO, if no answer is so long; or -ENOMEM. */
static int hear(const struct coprocess *one, struct talk *talk)
{
	size_t room = (size_t)min(talk->wanted - talk->heard.len, (uint64_t)PIPE_BYTES);
	int r = buf_reserve(&talk->heard, room);
	uint64_t verdict, bytes;
	ssize_t n;

	if (r < 0)
		return r;
	n = read(one->out, talk->heard.data + talk->heard.len, room);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : 1;
	if (n == 0)
		return 1;
	talk->heard.len += (size_t)n;
	if (talk->heard.len < talk->wanted)
		return 0;
	/* The lengths of the verdict and of the bytes say how much more there will be. */
	verdict = length_at(talk, 0);
	if (verdict > VERDICT_MOST)
		return -EPROTO;
	if (talk->wanted == HEAD) {
		talk->wanted = 2 * HEAD + verdict;
	} else if (talk->wanted == 2 * HEAD + verdict) {
		bytes = length_at(talk, HEAD + verdict);
		talk->wanted += bytes;
		return bytes > BYTES_MOST ? -EPROTO : 0;
	}
	return 0;
}

/* It may answer before it has read all, so both go on at the same time. */
static int converse(const struct coprocesses *all, struct coprocess *one, struct talk *talk)
{
	unsigned silent = 0;
	int r = 0;

	while (r == 0 && talk->heard.len < talk->wanted) {
		bool asking = talk->count, moved = false;
		struct pollfd ends[] = {{.fd = one->out, .events = POLLIN},
					{.fd = asking ? one->in : -1, .events = POLLOUT}};

		if (poll(ends, 2, PERIOD_MS) == 0)
			silent += PERIOD_MS;
		if (interrupt_pending())
			return -EINTR;
		if (ends[1].revents) {
			ssize_t n = writev(one->in, talk->left, talk->count);

			/* Where nobody reads, the answer says why: it ends. */
			if (n < 0 && errno != EAGAIN && errno != EINTR)
				talk->count = 0;
			if (n > 0)
				io_skip(&talk->left, &talk->count, (size_t)n);
			moved = n >= 0;
		}
		if (ends[0].revents) {
			r = hear(one, talk);
			moved = true;
		}
		if (moved)
			silent = 0;
		else if (silent >= all->params.patience_ms)
			return -ETIMEDOUT;
	}
	return r;
}

/* Takes the answer apart: 0, -EPROTO or -ENOMEM. */
static int take_answer(struct talk *talk, struct answer *ret)
{
	uint64_t verdict = length_at(talk, 0), before = 2 * HEAD + verdict;
	char *blank;

	if (buf_add(&ret->text, talk->heard.data + HEAD, verdict) < 0 ||
	    buf_addf(&ret->text, "%c", 0) < 0)
		return -ENOMEM;
	for (const char *at = ret->text.data; at < ret->text.data + verdict; at++)
		if ((unsigned char)*at < ' ')
			return -EPROTO;
	blank = strchrnul(ret->text.data, ' ');
	ret->word = ret->text.data;
	ret->why = *blank ? blank + 1 : blank;
	*blank = '\0';
	ret->bytes = talk->heard;
	talk->heard = BUF_INIT;
	ret->bytes.len -= before;
	memmove(ret->bytes.data, ret->bytes.data + before, ret->bytes.len);
	return *ret->word ? 0 : -EPROTO;
}

/* What went wrong, as converse() or take_answer() has it. */
static int explain(const struct coprocesses *all, struct coprocess *one, int r, const char *path,
		   struct err *err)
{
	const char *name = all->params.name;
	int status;

	if (r == -EPROTO)
		return err_set(err, -ECHILD,
			       "%s gave an answer that foldpack-images(7) does not allow while "
			       "processing %s",
			       name, path);
	if (r == -ETIMEDOUT)
		return err_set(err, -ECHILD,
			       "%s has not answered for %u seconds while processing %s", name,
			       all->params.patience_ms / 1000, path);
	if (r != 1)
		return r;
	status = end_process(one, GRACE_MS);
	if (status < 0)
		return err_set(err, -ECHILD, "%s closed its output while processing %s", name,
			       path);
	if (WIFEXITED(status))
		return err_set(err, -ECHILD, "%s ended with status %d while processing %s", name,
			       WEXITSTATUS(status), path);
	if (WTERMSIG(status) == SIGKILL)
		return err_set(err, -ECHILD, "%s was killed, perhaps for lack of memory, at %s",
			       name, path);
	if (spawn_was_ended(status))
		return err_set(err, -ECHILD, "%s was ended by a signal while processing %s", name,
			       path);
	return err_set(err, -EBADMSG, "%s crashes on it (%s)", name, strsignal(WTERMSIG(status)));
}

static int ask(const struct coprocesses *all, struct coprocess *one, const char *path,
	       const char *question, const void *data, size_t len, struct answer *ret,
	       struct err *err)
{
	SCOPE(talk_release) struct talk talk = {.wanted = HEAD};
	SCOPE(buf_release) struct buf head = BUF_INIT;
	uint8_t sizes[2][HEAD];
	int r = one->process ? 0 : start(all, one, err);

	if (r < 0)
		return r;
	le_put64(sizes[0], strlen(question));
	le_put64(sizes[1], len);
	buf_add(&head, sizes[0], HEAD);
	buf_adds(&head, question);
	if (buf_add(&head, sizes[1], HEAD) < 0)
		return -ENOMEM;
	talk.parts[0] = (struct iovec){head.data, head.len};
	talk.parts[1] = (struct iovec){(void *)data, len};
	talk.left = talk.parts;
	talk.count = 2;
	r = converse(all, one, &talk);
	if (r == 0)
		r = take_answer(&talk, ret);
	if (r != 0)
		return explain(all, one, r, path, err);
	if (strcmp(ret->word, "failed") == 0)
		return err_set(err, -ECHILD, "%s", *ret->why ? ret->why : "the filter has failed");
	return 0;
}

/* --- who is asked ----------------------------------------------------------------------------- */

int coprocesses_ask(struct coprocesses *all, const char *path, const char *question,
		    const void *data, size_t len, struct answer *ret, struct err *err)
{
	SCOPE(answer_release) struct answer answer = {0};
	struct coprocess *one;
	int r;

	pthread_mutex_lock(&all->lock);
	while (!all->idle && !all->failure.text[0])
		pthread_cond_wait(&all->freed, &all->lock);
	one = all->idle;
	r = all->failure.text[0] ? err_set(err, -ECHILD, "%s", all->failure.text) : 0;
	if (r == 0)
		all->idle = one->next;
	pthread_mutex_unlock(&all->lock);
	if (r < 0)
		return r;
	r = ask(all, one, path, question, data, len, &answer, err);
	if (r < 0)
		end_process(one, 0);
	if (r == 0) {
		*ret = answer;
		answer = (struct answer){0};
	}

	SCOPE_LOCK(&all->lock);
	one->next = all->idle;
	all->idle = one;
	if (r == -ECHILD && !all->failure.text[0]) {
		all->failure = *err;
		pthread_cond_broadcast(&all->freed);
	}
	pthread_cond_signal(&all->freed);
	return r;
}
