#include "base/limits.h"
#include "base/io.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#define MAIN_STACK    (256 * KIB) /* twice what the deepest call takes */
#define THREAD_STACK  MIB	  /* of threads: libraries run there, too */
#define SPARE	      4		  /* one in so many files */
#define OOM_SCORE_ADJ "-500"

/* The C library takes what `ulimit -s` allows to the main thread for each of the others. */
static void raise_thread_stacks(void)
{
	pthread_attr_t attr;
	size_t size;

	if (pthread_getattr_default_np(&attr) != 0)
		return;
	if (pthread_attr_getstacksize(&attr, &size) == 0 && size < THREAD_STACK &&
	    pthread_attr_setstacksize(&attr, THREAD_STACK) == 0)
		pthread_setattr_default_np(&attr);
	pthread_attr_destroy(&attr);
}

int limits_begin(struct err *err)
{
	char have[SIZE_TEXT], need[SIZE_TEXT];
	struct rlimit stack;

	signal(SIGXFSZ, SIG_IGN);
	raise_thread_stacks();
	if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= MAIN_STACK)
		return 0;
	return err_set(err, -ERANGE, "'ulimit -s' allows %s of stack, and %s are needed",
		       size_format(stack.rlim_cur, have), size_format(MAIN_STACK, need));
}

static struct rlimit get(__rlimit_resource_t resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) < 0 ? (struct rlimit){RLIM_INFINITY, RLIM_INFINITY}
					       : limit;
}

void limits_raise_files(struct limits *ret)
{
	*ret = (struct limits){get(RLIMIT_NOFILE), get(RLIMIT_FSIZE)};
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ret->files.rlim_max, ret->files.rlim_max});
}

uint64_t limits_raise_size(void)
{
	struct rlimit size = get(RLIMIT_FSIZE);

	if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY}) < 0)
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){size.rlim_max, size.rlim_max});
	return get(RLIMIT_FSIZE).rlim_cur;
}

void limits_give_back(const struct limits *limits)
{
	setrlimit(RLIMIT_NOFILE, &limits->files);
	setrlimit(RLIMIT_FSIZE, &limits->size);
}

static uint64_t files_allowed(void)
{
	return min(get(RLIMIT_NOFILE).rlim_cur, (rlim_t)INT_MAX);
}

uint64_t limits_spare_files(void)
{
	return files_allowed() / SPARE;
}

bool limits_is_spare(int fd)
{
	return (uint64_t)fd >= limits_spare_files() * (SPARE - 1);
}

uint64_t limits_files_left(void)
{
	SCOPE_CLOSE int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return next < 0 ? 0 : sub_sat(files_allowed(), (uint64_t)next);
}

void limits_avoid_oom_killer(void)
{
	SCOPE_CLOSE int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	char now[8] = "";

	if (fd >= 0 && read(fd, now, sizeof(now) - 1) > 0 && strcmp(now, "0\n") == 0)
		io_write_full(fd, OOM_SCORE_ADJ, strlen(OOM_SCORE_ADJ));
}
