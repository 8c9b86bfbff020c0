/* Messages of a program: one line at a time, "NAME: text", to standard error, or to syslog once a
 * daemon has detached; and to a file, if there is one, with the time and the PID. Tools and the
 * daemon use it, libraries never. Control characters in the text (file names!) are shown as \ooo. A
 * text longer than 6 KiB loses its middle. errno is kept, and %m works. Thread-safe after
 * log_init().
 *
 * Program name and verbosity are statics, set once at the start. */
#pragma once

#include <stdbool.h>

enum log_level { LOG_LEVEL_QUIET, LOG_LEVEL_WARNINGS, LOG_LEVEL_NORMAL, LOG_LEVEL_VERBOSE };

void log_init(const char *program, enum log_level level);
void log_to_syslog(void); /* from now on; for a daemon that has detached */
void log_to_file(
	int fd); /* from now on, too; open for appending, for as long as the program runs */

/* From now on, for a daemon that serves in the foreground, nobody need read what it says. What does
 * not fit into a pipe, or on a terminal that was stopped, is lost, and the next line that fits
 * says how much. */
void log_without_waiting(void);

/* The last errors and notices, for whoever did not see them: calls `each` with up to LOG_KEPT
 * lines, fitted into LOG_KEPT_BYTES, the oldest first. */
#define LOG_KEPT       8
#define LOG_KEPT_BYTES 512
void log_kept(void (*each)(void *context, const char *line), void *context);

/* Always shown: the reason why something failed. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same; its value is `code`, so that `return log_fail(EXIT_FAILED, "...", ...)` is the whole
 * error path. */
#define log_fail(code, ...) (log_error(__VA_ARGS__), (code))
/* Shown unless it is for warnings only: what was done or decided. */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Shown unless the level is LOG_LEVEL_QUIET: warnings. */
void log_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_notice_line(const char *line); /* the same, for libraries that call back */
/* Shown with -v. */
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));
