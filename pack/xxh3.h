/* XXH3 of libxxhash. Where the library was built to choose its code by the processor, as the
 * distributions do for x86-64, this uses that choice; a static one has no choice, so that
 * xxh3_avx2.c is linked to it. The results are the same. Bytes that are not in the cache of the
 * processor take less than half the time. */
#pragma once

#define XXH_STATIC_LINKING_ONLY /* for a hash state on the stack */
#include <xxhash.h>
#if FOLDFS_STATIC && defined(__x86_64__)

/* name() calls avx2_name() if the processor has AVX2. */
#define XXH3_CHOOSE(result, name, parameters, ...)                               \
	result avx2_##name parameters;                                           \
	static inline result choose_##name parameters                            \
	{                                                                        \
		return __builtin_cpu_supports("avx2") ? avx2_##name(__VA_ARGS__) \
						      : name(__VA_ARGS__);       \
	}
XXH3_CHOOSE(XXH64_hash_t, XXH3_64bits, (const void *data, size_t len), data, len)
XXH3_CHOOSE(XXH64_hash_t, XXH3_64bits_withSeed, (const void *data, size_t len, XXH64_hash_t seed),
	    data, len, seed)
XXH3_CHOOSE(XXH_errorcode, XXH3_64bits_update, (XXH3_state_t * state, const void *data, size_t len),
	    state, data, len)
XXH3_CHOOSE(XXH128_hash_t, XXH3_128bits, (const void *data, size_t len), data, len)
XXH3_CHOOSE(XXH128_hash_t, XXH3_128bits_withSeed, (const void *data, size_t len, XXH64_hash_t seed),
	    data, len, seed)
XXH3_CHOOSE(XXH_errorcode, XXH3_128bits_update,
	    (XXH3_state_t * state, const void *data, size_t len), state, data, len)
#define XXH3_64bits	      choose_XXH3_64bits
#define XXH3_64bits_withSeed  choose_XXH3_64bits_withSeed
#define XXH3_64bits_update    choose_XXH3_64bits_update
#define XXH3_128bits	      choose_XXH3_128bits
#define XXH3_128bits_withSeed choose_XXH3_128bits_withSeed
#define XXH3_128bits_update   choose_XXH3_128bits_update

#elif __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif
