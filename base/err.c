#include "base/err.h"
#include "base/fit.h"
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

const char *err_text(const struct err *err, int code)
{
	return err && err->text[0] ? err->text : strerror(-code);
}
