#include "pack/foreign/codec_library.h"
#include <errno.h>
#include <string.h>

#if FOLDFS_STATIC

#include <snappy-c.h>
#include <stddef.h>
#include <zlib.h>
#include <zstd.h>

#define LINKED(function)                            \
	{                                           \
#function, (void (*)(void))function \
	}

static const struct linked_function {
	const char *name;
	void (*address)(void);
} linked[] = {LINKED(snappy_uncompress), LINKED(snappy_uncompressed_length),
	      LINKED(inflateInit2_),	 LINKED(inflate),
	      LINKED(inflateEnd),	 LINKED(ZSTD_decompress)};

int codec_library_find(const struct codec_library *library, const char *name, void *ret,
		       struct err *err)
{
	for (size_t i = 0; i < sizeof(linked) / sizeof(linked[0]); i++)
		if (strcmp(linked[i].name, name) == 0) {
			memcpy(ret, &linked[i].address, sizeof(linked[i].address));
			return 0;
		}
	return err_set(err, -ENOSYS,
		       "its compressed bytes need %s, which this static build cannot load: use "
		       "a foldfs that is built for this system",
		       library->file);
}

#else

#include <dlfcn.h>

/* dlopen() counts the users of a library. */
int codec_library_find(const struct codec_library *library, const char *name, void *ret,
		       struct err *err)
{
	void *handle = dlopen(library->file, RTLD_NOW | RTLD_NODELETE);
	void *function = handle ? dlsym(handle, name) : NULL;

	if (handle)
		dlclose(handle);
	if (!function)
		return err_set(err, -ENOSYS, "its compressed bytes need %s: install %s",
			       library->file, library->package);
	memcpy(ret, &function, sizeof(function));
	return 0;
}

#endif
