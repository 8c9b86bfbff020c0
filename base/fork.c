#include "base/fork.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

pid_t fork_with_socket(int type, int *ret_socket)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		pid = -errno;
	/* One end is the parent's, the other the child's. */
	close(ends[pid != 0]);
	if (pid < 0)
		close(ends[0]);
	else
		*ret_socket = ends[pid == 0];
	return pid;
}
