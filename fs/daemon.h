/* Going to the background, with word to the terminal only when the mount is usable.
 *
 *	daemon_fork   parent: waits for that word and exits with it; child: goes on
 *	daemon_ready  child: lets go of the terminal and of all that was inherited, but for
 *	              what is closed on exec(), and sends the word
 *
 * A child that ends without a word makes the parent exit with EXIT_FAILED. */
#ifndef FS_DAEMON_H
#define FS_DAEMON_H

struct daemon {
	int pipe; /* to the parent; -1: foreground, nobody waits */
};

#define DAEMON_FOREGROUND ((struct daemon){.pipe = -1})

/* Returns in the child only: 0, or -errno where it could not fork. */
int daemon_fork(struct daemon *daemon);
void daemon_ready(struct daemon *daemon);
/* The word of failure: the parent exits with this status. */
void daemon_failed(struct daemon *daemon, int status);

#endif
