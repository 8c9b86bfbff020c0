/* calls TOP PLACE SECONDS: makes every call that foldfs may answer, in two folders, first once, and
 * then again and again while a timer's signal is handled, by a handler without SA_RESTART. A result
 * that is another one than at first is told. Each folder has a file `file` and a folder `folder`,
 * and may have a FIFO `fifo`. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static volatile sig_atomic_t handled;

static void handle(int number)
{
	(void)number;
	handled++;
}

struct call {
	const char *name;
	long number, args[6];
	enum { NONE, DESCRIPTOR, SOCKET, LISTING } needs;
};

/* Room for what calls write, and what they read. */
static char room[65536];
static struct timespec times[2];
static struct timeval old_times[2];
static struct utimbuf oldest_times;
static unsigned long how[3]; /* struct open_how */
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static unsigned long action[4] = {(unsigned long)handle}; /* the kernel's struct sigaction */
static struct {
	unsigned bytes, type;
} handle_of_file;
static int mount_id;

static struct result {
	long value;
	int error;
} results[200];

static struct result make(struct call call)
{
	struct result result;
	long listed = 0;

	if (call.needs == SOCKET)
		call.args[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	handle_of_file.bytes = 0;
	if (call.needs == LISTING)
		lseek((int)call.args[0], 0, SEEK_SET);
	errno = 0;
	do {
		result.value = syscall(call.number, call.args[0], call.args[1], call.args[2],
				       call.args[3], call.args[4], call.args[5]);
		listed += result.value;
	} while (call.needs == LISTING && result.value > 0);
	result.error = errno;
	if (call.needs == LISTING && result.value == 0)
		result.value = listed; /* a signal ends a piece of a listing early, on any disk */
	if (call.needs == DESCRIPTOR && result.value >= 0) {
		close((int)result.value);
		result.value = 0;
	}
	if (call.needs == SOCKET)
		close((int)call.args[0]);
	return result;
}

#define TEXT(text) ((long)(text))
#define HERE	   AT_FDCWD
#define CALL(name) #name, SYS_##name

/* Returns whether all results are as they were. */
static bool look(const char *folder, struct result *kept, bool first)
{
	static int watches = -1;
	char file[4096], below[4096], missing[4096], fifo[4096];
	int fd, listed;
	bool right = true;

	snprintf(file, sizeof(file), "%s/file", folder);
	snprintf(below, sizeof(below), "%s/folder", folder);
	snprintf(missing, sizeof(missing), "%s/missing", folder);
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	listed = open(below, O_RDONLY | O_DIRECTORY);
	if (watches < 0)
		watches = inotify_init();
	strncpy(address.sun_path, file, sizeof(address.sun_path) - 1);
	const struct call calls[] = {
		{CALL(openat), {HERE, TEXT(file), O_RDONLY}, DESCRIPTOR},
		{CALL(newfstatat), {HERE, TEXT(file), TEXT(room)}, 0},
		{CALL(fstat), {fd, TEXT(room)}, 0},
		{CALL(statx), {HERE, TEXT(file), 0, STATX_BASIC_STATS, TEXT(room)}, 0},
		{CALL(getdents64), {listed, TEXT(room), sizeof(room)}, LISTING},
		{CALL(openat), {AT_FDCWD, TEXT("/dev/null"), O_RDWR}, DESCRIPTOR},
		{CALL(openat), {AT_FDCWD, TEXT(fifo), O_RDWR}, DESCRIPTOR},
		{CALL(openat), {AT_FDCWD, TEXT(fifo), O_RDONLY | O_NONBLOCK}, DESCRIPTOR},
		{CALL(openat2), {HERE, TEXT(file), TEXT(how), sizeof(how)}, DESCRIPTOR},
		{CALL(faccessat), {HERE, TEXT(file), R_OK}, 0},
		{CALL(faccessat2), {HERE, TEXT(file), R_OK, AT_EACCESS}, 0},
		{CALL(readlinkat), {HERE, TEXT(file), TEXT(room), sizeof(room)}, 0},
		{CALL(statfs), {TEXT(file), TEXT(room)}, 0},
		{CALL(fstatfs), {fd, TEXT(room)}, 0},
		{CALL(getxattr), {TEXT(file), TEXT("user.a"), TEXT(room), sizeof(room)}, 0},
		{CALL(lgetxattr), {TEXT(file), TEXT("user.a"), TEXT(room), sizeof(room)}, 0},
		{CALL(fgetxattr), {fd, TEXT("user.a"), TEXT(room), sizeof(room)}, 0},
		{CALL(listxattr), {TEXT(file), TEXT(room), sizeof(room)}, 0},
		{CALL(llistxattr), {TEXT(file), TEXT(room), sizeof(room)}, 0},
		{CALL(flistxattr), {fd, TEXT(room), sizeof(room)}, 0},
		{CALL(rt_sigaction), {SIGUSR2, TEXT(action), 0, 8}, 0},
		{CALL(execve), {TEXT(file), 0, 0}, 0},
		{CALL(execveat), {HERE, TEXT(file), 0, 0, 0}, 0},
		{CALL(chdir), {TEXT(below)}, 0},
		{CALL(inotify_add_watch), {watches, TEXT(below), IN_CREATE}, 0},
		{CALL(fanotify_mark), {-1, 1, 0x20, HERE, TEXT(file)}, 0},
		{CALL(name_to_handle_at),
		 {HERE, TEXT(file), TEXT(&handle_of_file), TEXT(&mount_id), 0},
		 0},
		{CALL(mkdirat), {HERE, TEXT(below), 0755}, 0},
		{CALL(mknodat), {HERE, TEXT(file), S_IFREG | 0644, 0}, 0},
		{CALL(symlinkat), {TEXT("target"), HERE, TEXT(file)}, 0},
		{CALL(bind), {-1, TEXT(&address), sizeof(address)}, SOCKET},
		{CALL(linkat), {HERE, TEXT(file), HERE, TEXT(file), 0}, 0},
		{CALL(renameat2), {HERE, TEXT(missing), HERE, TEXT(file), 0}, 0},
		{CALL(unlinkat), {HERE, TEXT(missing), 0}, 0},
		{CALL(truncate), {TEXT(file), 3}, 0},
		{CALL(fchmod), {fd, 0644}, 0},
		{CALL(fchmodat), {HERE, TEXT(file), 0644}, 0},
#ifdef SYS_fchmodat2
		{CALL(fchmodat2), {HERE, TEXT(file), 0644, 0}, 0},
#endif
		{CALL(fchown), {fd, -1, -1}, 0},
		{CALL(fchownat), {HERE, TEXT(file), -1, -1, 0}, 0},
		{CALL(utimensat), {HERE, TEXT(file), TEXT(times), 0}, 0},
		{CALL(setxattr), {TEXT(file), TEXT("user.a"), TEXT("b"), 1, 0}, 0},
		{CALL(lsetxattr), {TEXT(file), TEXT("user.a"), TEXT("b"), 1, 0}, 0},
		{CALL(fsetxattr), {fd, TEXT("user.a"), TEXT("b"), 1, 0}, 0},
		{CALL(removexattr), {TEXT(file), TEXT("user.c")}, 0},
		{CALL(lremovexattr), {TEXT(file), TEXT("user.c")}, 0},
		{CALL(fremovexattr), {fd, TEXT("user.c")}, 0},
#ifdef SYS_renameat
		{CALL(renameat), {HERE, TEXT(missing), HERE, TEXT(file)}, 0},
#endif
#ifdef SYS_open
		{CALL(open), {TEXT(file), O_RDONLY}, DESCRIPTOR},
		{CALL(getdents), {listed, TEXT(room), sizeof(room)}, LISTING},
		{CALL(creat), {TEXT(below), 0644}, DESCRIPTOR},
		{CALL(stat), {TEXT(file), TEXT(room)}, 0},
		{CALL(lstat), {TEXT(file), TEXT(room)}, 0},
		{CALL(access), {TEXT(file), R_OK}, 0},
		{CALL(readlink), {TEXT(file), TEXT(room), sizeof(room)}, 0},
		{CALL(mkdir), {TEXT(below), 0755}, 0},
		{CALL(mknod), {TEXT(file), S_IFREG | 0644, 0}, 0},
		{CALL(symlink), {TEXT("target"), TEXT(file)}, 0},
		{CALL(link), {TEXT(file), TEXT(file)}, 0},
		{CALL(rename), {TEXT(missing), TEXT(file)}, 0},
		{CALL(unlink), {TEXT(missing)}, 0},
		{CALL(rmdir), {TEXT(missing)}, 0},
		{CALL(chmod), {TEXT(file), 0644}, 0},
		{CALL(chown), {TEXT(file), -1, -1}, 0},
		{CALL(lchown), {TEXT(file), -1, -1}, 0},
		{CALL(utime), {TEXT(file), TEXT(&oldest_times)}, 0},
		{CALL(utimes), {TEXT(file), TEXT(old_times)}, 0},
		{CALL(futimesat), {HERE, TEXT(file), TEXT(old_times)}, 0},
#endif
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		struct result result = make(calls[i]);

		if (first)
			kept[i] = result;
		else if (result.value != kept[i].value || result.error != kept[i].error) {
			printf("%s in %s: %ld, %s\n", calls[i].name, folder, result.value,
			       strerror(result.error));
			right = false;
		}
	}
	close(fd);
	close(listed);
	return right;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const struct sigaction without_restart = {.sa_handler = handle};
	const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	double end;
	bool right = true;

	if (argc != 4 || sigaction(SIGALRM, &without_restart, NULL) < 0)
		return 2;
	for (int i = 1; i < 3; i++) {
		look(argv[i], results + (i - 1) * 100, true); /* sets an attribute */
		look(argv[i], results + (i - 1) * 100, true);
	}
	end = now() + atof(argv[3]);
	setitimer(ITIMER_REAL, &often, NULL);
	while (right && now() < end)
		for (int i = 1; i < 3; i++)
			right = look(argv[i], results + (i - 1) * 100, false) && right;
	setitimer(ITIMER_REAL, &never, NULL);
	return !right ? 1 : handled < 100 ? 3 : 0;
}
