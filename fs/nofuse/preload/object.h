/* What the parts of the object share (preload.h). */
#pragma once

#include <stdbool.h>

/* `mark`: or 0: then foldfs may be asked. The kernel compares it with where the call returns to.
 * Returns the result, or -errno. */
__attribute__((visibility("hidden"))) long object_call(unsigned long mark, long number, long a,
						       const void *b, const void *c, long d);
/* The mark of the job; 0: there is none. */
__attribute__((visibility("hidden"))) unsigned long object_mark(void);
/* What a function of the C library returns, which sets errno. */
__attribute__((visibility("hidden"))) int object_result(long r);
