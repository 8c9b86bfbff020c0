/* UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF; and what a terminal
 * may get of names, which may be any bytes. Pure. */
#pragma once

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length in bytes of the character at the start of data[0..len), len > 0; *ret is its code. 0:
 * there is no valid character. */
size_t utf8_decode(const char *data, size_t len, uint32_t *ret);

/* Writes the character; a surrogate is written as if it were one. Returns its length in bytes; 0:
 * above U+10FFFF. */
size_t utf8_encode(uint32_t code, char ret[static 4]);

/* The order that Python's sorted() gives names, with each byte of no character as U+DC80 to U+DCFF:
 * less than 0, 0 (the same bytes) or greater. */
int utf8_compare(const char *a, size_t a_len, const char *b, size_t b_len);

/* Whether a terminal obeys the character instead of showing it: control characters (U+0080 to
 * U+009F, too), and what breaks a line or changes the order of those that are shown. */
bool utf8_commands(uint32_t code);

/* Whether byte `at` of the `len` bytes must not reach a terminal: it is of such a character, or of
 * none. */
bool utf8_is_control(const char *text, size_t len, size_t at);

/* Appends the text to buf as a terminal may get it: such bytes become \ooo. 0 or -ENOMEM. */
int utf8_add_shown(struct buf *buf, const char *text, size_t len);
