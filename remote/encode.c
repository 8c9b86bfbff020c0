#include "remote/encode.h"
#include <stdbool.h>
#include <string.h>

static bool is_unreserved(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       strchr("-._~", c);
}

int encode_add(struct buf *buf, const char *text, const char *keep)
{
	int r = 0;

	for (; r == 0 && *text; text++) {
		if (is_unreserved(*text) || strchr(keep, *text))
			r = buf_add(buf, text, 1);
		else
			r = buf_addf(buf, "%%%02X", (unsigned char)*text);
	}
	return r < 0 ? r : buf_adds(buf, "");
}
