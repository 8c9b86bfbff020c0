/* The piece in which files are read: a direct read begins and ends at multiples, in the file and
 * in memory, and so does the memory of an extent. */
#pragma once

#include <stdint.h>

#define CACHE_PAGE 4096u

/* Rounds a number of bytes up to whole pages. */
static inline uint64_t cache_page_up(uint64_t bytes)
{
	return (bytes + CACHE_PAGE - 1) / CACHE_PAGE * CACHE_PAGE;
}
