/* slow: what calls that wait return, one a line, when a signal comes whose handler was set without
 * SA_RESTART, and with it; and what sigaction(2) says of handlers. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* all ways are told */

static int ends[2], pair[2], inside;
static volatile sig_atomic_t ticks;
static siginfo_t told;
static sigjmp_buf back;

static void tick(int number)
{
	(void)number;
	ticks++;
}

/* What waits goes on, the third time. */
static void tick_and_write(int number)
{
	if (++ticks == 3)
		(void)!write(ends[1], "x", 1);
	(void)number;
}

static void tell(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	told = *info;
}

static void jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void set(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGUSR2);
	if (sigaction(number, &action, NULL) < 0)
		perror("sigaction");
}

static void start(void)
{
	const struct itimerval often = {{0, 20000}, {0, 20000}};

	ticks = 0;
	setitimer(ITIMER_REAL, &often, NULL);
}

static void end(const char *name, long result)
{
	int error = errno;

	setitimer(ITIMER_REAL, &(const struct itimerval){0}, NULL);
	printf("%s: %ld, %s\n", name, result, result < 0 ? strerror(error) : "done");
	fflush(stdout);
}

#define WAIT(call) (start(), end(#call, call))

static void *nothing(void *arg)
{
	return arg;
}

static void wait_for_everything(char *place)
{
	char byte[4096] = "", path[4096];
	const struct iovec bytes = {byte, sizeof(byte)};
	struct msghdr message = {.msg_iov = (struct iovec *)&bytes, .msg_iovlen = 1};
	struct mmsghdr messages = {.msg_hdr = message};
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0foldfs-test"};
	struct mq_attr size = {.mq_maxmsg = 1, .mq_msgsize = 1};
	struct flock lock = {.l_type = F_WRLCK};
	struct pollfd polled;
	struct epoll_event event;
	int listening = socket(AF_UNIX, SOCK_STREAM, 0), other, queue, status;
	int watches = inotify_init(), polls = epoll_create1(0), terminal = posix_openpt(O_RDWR);
	sigset_t none;
	sem_t semaphore;
	pid_t child, child_with_lock;
	fd_set set_of_fds;

	sigemptyset(&none);
	sem_init(&semaphore, 0, 0);
	polled = (struct pollfd){ends[0], POLLIN, 0};
	FD_ZERO(&set_of_fds);
	FD_SET(ends[0], &set_of_fds);
	WAIT(read(ends[0], byte, 1));
	WAIT(readv(ends[0], &bytes, 1));
	WAIT(read(pair[0], byte, 1));
	WAIT(read(watches, byte, sizeof(byte)));
	WAIT(recv(pair[0], byte, 1, 0));
	WAIT(recvmsg(pair[0], &message, 0));
	WAIT(recvmmsg(pair[0], &messages, 1, 0, NULL));
	WAIT(splice(ends[0], NULL, pair[0], NULL, 1, 0));
	grantpt(terminal);
	unlockpt(terminal);
	other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	WAIT(read(other, byte, 1));
	WAIT(read(terminal, byte, 1));

	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], byte, sizeof(byte)) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	WAIT(write(ends[1], byte, sizeof(byte)));
	WAIT(writev(ends[1], &bytes, 1));
	while (send(pair[1], byte, sizeof(byte), MSG_DONTWAIT) > 0)
		;
	WAIT(send(pair[1], byte, sizeof(byte), 0));
	WAIT(sendmsg(pair[1], &message, 0));

	if (snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "foldfs-%d", getpid()) <
		    0 ||
	    bind(listening, (void *)&address, sizeof(address)) < 0 || listen(listening, 0) < 0)
		perror("listen");
	WAIT(accept(listening, NULL, NULL));
	other = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	while (connect(other, (void *)&address, sizeof(address)) == 0)
		other = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	other = socket(AF_UNIX, SOCK_STREAM, 0);
	WAIT(connect(other, (void *)&address, sizeof(address)));

	child = fork();
	if (child == 0)
		pause();
	WAIT(waitpid(child, &status, 0));
	WAIT(waitid(P_PID, (id_t)child, NULL, WEXITED));
	kill(child, SIGKILL);
	waitpid(child, &status, 0);

	WAIT(sem_wait(&semaphore));
	WAIT(sem_timedwait(&semaphore, &(struct timespec){.tv_sec = time(NULL) + 60}));
	snprintf(path, sizeof(path), "%s/lock", place);
	other = open(path, O_RDWR | O_CREAT, 0600);
	if (pipe(pair) < 0)
		perror("pipe");
	child_with_lock = fork();
	if (child_with_lock == 0) {
		int own = open(path, O_RDWR);

		flock(own, LOCK_EX);
		fcntl(own, F_SETLK, &lock);
		(void)!write(pair[1], "x", 1);
		pause();
	}
	(void)!read(pair[0], byte, 1);
	WAIT(flock(other, LOCK_EX));
	WAIT(fcntl(other, F_SETLKW, &lock));
	WAIT(fcntl(other, F_OFD_SETLKW, &lock));
	kill(child_with_lock, SIGKILL);
	waitpid(child_with_lock, &status, 0);

	snprintf(path, sizeof(path), "/foldfs-%d", getpid());
	queue = mq_open(path, O_RDWR | O_CREAT, 0600, &size);
	mq_unlink(path);
	if (queue >= 0) {
		WAIT(mq_receive(queue, byte, 1, NULL));
		mq_send(queue, byte, 1, 0);
		WAIT(mq_send(queue, byte, 1, 0));
	}
	snprintf(path, sizeof(path), "%s/fifo", place);
	if (mkfifo(path, 0600) < 0)
		perror("mkfifo");
	WAIT(open(path, O_RDONLY));
	WAIT(open(path, O_WRONLY));
	WAIT(openat(inside, path, O_RDONLY));
	WAIT(openat(open(place, O_RDONLY), "fifo", O_RDONLY));

	WAIT(poll(&(struct pollfd){.fd = -1}, 1, -1));
	WAIT(poll(&polled, 0, -1));
	WAIT(epoll_wait(polls, &event, 1, -1));
	WAIT(select(0, NULL, NULL, NULL, NULL));
	WAIT(pause());
	WAIT(sigsuspend(&none));
	WAIT(nanosleep(&(struct timespec){.tv_sec = 60}, NULL));
	WAIT(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME,
			     &(struct timespec){.tv_sec = time(NULL) + 60}, NULL));
}

