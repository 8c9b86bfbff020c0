#include "base/fit.h"
#include "base/math.h"
#include <stdio.h>
#include <string.h>

#define FORMATTED 65536

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
	char text[FORMATTED];
	int len = vsnprintf(text, sizeof(text), format, args);

	return fit_text(ret, room, text, len < 0 ? 0 : min((size_t)len, sizeof(text) - 1));
}
