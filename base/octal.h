/* Paths as in the kernel's tables: \040 is a space. */
#ifndef BASE_OCTAL_H
#define BASE_OCTAL_H

#include <stdbool.h>

static inline bool octal_is_digit(char c)
{
	return c >= '0' && c <= '7';
}

/* Replaces each \ooo by its byte, in place. Everything else stays. */
static inline void octal_unescape(char *text)
{
	char *out = text;

	while (*text) {
		if (text[0] == '\\' && octal_is_digit(text[1]) && octal_is_digit(text[2]) &&
		    octal_is_digit(text[3])) {
			*out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

#endif
