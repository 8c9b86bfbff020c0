/* What the daemon gives up once its mount is made, and with it all programs that it runs.
 *
 *	terminal      no controlling terminal: nothing is read from it, or typed into it
 *	no_new_privs  no program gains anything by set-user-ID bits
 *	capabilities  all but, for root, that to read files of others for packs on other machines
 *	              (opened again, credentials), and that to write them for the disk cache
 *	Landlock      writing, making and removing files, but in the disk cache; tracing others;
 *	              mounting. From Linux 6.2 on
 *	seccomp       system calls that no daemon needs; running programs; the network; signals to
 *	              others; modes, owners, times and attributes of files; making and removing
 *	              files, unless there is a disk cache
 *
 * Seccomp has a list of what is refused. A list of what is allowed would break with releases of
 * libc and libcurl, which take up new calls. Of sockets and ioctl(2), it has a list of what is
 * allowed.
 *
 * Where foldfs answers the calls of a job (fs/nofuse/nofuse.h), it reads and writes the memory of
 * the job's processes, and ends them: it keeps the capabilities that the job has, without which it
 * may not do that, and there is no Landlock, which forbids it. It takes connections at the socket
 * that it has (fs/nofuse/stats_socket.h).
 *
 * What the daemon may no longer do, a helper does that was forked before (fs/life/helper.h). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct sandbox {
	bool network;  /* packs are read from servers; names may be asked of local services */
	bool programs; /* credentials come from programs; these write where they like: no Landlock
			*/
	bool opens;    /* files are opened later: packs on other machines again, credentials */
	int folder;    /* of the disk cache; -1: none */
	pid_t command; /* that gets signals from this process; 0: none */
	bool job;      /* the calls of a job are answered */
};

/* Parts that the kernel may lack. */
enum { SANDBOX_LANDLOCK = 1, SANDBOX_SECCOMP = 2 };

/* What of them sandbox_enter() may hold: the kernel has it, but may refuse it all the same. */
unsigned sandbox_available(void);

/* Holds for this thread and those that it starts from now on, and sets the umask to what the disk
 * cache needs. The leader of a session keeps its terminal. Returns which of these parts hold. */
unsigned sandbox_enter(const struct sandbox *sandbox);
