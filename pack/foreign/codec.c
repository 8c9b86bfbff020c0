#include "pack/foreign/codec.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

/* Handles stay open, as of all that is loaded once: the linker counts them. */
static int load(const char *library, const char *package, const char *name, void *ret,
		struct err *err)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_NODELETE);
	void *function = handle ? dlsym(handle, name) : NULL;

	if (handle)
		dlclose(handle);
	if (!function)
		return err_set(err, -ENOSYS, "its compressed pages need %s: install %s", library,
			       package);
	memcpy(ret, &function, sizeof(function));
	return 0;
}

static int unpack_snappy(const void *packed, size_t len, void *ret, size_t ret_len, struct err *err)
{
	int (*uncompress)(const char *, size_t, char *, size_t *);
	int (*length)(const char *, size_t, size_t *);
	size_t n = 0;
	int r = load("libsnappy.so.1", "libsnappy1v5", "snappy_uncompress", &uncompress, err);

	if (r == 0)
		r = load("libsnappy.so.1", "libsnappy1v5", "snappy_uncompressed_length", &length,
			 err);
	if (r < 0)
		return r;
	if (length(packed, len, &n) != 0 || n != ret_len)
		return -EBADMSG;
	return uncompress(packed, len, ret, &n) != 0 || n != ret_len ? -EBADMSG : 0;
}

static int unpack_zstd(const void *packed, size_t len, void *ret, size_t ret_len, struct err *err)
{
	size_t (*decompress)(void *, size_t, const void *, size_t);
	int r = load("libzstd.so.1", "libzstd1", "ZSTD_decompress", &decompress, err);

	if (r < 0)
		return r;
	return decompress(ret, ret_len, packed, len) != ret_len ? -EBADMSG : 0;
}

/* zlib.h's z_stream, which it has kept since 1995. */
struct zlib_stream {
	const uint8_t *next_in;
	unsigned avail_in;
	unsigned long total_in;
	uint8_t *next_out;
	unsigned avail_out;
	unsigned long total_out;
	const char *message;
	void *state, *alloc, *free, *opaque;
	int data_type;
	unsigned long adler, reserved;
};

enum { ZLIB_FINISH = 4, ZLIB_STREAM_END = 1, ZLIB_GZIP_OR_ZLIB = 15 + 32 };

static int unpack_gzip(const void *packed, size_t len, void *ret, size_t ret_len, struct err *err)
{
	struct zlib_stream z = {.next_in = packed,
				.avail_in = (unsigned)len,
				.next_out = ret,
				.avail_out = (unsigned)ret_len};
	int (*init)(struct zlib_stream *, int, const char *, int);
	int (*inflate)(struct zlib_stream *, int);
	int (*end)(struct zlib_stream *);
	int r = load("libz.so.1", "zlib1g", "inflateInit2_", &init, err);

	if (r == 0)
		r = load("libz.so.1", "zlib1g", "inflate", &inflate, err);
	if (r == 0)
		r = load("libz.so.1", "zlib1g", "inflateEnd", &end, err);
	if (r < 0)
		return r;
	if (init(&z, ZLIB_GZIP_OR_ZLIB, "1", sizeof(z)) != 0)
		return -ENOMEM;
	r = inflate(&z, ZLIB_FINISH) == ZLIB_STREAM_END && z.avail_out == 0 ? 0 : -EBADMSG;
	end(&z);
	return r;
}

int codec_unpack(enum codec codec, const void *packed, size_t len, void *ret, size_t ret_len,
		 struct err *err)
{
	int r = -EOPNOTSUPP;

	if (len > INT_MAX || ret_len > INT_MAX)
		return err_set(err, -EBADMSG, "a compressed page of over 2 GiB");
	if (codec == CODEC_SNAPPY)
		r = unpack_snappy(packed, len, ret, ret_len, err);
	else if (codec == CODEC_GZIP)
		r = unpack_gzip(packed, len, ret, ret_len, err);
	else if (codec == CODEC_ZSTD)
		r = unpack_zstd(packed, len, ret, ret_len, err);
	else
		return err_set(err, r, "pages compressed by codec %d, which is not read",
			       (int)codec);
	return r == -EBADMSG ? err_set(err, r, "a compressed page that does not unpack") : r;
}
