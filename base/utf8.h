/* UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. Pure. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length in bytes of the character at the start of data[0..len), len > 0; *ret is its code. 0:
 * there is no valid character. */
size_t utf8_decode(const char *data, size_t len, uint32_t *ret);

/* Whether byte `at` of the `len` bytes belongs to a control character. A terminal obeys U+0080 to
 * U+009F, too. */
bool utf8_is_control(const char *text, size_t len, size_t at);

#endif
