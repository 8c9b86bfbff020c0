#include "base/err.h"
#include "base/math.h"
#include "base/scope.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SHORT 1024 /* of a text for which there is no memory */

static const char cut[] = "...";

size_t fit_text(char *ret, size_t room, const char *text, size_t len)
{
	size_t begin, end;

	if (len < room) {
		memcpy(ret, text, len);
		ret[len] = '\0';
		return len;
	}
	begin = (room - sizeof(cut)) / 2;
	end = room - sizeof(cut) - begin;
	memcpy(ret, text, begin);
	memcpy(ret + begin, cut, strlen(cut));
	memcpy(ret + room - 1 - end, text + len - end, end);
	ret[room - 1] = '\0';
	return room - 1;
}

size_t fit_format(char *ret, size_t room, const char *format, va_list args)
{
	SCOPE_FREE char *text = NULL;
	char begin[SHORT];
	va_list again;
	int len;

	va_copy(again, args);
	len = vasprintf(&text, format, args);
	if (len < 0) {
		text = NULL;
		len = vsnprintf(begin, sizeof(begin), format, again);
	}
	va_end(again);
	if (text)
		return fit_text(ret, room, text, (size_t)len);
	return fit_text(ret, room, begin, len < 0 ? 0 : min((size_t)len, sizeof(begin) - 1));
}

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

int err_fork(struct err *err, int code)
{
	return code == -EAGAIN
		       ? err_set(err, code,
				 "cannot start a process: %s; allow more tasks ('ulimit -u')",
				 strerror(-code))
		       : err_set(err, code, "cannot start a process: %s", err_text(NULL, code));
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
