#include "base/log.h"
#include "base/err.h"
#include "base/io.h"
#include "base/scope.h"
#include "base/utf8.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

/* Room for the longest path and a reason. */
#define LOG_TEXT 6144
#define LOG_HEAD 132
#define LOG_LINE (8192 - LOG_HEAD)

/* Where lines go. */
struct outlet {
	int fd;	       /* -1: there is none */
	uint64_t lost; /* protected by the lock of outlets: lines since the last that was written */
	bool cut;      /* protected by it: the last one has no end */
};

static struct {
	const char *program; /* borrowed, and never freed */
	enum log_level level;
	atomic_bool to_syslog;
	bool hurries; /* lines are not waited for */
	struct outlet out, file;
	pthread_mutex_t outlets;

	pthread_mutex_t lock;
	/* Protected by lock: a ring. */
	char kept[LOG_KEPT][LOG_KEPT_BYTES];
	unsigned count; /* all warnings and errors, ever */
} state = {.program = "foldfs",
	   .level = LOG_LEVEL_NORMAL,
	   .out = {.fd = STDERR_FILENO},
	   .file = {.fd = -1},
	   .outlets = PTHREAD_MUTEX_INITIALIZER,
	   .lock = PTHREAD_MUTEX_INITIALIZER};

void log_init(const char *program, enum log_level level)
{
	state.program = program;
	state.level = level;
}

void log_to_syslog(void)
{
	openlog(state.program, LOG_PID, LOG_DAEMON);
	state.to_syslog = true;
}

void log_to_file(int fd)
{
	state.file.fd = fd;
}

/* Others have the same pipe, and mean to wait for room in it: so it is opened anew. */
void log_without_waiting(void)
{
	struct stat st;
	int fd = -1;

	if (fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode))
		fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		state.out.fd = fd;
	state.hurries = true;
}

/* Copies the text, of LOG_TEXT bytes at most, with control characters as \ooo, as fit_text(). */
static size_t mask(const char *text, char *line, size_t room)
{
	char masked[LOG_TEXT * 4 + 1];
	size_t len = 0, all = strlen(text);

	for (size_t i = 0; i < all; i++) {
		if (utf8_is_control(text, all, i))
			len += (size_t)snprintf(masked + len, sizeof("\\ooo"), "\\%03o",
						(unsigned char)text[i]);
		else
			masked[len++] = text[i];
	}
	return fit_text(line, room, masked, len);
}

/* Lock held. */
static void write_now(struct outlet *outlet, const char *line, size_t len)
{
	size_t done = io_write_now(outlet->fd, line, len);

	outlet->cut = done > 0 ? done < len : outlet->cut;
	outlet->lost += done < len;
}

/* Lock held. */
static void say_lost(struct outlet *outlet, const char *head)
{
	char line[LOG_HEAD + 128];
	uint64_t lost = outlet->lost;
	int len = snprintf(line, sizeof(line),
			   "%s%.*s: %" PRIu64 " lines are lost: nobody read them in time\n",
			   outlet->cut ? "\n" : "", LOG_HEAD - 4, head, lost);

	outlet->lost = 0;
	write_now(outlet, line, (size_t)len);
	if (outlet->lost)
		outlet->lost = lost;
}

/* One write for the whole line, so that lines of several threads and processes do not mix. */
static void write_line(struct outlet *outlet, const char *head, const char *text)
{
	char line[LOG_HEAD + LOG_LINE];
	int len = snprintf(line, sizeof(line), "%.*s: %s\n", LOG_HEAD - 4, head, text);

	if (!state.hurries) {
		io_write_full(outlet->fd, line, (size_t)len);
		return;
	}
	SCOPE_LOCK(&state.outlets);
	if (outlet->lost)
		say_lost(outlet, head);
	if (outlet->lost)
		outlet->lost++;
	else
		write_now(outlet, line, (size_t)len);
}

static void write_to_file(const char *text)
{
	char when[32], head[LOG_HEAD];
	time_t now = time(NULL);
	struct tm local;

	strftime(when, sizeof(when), "%FT%T%z", localtime_r(&now, &local));
	snprintf(head, sizeof(head), "%s %.64s[%d]", when, state.program, (int)getpid());
	write_line(&state.file, head, text);
}

void log_kept(void (*each)(void *context, const char *line), void *context)
{
	pthread_mutex_lock(&state.lock);
	for (unsigned i = state.count > LOG_KEPT ? state.count - LOG_KEPT : 0; i < state.count; i++)
		each(context, state.kept[i % LOG_KEPT]);
	pthread_mutex_unlock(&state.lock);
}

static void log_line(int priority, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void log_line(int priority, const char *format, va_list args)
{
	int saved = errno;
	char text[LOG_TEXT], line[LOG_LINE];
	size_t len;

	fit_format(text, sizeof(text), format, args);
	len = mask(text, line, sizeof(line));
	if (priority < LOG_INFO) {
		pthread_mutex_lock(&state.lock);
		fit_text(state.kept[state.count++ % LOG_KEPT], LOG_KEPT_BYTES, line, len);
		pthread_mutex_unlock(&state.lock);
	}
	if (state.to_syslog)
		syslog(priority, "%s", line);
	else
		write_line(&state.out, state.program, line);
	if (state.file.fd >= 0)
		write_to_file(line);
	errno = saved;
}

#define LOG_FUNCTION(name, priority, least)       \
	void name(const char *format, ...)        \
	{                                         \
		va_list args;                     \
                                                  \
		if (state.level < (least))        \
			return;                   \
		va_start(args, format);           \
		log_line(priority, format, args); \
		va_end(args);                     \
	}
LOG_FUNCTION(log_error, LOG_ERR, LOG_LEVEL_QUIET)
LOG_FUNCTION(log_notice, LOG_NOTICE, LOG_LEVEL_WARNINGS)
LOG_FUNCTION(log_info, LOG_INFO, LOG_LEVEL_NORMAL)
LOG_FUNCTION(log_detail, LOG_INFO, LOG_LEVEL_VERBOSE)

void log_notice_line(const char *line)
{
	log_notice("%s", line);
}
