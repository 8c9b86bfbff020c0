/* callers: threads and processes that make system calls as they are told, one after the other, so
 * that several of these programs can do the same in lock step. A line on standard input is
 *
 *	CALLER CALL[=FD] ARGUMENT...
 *
 * and is answered by a line: the result, the errno, and what the buffers hold then. CALLER 0 is
 * there from the beginning. CALL is the number of a system call, or one of the functions below;
 * with =FD its result is a descriptor, which gets that number. An argument is a number; s and a
 * text, or b and bytes, in hexadecimal; or o and the size of a buffer. What is in memory ends with
 * a page, behind which there is none.
 *
 * Callers are told, and answer, in memory that they share, so that they may close all that they
 * have. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLERS	  16
#define ARGUMENTS 6
#define ROOM	  (1 << 17) /* bytes of an argument in memory */
#define LINE	  (4 * ROOM)
#define PAGE	  4096
#define GONE	  60   /* seconds: who has not answered then never will */
#define SOCKET	  60   /* what is sent comes out at the next number */
#define FILLED	  0xee /* buffers before the call */

/* Where a caller is told, and answers. */
struct desk {
	bool used; /* somebody is there */
	sem_t told, done;
	char line[LINE];
};

struct call {
	int keep; /* the number for the descriptor; -1: it gives none */
	long args[ARGUMENTS];
	size_t lens[ARGUMENTS]; /* of what is in memory; else 0 */
	bool given[ARGUMENTS];	/* to be told */
	struct desk *desk;
	uint8_t *memory;
};

static struct desk *desks;
static __thread uint8_t *own_memory;

static void *pages(size_t len, int kind)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

/* --- functions ------------------------------------------------------------------------------- */

static void *serve(void *desk);

static long begin_process(const struct call *call)
{
	pid_t pid;

	desks[call->args[0]].used = true;
	pid = fork();

	if (pid == 0)
		serve(&desks[call->args[0]]);
	return pid < 0 ? -1 : 0;
}

static long begin_thread(const struct call *call)
{
	pthread_t thread;

	desks[call->args[0]].used = true;
	errno = pthread_create(&thread, NULL, serve, &desks[call->args[0]]);
	return errno ? -1 : 0;
}

/* Other threads of its process stay. */
static long end_thread(const struct call *call)
{
	call->desk->used = false;
	snprintf(call->desk->line, LINE, "0 0");
	sem_post(&call->desk->done);
	return syscall(SYS_exit, 0); /* pthread_exit(3) opens a library */
}

union letter {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

static struct msghdr message(union letter *letter, struct iovec *text)
{
	return (struct msghdr){.msg_iov = text,
			       .msg_iovlen = 1,
			       .msg_control = letter,
			       .msg_controllen = sizeof(*letter)};
}

static long send_fd(const struct call *call)
{
	char byte = 0;
	int fd = (int)call->args[0];
	struct iovec text = {&byte, 1};
	union letter letter = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
					  .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS}};
	struct msghdr sent = message(&letter, &text);

	memcpy(CMSG_DATA(&letter.header), &fd, sizeof(fd));
	return sendmsg(SOCKET, &sent, MSG_DONTWAIT);
}

static long receive_fd(const struct call *call)
{
	char byte;
	int fd = -1;
	struct iovec text = {&byte, 1};
	union letter letter;
	struct msghdr received = message(&letter, &text);
	ssize_t r = recvmsg(SOCKET + 1, &received, MSG_DONTWAIT);

	(void)call;
	if (r < 0)
		return -1;
	memcpy(&fd, CMSG_DATA(&letter.header), sizeof(fd));
	return fd;
}

/* A descriptor, a length, its protection, kind and offset. What is mapped and within the file goes
 * to a buffer. */
