/* Blocks of bytes go through zlib, through libarchive, or through both, which is how a bzip2 in a
 * gzip is unpacked. Each lends its block to the next one until the following call. */
#include "pack/tool/import/unpack.h"

#include "base/io.h"
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/unsupported.h"
#include "pack/foreign/window.h"
#include "pack/tool/work/interrupt.h"
#include <archive.h>
#include <archive_entry.h>
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <zlib.h>

/* Small enough to be copied from the cache of the processor. */
#define BLOCK ((size_t)256 << 10)

#define WINDOW_OF_GZIP (MAX_WBITS + 16) /* tells zlib that it is gzip, not zlib */
#define GZIP_FIRST     0x1f
#define LZMA_HEAD      13
#define LZMA_RATIO     8192 /* at the most: 273 bytes for 14 bits of log2(2048 / 2017) each, 7087 */

/* Of a zip. */
enum {
	METHOD_DEFLATE = 8,
	METHOD_DEFLATE64 = 9, /* as Windows writes what is over 2 GiB */
	METHOD_BZIP2 = 12,
	METHOD_LZMA = 14,
	METHOD_ZSTD = 93,
	METHOD_XZ = 95,
	METHOD_PPMD = 98
};

enum state {
	PLAIN,	  /* no gzip */
	BETWEEN,  /* members of gzip */
	WITHIN,	  /* one */
	DEFLATED, /* within what a zip has */
	BEHIND,	  /* that, or the last member of gzip */
};

struct unpack {
	int stream;	      /* read from its position on; or -1: */
	struct window window; /* of this are read */
	uint64_t at, end;
	uint8_t *block;		 /* of the stream */
	uint8_t lzma[LZMA_HEAD]; /* comes before the rest */
	enum state state;	 /* of zlib */
	z_stream z;		 /* its input is lent */
	bool begun;		 /* there was a member of gzip */
	uint64_t behind;	 /* bytes after the end, but zeros */
	uint8_t *inflated;	 /* a block */
	int error;		 /* returned after all bytes before it */
	struct archive *archive; /* NULL: zlib alone; else: */
	const uint8_t *lent;	 /* the last block that it got, */
	size_t lent_len;
	uint64_t lent_end;   /* and how many bytes in all */
	bool by_program;     /* libarchive leaves some compressions to programs */
	uint64_t most, size; /* bytes that may come, and that came */
	uint32_t crc;
	struct err *err;
};

const char *unpack_library(void)
{
	return archive_version_string();
}

/* --- input ------------------------------------------------------------------------------------ */

/* Makes sure that there is input: how much; 0 at the end; or -errno. Of a stream it is a whole
 * block, but at the end. */
static ssize_t fill_input(struct unpack *u)
{
	size_t len = 0, skip;
	ssize_t n = 1;
	int r;

	if (u->z.avail_in > 0)
		return u->z.avail_in;
	while (u->stream >= 0 && n != 0 && len < BLOCK) {
		if (interrupt_pending())
			return -EINTR;
		n = read(u->stream, u->block + len, BLOCK - len);
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
		u->z.next_in = u->block;
	}
	if (u->stream < 0 && u->at < u->end) {
		len = (size_t)min(u->end - u->at, BLOCK);
		r = window_fill(&u->window, u->at, len);
		if (r < 0)
			return r;
		skip = (size_t)(u->at - u->window.start);
		u->z.next_in = (uint8_t *)u->window.bytes.data + skip;
		len = min(len, u->window.bytes.len - skip);
		u->at += len;
		if (interrupt_pending())
			return -EINTR;
	}
	u->z.avail_in = (uInt)len;
	return (ssize_t)len;
}

/* --- zlib ------------------------------------------------------------------------------------- */

static int inflate_damage(struct unpack *u, const char *what)
{
	return err_set(u->err, -EBADMSG, "%s: %s", u->state == DEFLATED ? "deflate" : "gzip",
		       what ? what : "damaged");
}

/* Several members of gzip one after the other count as one, as to gzip; what comes after the last
 * is none. */
