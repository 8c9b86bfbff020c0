/* Who is at the other end of a socket, and who may be anybody. */
#include "base/peer.h"
#include "base/scope.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define NOBODY 65534

TEST(the_other_end_is_this_process)
{
	int pair[2];
	struct ucred peer;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(peer_find(pair[0], &peer), 0);
	assert_int_equal(peer.pid, getpid());
	assert_true(peer_is(&peer, geteuid()) && peer_is_trusted(&peer));
	assert_false(peer_is(&peer, geteuid() + 1));
	close(pair[0]);
	close(pair[1]);
	assert_int_equal(peer_find(pair[0], &peer), -EBADF);
}

/* 0: not; 1: yes; 2: there are no such namespaces here. */
static int nobody_is_believed_in_a_namespace(void)
{
	const struct ucred nobody = {.uid = NOBODY};
	pid_t pid = fork();
	int how;

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) < 0 ? 2 : peer_is(&nobody, NOBODY));
	assert_int_equal(waitpid(pid, &how, 0), pid);
	return WEXITSTATUS(how);
}

TEST(where_some_users_have_no_number_nobody_may_be_any_of_them)
{
	if (nobody_is_believed_in_a_namespace() == 2)
		skip();
	assert_int_equal(nobody_is_believed_in_a_namespace(), 0);
}

TEST(a_socket_that_is_not_made_says_why)
{
	struct rlimit before, none;
	int fd, why;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fd = peer_socket(0);
	why = errno;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(fd, -1);
	assert_int_equal(why, EMFILE);
}