static long map(const struct call *call)
{
	size_t len = (size_t)call->args[1];
	void *at = mmap(NULL, len, (int)call->args[2], (int)call->args[3], (int)call->args[0],
			call->args[4]);
	struct iovec from = {at, len}, to = {(void *)call->args[5], call->lens[5]};
	long r;

	if (at == MAP_FAILED)
		return -1;
	r = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	munmap(at, len);
	return r;
}

static void handle(int number)
{
	(void)number;
}

/* A number and flags. Tells the flags from before. */
static long set_handler(const struct call *call)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = (int)call->args[1]}, old;

	if (sigaction((int)call->args[0], &action, &old) < 0)
		return -1;
	return (unsigned)old.sa_flags;
}

/* A descriptor, and a buffer for all that is left of its listing. */
static long list(const struct call *call)
{
	long used = 0, r;

	do {
		r = syscall(SYS_getdents64, call->args[0], call->args[1] + used,
			    (long)call->lens[1] - used);
		used += r;
	} while (r > 0);
	return r < 0 ? r : used;
}

/* Every so many microseconds, for a handler that ends what waits. */
static long set_timer(const struct call *call)
{
	const struct sigaction action = {.sa_handler = handle};
	const struct timeval often = {0, call->args[0]};
	const struct itimerval timer = {often, often};

	sigaction(SIGALRM, &action, NULL);
	return setitimer(ITIMER_REAL, &timer, NULL);
}

/* --- those of the C library ------------------------------------------------------------------- */

#define NUMBER(i) ((int)call->args[i])
#define TEXT(i)	  ((const char *)call->args[i])
#define STAT(i)	  ((struct stat *)call->args[i])

static long open_by_libc(const struct call *call)
{
	return open(TEXT(0), NUMBER(1), NUMBER(2));
}

static long openat_by_libc(const struct call *call)
{
	return openat(NUMBER(0), TEXT(1), NUMBER(2), NUMBER(3));
}

static long stat_by_libc(const struct call *call)
{
	return stat(TEXT(0), STAT(1));
}

static long lstat_by_libc(const struct call *call)
{
	return lstat(TEXT(0), STAT(1));
}

static long fstat_by_libc(const struct call *call)
{
	return fstat(NUMBER(0), STAT(1));
}

static long fstatat_by_libc(const struct call *call)
{
	return fstatat(NUMBER(0), TEXT(1), STAT(2), NUMBER(3));
}

static const struct {
	const char *name;
	long (*run)(const struct call *call);
} functions[] = {
	{"fork", begin_process},
	{"thread", begin_thread},
	{"end", end_thread},
	{"list", list},
	{"send", send_fd},
	{"receive", receive_fd},
	{"map", map},
	{"handler", set_handler},
	{"timer", set_timer},
	{"libc.open", open_by_libc},
	{"libc.openat", openat_by_libc},
	{"libc.stat", stat_by_libc},
	{"libc.lstat", lstat_by_libc},
	{"libc.fstat", fstat_by_libc},
	{"libc.fstatat", fstatat_by_libc},
};

/* --- lines ------------------------------------------------------------------------------------ */

static long run(const char *name, const struct call *call)
{
	const long *a = call->args;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (strcmp(functions[i].name, name) == 0)
			return functions[i].run(call);
	return syscall(strtol(name, NULL, 10), a[0], a[1], a[2], a[3], a[4], a[5]);
}

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void take_argument(struct call *call, unsigned i, const char *word)
{
	uint8_t *end = call->memory + i * (ROOM + PAGE) + ROOM;
	size_t len = *word == 'o' ? strtoul(word + 1, NULL, 10) : strlen(word + 1) / 2;

	call->lens[i] = 0;
	call->given[i] = *word == 'o';
	if (!strchr("sbo", *word)) {
		call->args[i] = strtol(word, NULL, 0);
		return;
	}
	len += *word == 's';
	call->lens[i] = len;
	call->args[i] = (long)memset(end - len, *word == 'o' ? FILLED : 0, len);
	if (*word != 'o')
		for (size_t k = 0; word[1 + 2 * k]; k++)
			end[k - len] =
				(uint8_t)(digit(word[1 + 2 * k]) << 4 | digit(word[2 + 2 * k]));
}

