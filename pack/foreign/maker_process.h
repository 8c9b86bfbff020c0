/* The process of an index maker (maker.h): a python3 that runs index.py with one socket, and may
 * change no file and reach nobody. Each is used by one thread at a time. */
#pragma once

#include "pack/foreign/message.h"
#include "pack/foreign/settings.h"

struct maker_process;

/* One that rests, or a new one, for which it may wait until another is done; `makers`: NULL: a new
 * one. Returns 0; -EOPNOTSUPP: index.py is not installed; or -errno. */
int maker_process_take(struct makers *makers, bool remote, struct maker_process **ret,
		       struct err *err);
/* Gives it back: it rests if it `waits` for the next file, or ends. */
void maker_process_give(struct makers *makers, struct maker_process *process, bool waits);

/* What it says next, which lives until the call after it. Returns 0; -EPROTO; -EOPNOTSUPP: there is
 * no python3; -ECANCELED: it has ended; or -errno. */
int maker_process_hear(struct maker_process *process, struct message *ret, struct err *err);
/* Answers. What it does not take, as it has ended, the next message says. */
int maker_process_answer(struct maker_process *process, const void *bytes, size_t len);