static int inflate_some(struct unpack *u)
{
	z_stream *z = &u->z;

	if (u->state == BETWEEN) {
		for (; z->avail_in > 0 && *z->next_in == 0; z->avail_in--)
			z->next_in++;
		if (z->avail_in == 0)
			return 0;
		if (u->begun && *z->next_in != GZIP_FIRST) {
			u->state = BEHIND;
			return 0;
		}
		inflateReset(z);
		u->begun = true;
		u->state = WITHIN;
	}
	switch (inflate(z, Z_NO_FLUSH)) {
	case Z_STREAM_END:
		u->state = u->state == DEFLATED ? BEHIND : BETWEEN;
		return 0;
	case Z_OK:
	case Z_BUF_ERROR:
		return 0;
	case Z_MEM_ERROR:
		return -ENOMEM;
	default:
		return inflate_damage(u, z->msg);
	}
}

/* Of gzip and of a zip, what is in it; else the bytes as they are. */
static ssize_t next_of_zlib(struct unpack *u, const void **ret)
{
	ssize_t n = 1;

	if (u->state == PLAIN) {
		n = fill_input(u);
		*ret = u->z.next_in;
		u->z.avail_in = 0;
		return n;
	}
	u->z.next_out = u->inflated;
	u->z.avail_out = BLOCK;
	while (u->error == 0 && n > 0 && u->state != BEHIND && u->z.avail_out == BLOCK) {
		n = fill_input(u);
		if (n == 0 && u->state != BETWEEN)
			u->error = inflate_damage(u, "truncated");
		else
			u->error = n > 0 ? inflate_some(u) : (int)n;
	}
	*ret = u->inflated;
	return u->z.avail_out < BLOCK ? (ssize_t)(BLOCK - u->z.avail_out) : u->error;
}

static int begin_inflate(struct unpack *u, int window, enum state state)
{
	u->state = state;
	u->inflated = malloc(BLOCK);
	return u->inflated && inflateInit2(&u->z, window) == Z_OK ? 0 : -ENOMEM;
}

/* --- libarchive ------------------------------------------------------------------------------- */

static la_ssize_t read_for_archive(struct archive *archive, void *context, const void **ret)
{
	struct unpack *u = context;
	ssize_t n = next_of_zlib(u, ret);

	(void)archive;
	if (n > 0) {
		u->lent = *ret;
		u->lent_len = (size_t)n;
		u->lent_end += (uint64_t)n;
	}
	if (n >= 0)
		return n;
	u->error = (int)n;
	return ARCHIVE_FATAL;
}

/* libarchive's sentences begin with a capital letter. */
static int archive_fail(const struct unpack *u)
{
	const char *why = archive_error_string(u->archive);
	bool capital = why && isupper((unsigned char)why[0]) && islower((unsigned char)why[1]);

	if (u->error)
		return u->error;
	if (archive_errno(u->archive) == ENOMEM)
		return -ENOMEM;
	/* libarchive has no other way to say that a program cannot be run. */
	if (u->by_program && archive_errno(u->archive) == EINVAL)
		return err_set(u->err, -ENOTSUP,
			       "libarchive cannot decompress it: %s; install that program, or "
			       "unpack the file",
			       why);
	if (!why || !*why)
		return err_set(u->err, -EBADMSG, "truncated");
	if (strstr(why, "too much memory"))
		return err_set(u->err, -EOPNOTSUPP,
			       "zstd compressed it with a window of over 128 MiB: pipe what 'zstd "
			       "-dc --long=31' writes into 'foldpack create - PACK'");
	return err_set(u->err, -EBADMSG, "%c%s", capital ? tolower(why[0]) : why[0], why + 1);
}

/* `filter`: one, so that what is compressed in a member of a zip stays so; 0: what it finds. Built
 * without a library for one of them, libarchive warns that it will run a program instead. */
