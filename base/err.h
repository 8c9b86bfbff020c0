/* The reason for a failure, where an errno alone is not enough.
 *
 * Libraries return 0 or -errno and never print. A function with more to say takes a `struct err *`
 * (which may be NULL) and leaves one sentence there: lower case, no full stop, without the path.
 * The tool prints it once, after the path. The err starts as {0} and is written on failure only.
 * -EBADMSG means "the data is damaged" everywhere: exit status 3. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct err {
	char text[512];
};

/* Formats the reason into err (may be NULL; the arguments may point into it, to prefix an earlier
 * reason; long text loses its middle) and returns code, so that `return err_set(err, -EBADMSG,
 * "...", ...)` is the whole error path. */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same of a call of the system: "fchmod: Operation not permitted". */
int err_call(struct err *err, int code, const char *call);

/* The same of a process that cannot be started, with the way out. */
int err_fork(struct err *err, int code);

/* The reason in err; if there is none, what -EAGAIN, -EMFILE and -ESTALE mean here, else
 * strerror(-code). */
const char *err_text(const struct err *err, int code);

/* Texts that may be longer than the room for them. A message begins with what it is about and ends
 * with the reason, so what does not fit loses its middle: "a/very/lo...me.jpg: cut off". Pure, with
 * little stack. */

/* Copies a text of `len` bytes into `room` bytes, at least 8, with a NUL. Returns its length. */
size_t fit_text(char *ret, size_t room, const char *text, size_t len);

/* vsnprintf(3), as fit_text(). Where there is no memory, of more than 1 KiB the end is lost, too.
 * The arguments may point into `ret`. */
size_t fit_format(char *ret, size_t room, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
