/* A folder without a mount: COMMAND, and all processes that it starts, see a pack in it, because
 * this process answers their system calls (calls.h). For where there is no /dev/fuse.
 *
 *	the process that was started (guard)     waits, passes signals on, tidies up
 *	  its child (server)                     answers
 *	    COMMAND and its children (the job)   inherit the filter
 *
 * The job ends with each of the two: were nobody there to answer, all its calls would fail. If the
 * server dies, the guard gets its children; if the guard dies, the server ends them.
 *
 *	nofuse_new -> nofuse_guard -> command_fork(.., nofuse_join) -> nofuse_attach
 *	           -> nofuse_serve (threads) -> (COMMAND ends) -> nofuse_end */
#pragma once

#include "fs/mount.h"
#include <signal.h>

struct nofuse;

/* Looks whether it can be done here, and makes the folders. 0 or -errno with the way out. */
int nofuse_new(struct mount *mount, struct nofuse **ret, struct err *err);
void nofuse_free(struct nofuse *nofuse);	      /* NULL is fine */
const char *nofuse_path(const struct nofuse *nofuse); /* absolute */

/* Goes on as the server, in a new process. The guard never returns: it exits with the status of the
 * server. `signals` are blocked, and those that are passed on. 0 or -errno. */
int nofuse_guard(struct nofuse *nofuse, const sigset_t *signals);
/* In the process that becomes COMMAND: a command_fn, of a struct nofuse. */
void nofuse_join(int gate, void *context);
/* Takes what nofuse_join() sent. As nofuse_new(). */
int nofuse_attach(struct nofuse *nofuse, int gate, struct err *err);
/* Starts what answers. As nofuse_new(). */
int nofuse_serve(struct nofuse *nofuse, struct err *err);

/* The guard sends this signal as it dies, too. */
#define NOFUSE_ALONE SIGUSR1
/* Whether the guard has died: the job is to end. NULL: no. */
bool nofuse_is_alone(const struct nofuse *nofuse);

/* Ends what COMMAND has left behind, after a while, and what answers. */
void nofuse_end(struct nofuse *nofuse, const sigset_t *signals);
/* Whether it did. If not, a thread is where storage hangs: all that it uses stays until exit. NULL:
 * yes. */
bool nofuse_has_ended(const struct nofuse *nofuse);