static int begin_archive(struct unpack *u, int filter)
{
	static int (*const filters[])(struct archive *) = {
		archive_read_support_filter_bzip2,
		archive_read_support_filter_xz,
		archive_read_support_filter_zstd,
		archive_read_support_filter_lz4,
	};
	struct archive_entry *entry;
	int worst = ARCHIVE_OK, status;

	u->archive = archive_read_new();
	if (!u->archive || archive_read_support_format_raw(u->archive) != ARCHIVE_OK ||
	    archive_read_support_format_empty(u->archive) != ARCHIVE_OK)
		return -ENOMEM;
	if (filter)
		worst = archive_read_append_filter(u->archive, filter);
	for (size_t i = 0; !filter && i < sizeof(filters) / sizeof(*filters); i++) {
		status = filters[i](u->archive);
		worst = status < worst ? status : worst;
	}
	if (worst < ARCHIVE_WARN)
		return -ENOMEM;
	u->by_program = worst == ARCHIVE_WARN;
	archive_clear_error(u->archive);
	/* To the format of no bytes, those that cannot be decompressed are none. */
	if (archive_read_open(u->archive, u, NULL, read_for_archive, NULL) != ARCHIVE_OK ||
	    archive_errno(u->archive))
		return archive_fail(u);
	u->by_program = false;
	status = archive_read_next_header(u->archive, &entry);
	return status == ARCHIVE_OK || status == ARCHIVE_EOF ? 0 : archive_fail(u);
}

static ssize_t next_of_archive(struct unpack *u, const void **ret)
{
	int64_t offset;
	size_t len;

	if (archive_format(u->archive) == ARCHIVE_FORMAT_EMPTY)
		return 0;
	switch (archive_read_data_block(u->archive, ret, &len, &offset)) {
	case ARCHIVE_OK:
		return (ssize_t)len;
	case ARCHIVE_EOF:
		return 0;
	default:
		return archive_fail(u);
	}
}

/* --- what there is ---------------------------------------------------------------------------- */

/* What the first bytes say. */
static int begin_found(struct unpack *u)
{
	static const uint8_t gzip[] = {0x1f, 0x8b, Z_DEFLATED};
	ssize_t n = fill_input(u);
	uint64_t rest = n > 0 ? compression_skips(u->z.next_in, (size_t)n) : 0;
	int r;

	/* To libarchive, what begins with such frames is not compressed. */
	while (n > 0 && rest > 0) {
		uInt some = (uInt)min(rest, u->z.avail_in);

		u->z.next_in += some;
		u->z.avail_in -= some;
		rest -= some;
		n = fill_input(u);
		if (rest == 0 && n > 0)
			rest = compression_skips(u->z.next_in, (size_t)n);
	}
	r = n < 0 ? (int)n : 0;
	u->most = UINT64_MAX;
	if (n >= (ssize_t)sizeof(gzip) && memcmp(u->z.next_in, gzip, sizeof(gzip)) == 0)
		r = begin_inflate(u, WINDOW_OF_GZIP, BETWEEN);
	return r < 0 ? r : begin_archive(u, 0);
}

/* A .lzma says the size; of the header in a zip it has the last five bytes. */
static int begin_lzma(struct unpack *u, const struct foreign_compressed *from)
{
	uint8_t head[9];
	uint64_t most;
	int r;

	if (u->end - u->at < sizeof(head))
		return err_set(u->err, -EBADMSG, "truncated");
	r = reader_get_full(from->reader, head, sizeof(head), u->at);
	memcpy(u->lzma, head + 4, 5);
	/* liblzma sets aside all of the dictionary, of which no more is used than there are bytes.
	 */
	most = min(from->size, (u->end - u->at) * LZMA_RATIO);
	le_put32(u->lzma + 1, (uint32_t)min(le_get32(u->lzma + 1), most));
	le_put64(u->lzma + 5, from->ends ? UINT64_MAX : from->size);
	u->at += sizeof(head);
	u->z.next_in = u->lzma;
	u->z.avail_in = LZMA_HEAD;
	return r < 0 ? r : begin_archive(u, ARCHIVE_FILTER_LZMA);
}

