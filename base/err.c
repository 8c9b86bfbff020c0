#include "base/err.h"
#include "base/fit.h"
#include <errno.h>
#include <string.h>

int err_set(struct err *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	fit_format(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

int err_call(struct err *err, int code, const char *call)
{
	return err_set(err, code, "%s: %s", call, strerror(-code));
}

const char *err_text(const struct err *err, int code)
{
	if (err && err->text[0])
		return err->text;
	if (code == -EAGAIN)
		return "cannot start threads: Resource temporarily unavailable; allow more tasks "
		       "('ulimit -u') or address space ('ulimit -v'), or where this job got its "
		       "limits";
	if (code == -EMFILE)
		return "Too many open files; allow more ('ulimit -n'), or where this job got its "
		       "limits";
	if (code == -ESTALE)
		return "changed, or was replaced, meanwhile";
	return strerror(-code);
}
