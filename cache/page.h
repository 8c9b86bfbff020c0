/* The piece in which files are read: a direct read begins and ends at multiples, in the file and
 * in memory, and so does the memory of an extent. */
#ifndef CACHE_PAGE_H
#define CACHE_PAGE_H

#define CACHE_PAGE 4096u

#endif