/* Of a zip. */
static int begin_member(struct unpack *u, const struct foreign_compressed *from)
{
	u->most = from->size;
	switch (from->method) {
	case METHOD_DEFLATE:
		return begin_inflate(u, -MAX_WBITS, DEFLATED);
	case METHOD_LZMA:
		return begin_lzma(u, from);
	case METHOD_BZIP2:
		return begin_archive(u, ARCHIVE_FILTER_BZIP2);
	case METHOD_XZ:
		return begin_archive(u, ARCHIVE_FILTER_XZ);
	case METHOD_ZSTD:
		return begin_archive(u, ARCHIVE_FILTER_ZSTD);
	default:
		return err_set(u->err, -EOPNOTSUPP,
			       "compressed by %s, method %u, which is not read: unpack the zip and "
			       "pack the folder",
			       from->method == METHOD_DEFLATE64 ? "Deflate64"
			       : from->method == METHOD_PPMD	? "PPMd"
								: "another program",
			       from->method);
	}
}

static void unpack_end(struct unpack *u)
{
	archive_read_free(u->archive);
	inflateEnd(&u->z); /* fine on a stream that was not begun */
	window_release(&u->window);
	free(u->inflated);
	free(u->block);
}

/* --- behind the end --------------------------------------------------------------------------- */

static void count_behind(struct unpack *u, const uint8_t *bytes, size_t len)
{
	while (u->behind == 0 && len > 0 && *bytes == 0) {
		bytes++;
		len--;
	}
	u->behind += len;
}

/* libarchive says how much of what it got it has used. */
static int look_behind(struct unpack *u)
{
	uint64_t used = u->archive ? (uint64_t)archive_filter_bytes(u->archive, -1) : 0;
	uint64_t rest = u->archive ? u->lent_end - used : 0;
	const void *block;
	ssize_t n;

	if (rest > 0 && rest <= u->lent_len)
		count_behind(u, u->lent + u->lent_len - rest, (size_t)rest);
	while (u->state == PLAIN && (n = next_of_zlib(u, &block)) != 0) {
		if (n < 0)
			return (int)n;
		count_behind(u, block, (size_t)n);
	}
	while (u->state == BEHIND && (n = fill_input(u)) != 0) {
		if (n < 0)
			return (int)n;
		count_behind(u, u->z.next_in, u->z.avail_in);
		u->z.avail_in = 0;
	}
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int copy_unpacked(struct unpack *u, int to)
{
	const void *block;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = u->archive ? next_of_archive(u, &block) : next_of_zlib(u, &block))) {
		if (n < 0)
			return (int)n;
		if ((uint64_t)n > u->most - u->size)
			return err_set(u->err, -EBADMSG, "more bytes than its size");
		u->size += (uint64_t)n;
		u->crc = (uint32_t)crc32(u->crc, block, (uInt)n);
		r = io_write_full(to, block, (size_t)n);
	}
	return r;
}

int unpack(const struct foreign_compressed *from, int stream, int to, uint64_t *ret_behind,
	   struct err *err)
{
	struct err why = {0};
	SCOPE(unpack_end) struct unpack u = {.stream = from ? -1 : stream, .err = &why};
	bool member = from && from->method;
	int r;

	if (from) {
		u.at = from->offset;
		u.end = from->offset + from->len;
		r = window_init(&u.window, from->reader);
	} else {
		u.block = malloc(BLOCK);
		r = u.block ? 0 : -ENOMEM;
		/* Each of these works for one kind of descriptor, and only matters for speed. */
		(void)posix_fadvise(stream, 0, 0, POSIX_FADV_SEQUENTIAL);
		(void)fcntl(stream, F_SETPIPE_SZ, (int)BLOCK);
	}
	if (r == 0)
		r = member ? begin_member(&u, from) : begin_found(&u);
	if (r == 0)
		r = copy_unpacked(&u, to);
	if (r == 0 && !member)
		r = look_behind(&u);
	else if (r == 0 && u.size < from->size)
		r = err_set(&why, -EBADMSG, "fewer bytes than its size");
	else if (r == 0 && u.crc != from->crc)
		r = err_set(&why, -EBADMSG, "a wrong checksum");
	*ret_behind = u.behind;
	return why.text[0] ? err_set(err, r, "%s%s", member ? "" : "decompressing it: ", why.text)
			   : r;
}