static void say_old(const char *name, int number, const struct sigaction *action)
{
	struct sigaction old;
	int r = sigaction(number, action, &old);

	printf("%s: %d, %s, flags %x, mask %d %d\n", name, r,
	       r < 0						    ? strerror(errno)
	       : old.sa_handler == tick || old.sa_sigaction == tell ? "ours"
	       : old.sa_handler == SIG_DFL			    ? "default"
	       : old.sa_handler == SIG_IGN			    ? "ignored"
								    : "another",
	       r < 0 || old.sa_handler == SIG_DFL ? 0 : old.sa_flags & ~0x4000000,
	       r == 0 && sigismember(&old.sa_mask, SIGUSR2),
	       r == 0 && sigismember(&old.sa_mask, SIGUSR1));
}

/* The kernel's struct sigaction, where nobody may write: its handler, flags. */
static const unsigned long kernels[4] = {(unsigned long)tick, 0};

static void say_handlers(void)
{
	const struct sigaction with_info = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO};
	const struct sigaction ignored = {.sa_handler = SIG_IGN};

	say_old("not set", SIGUSR1, NULL);
	set(SIGUSR1, tick, 0);
	say_old("set", SIGUSR1, NULL);
	set(SIGUSR1, tick, SA_RESTART | SA_NODEFER);
	say_old("set with flags", SIGUSR1, &with_info);
	say_old("with information", SIGUSR1, NULL);
	raise(SIGUSR1);
	printf("%d %d\n", told.si_signo, told.si_pid == getpid());
	say_old("to be ignored", SIGUSR1, &ignored);
	say_old("ignored", SIGUSR1, NULL);
	set(SIGUSR1, tick, (int)SA_RESETHAND | SA_NODEFER);
	raise(SIGUSR1);
	say_old("used once", SIGUSR1, NULL);
	say_old("a fault", SIGSEGV, &with_info);
	say_old("a fault", SIGSEGV, &ignored);
	say_old("kill", SIGKILL, &ignored);
	say_old("what the library has", 32, &ignored);
	say_old("none", 65, &ignored);
	say_old("none", 0, NULL);
	say_old("the last", 64, &with_info);
	say_old("the last", 64, NULL);
	printf("by the kernel: %ld\n", syscall(SYS_rt_sigaction, SIGUSR1, kernels, NULL, 8));
}

