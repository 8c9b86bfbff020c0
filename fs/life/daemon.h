/* Goes to the background. The parent exits when the mount is usable.
 *
 *	daemon_fork    parent: waits for a status and exits with it; child: goes on
 *	daemon_detach  child: gets no more signals from the terminal, and closes descriptors that
 *	               it inherited, except those that are closed on exec()
 *	daemon_ready   child: closes the terminal, and sends status 0
 *
 * One that stays in the foreground does not serve as the leader of a session, who cannot leave the
 * terminal without taking it from all others:
 *
 *	daemon_stay    parent, a leader: keeps the terminal, passes its signals on, and ends as the
 *	               child does; child, or one who leads no session: goes on
 *	daemon_hush    leaves stdin, stdout, and a terminal as stderr
 *
 * It detaches once the mount is made: at an automount, the kernel knows by the process group who
 * mounts, and has all others wait. What is forked next inherits nothing.
 *
 * If the child ends without a status, the parent exits with EXIT_FAILED. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct daemon {
	int parent; /* a socket; -1: foreground, nobody waits */
};

#define DAEMON_FOREGROUND ((struct daemon){.parent = -1})

/* Returns in the child only: 0, or -errno if it could not fork. */
int daemon_fork(struct daemon *daemon);
/* `signals` are blocked, and those that the child awaits. Returns as daemon_fork(). */
int daemon_stay(const sigset_t *signals);
/* Whether the terminal sent a signal to all of this process's group. To the leader of a session
 * alone it sends SIGHUP; and what else is the kernel's, as an alarm, comes to one process. */
bool daemon_is_from_terminal(const siginfo_t *info);
/* Passes signals on to a child until it ends. They are blocked, SIGCHLD among them. Returns how it
 * ended, as wait(2) says it. */
int daemon_lead(pid_t child, const sigset_t *signals);
/* `log_fd`: what takes the place of stderr; -1: stderr stays as it is. */
void daemon_hush(int log_fd);
void daemon_detach(const struct daemon *daemon);
void daemon_ready(struct daemon *daemon);
/* Sends a status, unless one has been sent. */
void daemon_tell(struct daemon *daemon, int status);
