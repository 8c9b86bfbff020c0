/* Refuses memory, threads and processes to a program, as FOLDFS_REFUSE wants:
 *
 *	N FILE	refuses the Nth call of those below, counted from 1
 *	N+ FILE	refuses all from the Nth on
 *
 * FILE then begins with the function that was refused first and the address of its caller, or with
 * a NUL byte. The linker (--wrap) sends calls of the program's own objects here, and no library's.
 * Processes that are forked count together.
 *
 * FOLDFS_STORM=N interrupts calls that wait, libraries' as well: a signal comes every N
 * microseconds, and its handler does nothing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* FILE, which is mapped: neither a sandbox nor whoever closes all descriptors is in the way. */
struct page {
	char line[128]; /* of the first refusal */
	atomic_ulong calls;
};

static struct {
	unsigned long first;
	bool all;
	struct page *page;
} wanted;

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);

static struct page *map_page(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	void *page = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct page)) == 0)
		page = __real_mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED,
				   fd, 0);
	if (page == MAP_FAILED)
		abort();
	close(fd);
	return page;
}

static __attribute__((constructor)) void read_wish(void)
{
	const char *wish = getenv("FOLDFS_REFUSE");
	char *rest;

	if (!wish)
		return;
	wanted.first = strtoul(wish, &rest, 10);
	wanted.all = *rest == '+';
	wanted.page = map_page(rest + 1 + wanted.all);
}

static void do_nothing(int signo)
{
	(void)signo;
}

static __attribute__((constructor)) void begin_storm(void)
{
	const char *storm = getenv("FOLDFS_STORM");
	struct sigaction action = {.sa_handler = do_nothing}; /* without SA_RESTART */
	struct itimerval timer = {.it_interval.tv_usec = storm ? atoi(storm) : 0};

	if (!storm)
		return;
	timer.it_value = timer.it_interval;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* The program may be loaded anywhere: addresses count from here. */
extern const char __executable_start[];

static bool refuse(const char *name, int error, const char *caller)
{
	unsigned long call = wanted.page ? atomic_fetch_add(&wanted.page->calls, 1) + 1 : 0;

	if (!call || call < wanted.first || (call > wanted.first && !wanted.all))
		return false;
	if (call == wanted.first)
		snprintf(wanted.page->line, sizeof(wanted.page->line), "%s %#tx", name,
			 caller - __executable_start);
	errno = error;
	return true;
}

#define REFUSED(name, error) refuse(name, error, __builtin_return_address(0))

/* A function that fails with `failure` and sets errno. */
#define WRAP(error, failure, type, name, params, args)                       \
	type __real_##name params;                                           \
	type __wrap_##name params;                                           \
	type __wrap_##name params                                            \
	{                                                                    \
		return REFUSED(#name, error) ? failure : __real_##name args; \
	}

WRAP(ENOMEM, NULL, void *, malloc, (size_t size), (size))
WRAP(ENOMEM, NULL, void *, calloc, (size_t n, size_t size), (n, size))
WRAP(ENOMEM, NULL, void *, realloc, (void *p, size_t size), (p, size))
WRAP(ENOMEM, NULL, void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size))
WRAP(ENOMEM, NULL, void *, aligned_alloc, (size_t align, size_t size), (align, size))
WRAP(ENOMEM, NULL, char *, strdup, (const char *text), (text))
WRAP(ENOMEM, NULL, char *, strndup, (const char *text, size_t size), (text, size))
WRAP(ENOMEM, -1, int, vasprintf, (char **text, const char *format, va_list args),
     (text, format, args))
WRAP(ENOMEM, -1, ssize_t, getline, (char **line, size_t *size, FILE *file), (line, size, file))
WRAP(ENOMEM, -1, ssize_t, __getdelim, (char **line, size_t *size, int end, FILE *file),
     (line, size, end, file))
WRAP(ENOMEM, NULL, char *, realpath, (const char *path, char *buf), (path, buf))
WRAP(ENOMEM, NULL, FILE *, fopen, (const char *path, const char *mode), (path, mode))
WRAP(ENOMEM, NULL, FILE *, fdopen, (int fd, const char *mode), (fd, mode))
WRAP(ENOMEM, NULL, DIR *, opendir, (const char *path), (path))
WRAP(ENOMEM, NULL, DIR *, fdopendir, (int fd), (fd))
WRAP(ENOMEM, MAP_FAILED, void *, mmap,
     (void *at, size_t size, int prot, int flags, int fd, off_t offset),
     (at, size, prot, flags, fd, offset))
WRAP(EAGAIN, -1, pid_t, fork, (void), ())
WRAP(EMFILE, -1, int, pipe2, (int ends[2], int flags), (ends, flags))
WRAP(EMFILE, -1, int, eventfd, (unsigned value, int flags), (value, flags))
WRAP(EMFILE, -1, int, memfd_create, (const char *name, unsigned flags), (name, flags))
WRAP(EMFILE, -1, int, socketpair, (int domain, int type, int protocol, int ends[2]),
     (domain, type, protocol, ends))
/* These return their errors. */
WRAP(ENOMEM, ENOMEM, int, posix_memalign, (void **ret, size_t align, size_t size),
     (ret, align, size))
WRAP(EAGAIN, EAGAIN, int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg),
     (thread, attr, run, arg))
WRAP(ENOMEM, GLOB_NOSPACE, int, glob,
     (const char *pattern, int flags, int (*failed)(const char *, int), glob_t *ret),
     (pattern, flags, failed, ret))

int __wrap_asprintf(char **text, const char *format, ...);
int __wrap_asprintf(char **text, const char *format, ...)
{
	va_list args;
	int size;

	if (REFUSED("asprintf", ENOMEM))
		return -1;
	va_start(args, format);
	size = __real_vasprintf(text, format, args);
	va_end(args);
	return size;
}
