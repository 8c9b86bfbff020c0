/* All of xxhash.h once more, as avx2_XXH3_64bits() and so on, compiled with -mavx2: see xxh3.h. */
#if FOLDFS_STATIC && defined(__x86_64__)

#define XXH_NAMESPACE avx2_
#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include <xxhash.h>

#endif
