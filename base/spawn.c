#include "base/spawn.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int spawn(const char *const argv[], const posix_spawn_file_actions_t *actions, short flags,
		 pid_t *ret)
{
	posix_spawnattr_t attributes;
	sigset_t none, ignored;
	int r;

	sigemptyset(&none);
	sigemptyset(&ignored);
	sigaddset(&ignored, SIGPIPE);
	sigaddset(&ignored, SIGXFSZ);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes,
				 flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &ignored);
	r = posix_spawnp(ret, argv[0], actions, &attributes, (char *const *)argv, environ);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

int spawn_program(const char *const argv[], const int *files, size_t count, short flags, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	for (size_t i = 0; i < count; i++)
		posix_spawn_file_actions_adddup2(&actions, files[i], STDOUT_FILENO + (int)i);
	r = spawn(argv, &actions, flags, ret);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

int spawn_coprocess(const char *const argv[], int input, int output, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	r = spawn(argv, &actions, POSIX_SPAWN_SETPGROUP, ret);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

int spawn_kill(pid_t leader)
{
	int status = 0;

	kill(-leader, SIGKILL);
	while (waitpid(leader, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int spawn_await(pid_t leader)
{
	siginfo_t ended;

	/* Until it is waited for, no other group has its number. */
	while (waitid(P_PID, (id_t)leader, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	return spawn_kill(leader);
}

bool spawn_was_ended(int status)
{
	int signo = WTERMSIG(status); /* 0: it ended by itself */

	return signo == SIGINT || signo == SIGTERM || signo == SIGHUP;
}
