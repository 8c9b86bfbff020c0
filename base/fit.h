/* Texts that may be longer than the room for them. A message begins with what it is about and ends
 * with the reason, so what does not fit loses its middle: "a/very/lo...me.jpg: cut off". Pure, with
 * little stack. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* Copies a text of `len` bytes into `room` bytes, at least 8, with a NUL. Returns its length. */
size_t fit_text(char *ret, size_t room, const char *text, size_t len);

/* vsnprintf(3), as fit_text(). Where there is no memory, of more than 1 KiB the end is lost, too.
 * The arguments may point into `ret`. */
size_t fit_format(char *ret, size_t room, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
