/* Sizes as people write and read them. */
#pragma once

#include <stdint.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

#define SIZE_TEXT 48 /* room for a formatted number and a noun of up to 16 letters */

/* "1048576", "64K", "24G", "1.5T" (powers of 1024; an "iB" or "B" may follow).
 * Returns 0, -EINVAL (not a size) or -ERANGE (over 2^63 - 1). */
int size_parse(const char *text, uint64_t *ret_bytes);

/* "139 GiB", "1.41 MiB", "24 GiB", "712 bytes": three significant digits without trailing
 * zeros; 1000 to 1023 of a unit in full. Returns buf. */
const char *size_format(uint64_t bytes, char buf[static SIZE_TEXT]);

/* 1281167 -> "1,281,167". Returns buf. */
const char *count_format(uint64_t count, char buf[static SIZE_TEXT]);

/* "1 file", "1,281,167 files". The plural of the noun must be made by an s. Returns buf. */
const char *count_noun(uint64_t count, const char *noun, char buf[static SIZE_TEXT]);
