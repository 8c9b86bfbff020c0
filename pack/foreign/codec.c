#include "pack/foreign/codec.h"
#include "base/le.h"
#include "base/scope.h"
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

/* --- the libraries -----------------------------------------------------------------------------
 *
 * Loaded when they are needed, so that nobody else must have them. A static program cannot load
 * any, and has those of zlib, zstd and snappy in itself. */

struct library {
	const char *file, *package, *function; /* the function is one that it must have */
};

/* Stores the address of a function at `ret`, which is a pointer to such functions. The library
 * stays loaded. Returns 0, or -ENOSYS: err says what is missing. */
#if FOLDFS_STATIC

#include <snappy-c.h>
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

static int find_function(const struct library *library, const char *name, void *ret,
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
static int find_function(const struct library *library, const char *name, void *ret,
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

static const struct library snappy = {"libsnappy.so.1", "libsnappy1v5", "snappy_uncompress"},
			    zlib = {"libz.so.1", "zlib1g", "inflate"},
			    zstd = {"libzstd.so.1", "libzstd1", "ZSTD_decompress"};

/* --- snappy ----------------------------------------------------------------------------------- */

static int unpack_snappy(const void *packed, size_t len, void *ret, size_t ret_len)
{
	int (*uncompress)(const char *, size_t, char *, size_t *);
	int (*length)(const char *, size_t, size_t *);
	size_t n = 0;
	int r = find_function(&snappy, "snappy_uncompress", &uncompress, NULL);

	if (r == 0)
		r = find_function(&snappy, "snappy_uncompressed_length", &length, NULL);
	if (r != 0)
		return r;
	if (length(packed, len, &n) != 0 || n != ret_len)
		return -EBADMSG;
	return uncompress(packed, len, ret, &n) != 0 || n != ret_len ? -EBADMSG : 0;
}

/* Without the length in front, which is a varint. */
static int unpack_piece(const void *packed, size_t len, void *ret, size_t ret_len)
{
	SCOPE_FREE uint8_t *whole = malloc(len + 10);
	size_t head = 0, n = ret_len;

	if (!whole)
		return -ENOMEM;
	for (; n > 0x7f; n >>= 7)
		whole[head++] = (uint8_t)(n | 0x80);
	whole[head++] = (uint8_t)n;
	memcpy(whole + head, packed, len);
	return unpack_snappy(whole, head + len, ret, ret_len);
}

/* --- zstd and gzip ---------------------------------------------------------------------------- */

static int unpack_zstd(const void *packed, size_t len, void *ret, size_t ret_len)
{
	size_t (*decompress)(void *, size_t, const void *, size_t);
	int r = find_function(&zstd, "ZSTD_decompress", &decompress, NULL);

	if (r < 0)
		return r;
	return decompress(ret, ret_len, packed, len) != ret_len ? -EBADMSG : 0;
}

#define GZIP_OR_ZLIB (MAX_WBITS + 32)

static int unpack_gzip(const void *packed, size_t len, void *ret, size_t ret_len)
{
	z_stream z = {.next_in = (uint8_t *)(uintptr_t)packed,
		      .avail_in = (unsigned)len,
		      .next_out = ret,
		      .avail_out = (unsigned)ret_len};
	int (*init)(z_stream *, int, const char *, int);
	int (*run)(z_stream *, int);
	int (*end)(z_stream *);
	int r = find_function(&zlib, "inflateInit2_", &init, NULL);

	if (r == 0)
		r = find_function(&zlib, "inflate", &run, NULL);
	if (r == 0)
		r = find_function(&zlib, "inflateEnd", &end, NULL);
	if (r != 0)
		return r;
	if (init(&z, GZIP_OR_ZLIB, ZLIB_VERSION, sizeof(z)) != Z_OK)
		return -ENOMEM;
	r = run(&z, Z_FINISH) == Z_STREAM_END && z.avail_out == 0 ? 0 : -EBADMSG;
	end(&z);
	return r;
}

/* --- any -------------------------------------------------------------------------------------- */

static const struct {
	enum codec codec;
	const struct library *library;
	int (*unpack)(const void *packed, size_t len, void *ret, size_t ret_len);
} codecs[] = {{CODEC_SNAPPY, &snappy, unpack_snappy},
	      {CODEC_SNAPPY_PIECE, &snappy, unpack_piece},
	      {CODEC_GZIP, &zlib, unpack_gzip},
	      {CODEC_ZSTD, &zstd, unpack_zstd}};

/* Its number in the table, or -EOPNOTSUPP. */
static int find_codec(enum codec codec, struct err *err)
{
	static const char *const names[] = {[3] = "lzo", [4] = "brotli", [5] = "lz4", [7] = "lz4"};
	bool known = codec < sizeof(names) / sizeof(*names) && names[codec];

	for (size_t i = 0; i < sizeof(codecs) / sizeof(*codecs); i++)
		if (codecs[i].codec == codec)
			return (int)i;
	return err_set(err, -EOPNOTSUPP,
		       "pages compressed by %s, which is not read: snappy, gzip and zstd are",
		       known ? names[codec] : "a newer codec");
}

int codec_check(enum codec codec, struct err *err)
{
	int i = find_codec(codec, err);
	void (*function)(void);

	return i < 0 ? i
		     : find_function(codecs[i].library, codecs[i].library->function, &function,
				     err);
}

int codec_unpack(enum codec codec, const void *packed, size_t len, void *ret, size_t ret_len,
		 struct err *err)
{
	int r = codec_check(codec, err);

	if (r < 0)
		return r;
	if (len > INT_MAX || ret_len > INT_MAX)
		return err_set(err, -EBADMSG, "a compressed page of over 2 GiB");
	r = codecs[find_codec(codec, NULL)].unpack(packed, len, ret, ret_len);
	return r == -EBADMSG ? err_set(err, r, "a compressed page that does not unpack") : r;
}
