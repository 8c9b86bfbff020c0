/* XXH3 of libxxhash. Where the library was built to choose its code by the processor, as the
 * distributions do for x86-64, this uses that choice. The results are the same. Bytes that are not
 * in the cache of the processor take less than half the time. */
#ifndef PACK_XXH3_H
#define PACK_XXH3_H

#define XXH_STATIC_LINKING_ONLY /* for a hash state on the stack */
#include <xxhash.h>
#if __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

#endif
