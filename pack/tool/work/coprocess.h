/* Programs that stay, and answer one question after another: processes of one command, each of
 * them started when all others are busy.
 *
 *	question	a text, and bytes
 *	answer		a verdict, which is a word and perhaps a blank and a sentence; and bytes
 *
 * Each of the two comes behind its length, 8 bytes with the lowest first. A program reads
 * questions from standard input and writes answers to standard output, and ends where there are no
 * more questions. Its standard error is foldpack's. Thread-safe, silent. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct coprocesses;

struct coprocess_params {
	const char *const *argv; /* must stay, and so must */
	const char *name;	 /* the subject of messages, */
	const char *way_out;	 /* and what is put behind them where it does not start */
	unsigned most;		 /* processes */
	unsigned patience_ms;	 /* for one that neither reads nor writes; 0: ten minutes */
};

/* Of the verdict, in `text`. */
struct answer {
	const char *word, *why; /* "" if there is no sentence */
	struct buf text, bytes;
};

void answer_release(struct answer *answer);

/* Starts none yet. 0 or -ENOMEM. */
int coprocesses_new(const struct coprocess_params *params, struct coprocesses **ret);
/* Lets them end. NULL is fine. */
void coprocesses_free(struct coprocesses *all);

/* Asks one of them, or waits until one is free. `path` is what messages name. *ret is for
 * answer_release(), and err, not NULL, says more.
 *
 * 0; -ECHILD: it does not start, ends, is silent, says what is no answer, or that it "failed": so
 * it is with all questions that follow; -EBADMSG: it crashed, and the next question goes to a new
 * one; -EINTR (interrupt.h); -ENOMEM. */
int coprocesses_ask(struct coprocesses *all, const char *path, const char *question,
		    const void *data, size_t len, struct answer *ret, struct err *err);
