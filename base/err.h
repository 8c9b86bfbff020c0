/* The reason of a failure, where an errno alone is not enough.
 *
 * Libraries return 0 or -errno and never print. A function with more to say takes a
 * `struct err *` (NULL where the caller does not want it) and leaves there one sentence
 * without the path, lower case, no full stop: the tool prints it once, after the path.
 * It starts as {0} and is written on failure only. -EBADMSG means "the data is damaged"
 * everywhere: exit status 3. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

struct err {
	char text[512];
};

/* Formats the reason into err (may be NULL; the arguments may point into it, to prefix an earlier
 * reason; long text is cut) and returns code, so that `return err_set(err, -EBADMSG, "...", ...)`
 * is the whole error path. */
int err_set(struct err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The reason in err, or strerror(-code) where none was set (err->text is empty). */
const char *err_text(const struct err *err, int code);

#endif
