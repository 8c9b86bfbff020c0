/* The order of strings that may hold NULs, and do not end with one. */
#pragma once

#include <stddef.h>
#include <string.h>

/* As memcmp(), where a string comes before those that begin with it. */
static inline int bytes_compare(const void *a, size_t a_len, const void *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}