/* The C library's other ways; musl has few. */
static void say_other_ways(void)
{
#ifdef __GLIBC__
	char byte;

	if (pipe(ends) < 0)
		perror("pipe");
	signal(SIGALRM, tick);
	say_old("signal", SIGALRM, NULL);
	siginterrupt(SIGALRM, 1);
	say_old("siginterrupt", SIGALRM, NULL);
	WAIT(read(ends[0], &byte, 1));
	printf("%d\n", signal(SIGALRM, tick) == tick);
	WAIT(read(ends[0], &byte, 1));
	signal(SIGALRM, tick_and_write);
	siginterrupt(SIGALRM, 0);
	say_old("siginterrupt off", SIGALRM, NULL);
	WAIT(read(ends[0], &byte, 1));
	set(SIGALRM, tick, 0);
	signal(SIGALRM, tick);
	say_old("signal after sigaction", SIGALRM, NULL);
	printf("%d\n", sysv_signal(SIGALRM, tick) == tick);
	say_old("sysv_signal", SIGALRM, NULL);
	start();
	end("sysv_signal", read(ends[0], &byte, 1));
	printf("%d\n", sigset(SIGALRM, tick) == SIG_DFL);
	say_old("sigset", SIGALRM, NULL);
	WAIT(read(ends[0], &byte, 1));
	printf("%d\n", sigset(SIGALRM, SIG_HOLD) == tick);
	printf("%d\n", sigset(SIGALRM, tick) == SIG_HOLD);
	printf("%d %d\n", signal(SIGALRM, SIG_ERR) == SIG_ERR, siginterrupt(65, 1));
#endif
}

static void use_handlers(void)
{
	char byte;
	static char room[65536];
	const stack_t other = {.ss_sp = room, .ss_size = sizeof(room)};
	pthread_t thread;
	volatile long result = 0;

	if (pipe(ends) < 0)
		perror("pipe");
	set(SIGALRM, tick_and_write, SA_RESTART);
	WAIT(read(ends[0], &byte, 1));
	set(SIGALRM, jump, SA_NODEFER);
	if (sigsetjmp(back, 1) == 0) {
		start();
		result = read(ends[0], &byte, 1);
	}
	end("jumped", result);
	sigaltstack(&other, NULL);
	set(SIGALRM, tick, SA_ONSTACK);
	WAIT(read(ends[0], &byte, 1));
	set(SIGALRM, tick, (int)SA_RESETHAND);
	start();
	end("once", read(ends[0], &byte, 1));
	set(SIGALRM, tick, 0);
	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
	WAIT(read(ends[0], &byte, 1));
	if (fork() == 0) {
		WAIT(read(ends[0], &byte, 1));
		exit(0);
	}
	waitpid(-1, NULL, 0);
}

int main(int argc, char **argv)
{
	if (argc != 3 || pipe(ends) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return 2;
	inside = open(argv[1], O_RDONLY | O_DIRECTORY);
	say_handlers();
	set(SIGALRM, tick, 0);
	wait_for_everything(argv[2]);
	say_other_ways();
	use_handlers();
	return 0;
}
