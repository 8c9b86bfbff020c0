/* Goes to the background. The parent exits when the mount is usable.
 *
 *	daemon_fork    parent: waits for a status and exits with it; child: goes on
 *	daemon_detach  child: gets no more signals from the terminal, and closes descriptors that
 *	               it inherited, except those that are closed on exec()
 *	daemon_ready   child: closes the terminal, and sends status 0
 *
 * It detaches once the mount is made: at an automount, the kernel knows by the process group who
 * mounts, and has all others wait. What is forked next inherits nothing.
 *
 * If the child ends without a status, the parent exits with EXIT_FAILED. */
#ifndef FS_DAEMON_H
#define FS_DAEMON_H

struct daemon {
	int parent; /* a socket; -1: foreground, nobody waits */
};

#define DAEMON_FOREGROUND ((struct daemon){.parent = -1})

/* Returns in the child only: 0, or -errno if it could not fork. */
int daemon_fork(struct daemon *daemon);
void daemon_detach(const struct daemon *daemon);
void daemon_ready(struct daemon *daemon);
/* Sends a status, unless one has been sent. */
void daemon_tell(struct daemon *daemon, int status);

#endif