static void keep(int fd, int number)
{
	int flags = fcntl(fd, F_GETFD);

	if (fd == number)
		return;
	dup3(fd, number, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
	close(fd);
}

static char *add_hex(char *at, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	*at++ = ' ';
	for (size_t i = 0; i < len; i++) {
		*at++ = digits[bytes[i] >> 4];
		*at++ = digits[bytes[i] & 15];
	}
	return at;
}

static void answer(struct desk *desk, struct call *call)
{
	char *save, *name = strtok_r(desk->line, " ", &save), *equal = strchr(name, '=');
	char *at = desk->line;
	long r;

	call->keep = equal ? (int)strtol(equal + 1, NULL, 10) : -1;
	memset(call->args, 0, sizeof(call->args));
	memset(call->given, 0, sizeof(call->given));
	for (unsigned i = 0; i < ARGUMENTS; i++) {
		const char *word = strtok_r(NULL, " ", &save);

		if (!word)
			break;
		take_argument(call, i, word);
	}
	if (equal)
		*equal = '\0';
	errno = 0;
	r = run(name, call);
	at += snprintf(at, LINE, "%ld %d", r, r < 0 ? errno : 0);
	for (unsigned i = 0; i < ARGUMENTS; i++)
		if (call->given[i])
			at = add_hex(at, (const uint8_t *)call->args[i], call->lens[i]);
	*at = '\0';
	if (r >= 0 && call->keep >= 0)
		keep((int)r, call->keep);
}

/* --- callers ---------------------------------------------------------------------------------- */

static void *serve(void *own)
{
	struct desk *desk = own;
	struct call call = {.desk = desk};

	if (!own_memory)
		own_memory = pages(ARGUMENTS * (ROOM + PAGE), MAP_PRIVATE);
	for (unsigned i = 0; i < ARGUMENTS; i++)
		mprotect(own_memory + i * (ROOM + PAGE) + ROOM, PAGE, PROT_NONE);
	call.memory = own_memory;
	for (;;) {
		while (sem_wait(&desk->told) < 0)
			;
		answer(desk, &call);
		sem_post(&desk->done);
	}
	return NULL;
}

static pid_t begin_first(void)
{
	int ends[2];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	setpgid(0, 0);
	for (int i = 0; i < 3; i++) {
		close(i);
		(void)!open("/dev/null", O_RDWR);
	}
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0)
		abort();
	for (int i = 0; i < 2; i++) {
		dup2(ends[i], SOCKET + i);
		close(ends[i]);
	}
	serve(&desks[0]);
	return 0;
}

/* To the caller, and its answer. */
static void tell(struct desk *desk, const char *line)
{
	struct timespec end;
	bool gone = !desk->used;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += GONE;
	if (!gone) {
		snprintf(desk->line, LINE, "%s", line);
		sem_post(&desk->told);
		gone = sem_timedwait(&desk->done, &end) < 0;
	}
	puts(gone ? "gone" : desk->line);
	fflush(stdout);
}

int main(void)
{
	char *line = malloc(LINE);
	pid_t first;

	desks = pages(CALLERS * sizeof(*desks), MAP_SHARED);
	for (unsigned i = 0; i < CALLERS; i++) {
		sem_init(&desks[i].told, 1, 0);
		sem_init(&desks[i].done, 1, 0);
	}
	desks[0].used = true;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	first = begin_first();
	setpgid(first, first);
	while (line && fgets(line, LINE, stdin)) {
		char *rest;
		unsigned long caller = strtoul(line, &rest, 10);

		line[strcspn(line, "\n")] = '\0';
		tell(&desks[caller % CALLERS], rest + 1);
	}
	kill(-first, SIGKILL);
	while (wait(NULL) > 0)
		;
	free(line);
	return 0;
}
