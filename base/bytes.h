/* The order of strings that may hold NULs, and do not end with one. */
#pragma once

#include <stddef.h>
#include <string.h>

/* As memcmp(), where a string comes before those that begin with it. One of no bytes may be NULL.
 */
static inline int bytes_compare(const void *a, size_t a_len, const void *b, size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len;
	int order = len ? memcmp(a, b, len) : 0;

	return order ? order : (a_len > b_len) - (a_len < b_len);
}
