#include "base/err.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *format, ...)
{
	char text[sizeof(err->text)]; /* the arguments may lie in err itself */
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	memcpy(err->text, text, sizeof(text));
	return code;
}

const char *err_text(const struct err *err, int code)
{
	return err && err->text[0] ? err->text : strerror(-code);
}
