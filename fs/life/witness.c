#include "fs/life/witness.h"
#include "base/clock.h"
#include "base/fork.h"
#include "base/io.h"
#include "base/scope.h"
#include "fs/life/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOTES  (NSIG * sizeof(_Atomic uint64_t))
#define MOMENT (CLOCK_SECOND / 10)
#define LATE   CLOCK_SECOND /* at most: others were taken before, each of which takes a moment */
#define WORDS  48 /* the field of /proc/PID/stat that says where the command line begins */

/* Where the command line of this process lies. Returns its length; 0: nobody knows. */
static size_t find_words(char **ret)
{
	SCOPE_CLOSE int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	char text[1024] = "", *at;
	unsigned long begin, end;

	if (file < 0 || io_read(file, text, sizeof(text) - 1) <= 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < WORDS; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%lu %lu", &begin, &end) != 2 || end < begin)
		return 0;
	*ret = (char *)begin; /* NOLINT: it is of this process */
	return end - begin;
}

/* Who chooses by names and words, as pkill(1) does, is to choose this process as he does COMMAND:
 * it has COMMAND's words, which stand behind dashes, and none of foldfs. */
static bool change_words(void)
{
	static const char name[] = "signals:", dashes[] = "\0--";
	char *words = NULL, *from;
	size_t size = find_words(&words), rest;

	from = memmem(words, size, dashes, sizeof(dashes));
	if (!from || prctl(PR_SET_NAME, "signals") < 0)
		return false;
	from += sizeof(dashes);
	rest = size - (size_t)(from - words);
	if (size - rest < sizeof(name))
		return false;
	memcpy(words, name, sizeof(name));
	memmove(words + sizeof(name), from, rest);
	memset(words + sizeof(name) + rest, 0, size - sizeof(name) - rest);
	return true;
}

/* What a terminal sends to all is told by its code. */
static _Noreturn void note(int socket, const sigset_t *signals, _Atomic uint64_t *noted)
{
	const struct sandbox needs = {.folder = -1};
	struct pollfd fds[2] = {{.events = POLLIN}, {.fd = STDIN_FILENO}};
	struct signalfd_siginfo info;

	prctl(PR_SET_DUMPABLE, 0); /* its memory is a copy */
	if (!change_words() || dup2(socket, STDIN_FILENO) < 0)
		_exit(EXIT_FAILURE);
	io_close_from(STDIN_FILENO + 1);
	fds[0].fd = signalfd(-1, signals, SFD_NONBLOCK);
	sandbox_enter(&needs);
	while (poll(fds, 2, -1) < 0 || !fds[1].revents)
		if (read(fds[0].fd, &info, sizeof(info)) == sizeof(info) &&
		    info.ssi_code != SI_KERNEL)
			atomic_store(&noted[info.ssi_signo], clock_ns());
	_exit(EXIT_SUCCESS);
}

int witness_start(const sigset_t *signals, struct witness *ret)
{
	_Atomic uint64_t *noted =
		mmap(NULL, NOTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int socket;
	pid_t pid;

	if (noted == MAP_FAILED)
		return -errno;
	pid = fork_with_socket(SOCK_STREAM, &socket);
	if (pid == 0)
		note(socket, signals, noted);
	if (pid < 0)
		munmap(noted, NOTES);
	else
		*ret = (struct witness){.pid = pid, .socket = socket, .noted = noted};
	return pid < 0 ? pid : 0;
}

bool witness_saw(const struct witness *witness, int signo)
{
	const struct timespec moment = {.tv_nsec = MOMENT}, none = {0};
	uint64_t since = clock_ns() - LATE;
	sigset_t same;

	if (!witness->pid)
		return false;
	sigemptyset(&same);
	sigaddset(&same, signo);
	nanosleep(&moment, NULL);
	while (sigtimedwait(&same, NULL, &none) > 0)
		;
	return atomic_exchange(&witness->noted[signo], 0) > since;
}

void witness_release(struct witness *witness)
{
	if (witness->socket < 0)
		return;
	close(witness->socket);
	if (witness->pid)
		waitpid(witness->pid, NULL, 0);
	munmap(witness->noted, NOTES);
	*witness = WITNESS_NONE;
}
