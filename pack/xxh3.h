/* libxxhash's XXH3, by the code that it chooses for this processor where it was built with a
 * choice: as the distributions do for x86-64, and install the header that says so. The same
 * results, from bytes that are not in a cache of the processor in less than half of the time. */
#ifndef PACK_XXH3_H
#define PACK_XXH3_H

#define XXH_STATIC_LINKING_ONLY /* for a hash state on the stack */
#include <xxhash.h>
#if __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#endif
