#include "pack/tool/import/unzip.h"

#include "base/io.h"
#include "base/le.h"
#include "base/math.h"
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/foreign/archive/zip_directory.h"
#include "pack/tool/cli/interrupt.h"
#include "pack/tool/import/unpack.h"
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BLOCK ((size_t)256 << 10)

enum { LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50 };
enum { END64 = 0x06064b50, LOCATOR = 0x07064b50 };
enum { LOCAL_LEN = 30, CENTRAL_LEN = 46, END_LEN = 22, END64_LEN = 56, LOCATOR_LEN = 20 };
enum { METHOD_BZIP2 = 12, METHOD_LZMA = 14, METHOD_ZSTD = 93, METHOD_XZ = 95 };
enum { UTF8 = 1 << 11, EXTRA_ZIP64 = 1, EXTRA64_LEN = 28 };

struct unzip {
	int from, to;
	struct zip_directory zip;
	uint64_t at; /* in `to` */
	struct buf central;
	char *block;
};

/* --- what is compressed ----------------------------------------------------------------------- */

/* The bytes of an entry, between what makes them a file of their compression. */
struct wrapped {
	struct unzip *u;
	const char *head, *tail;
	size_t head_len, tail_len;
	uint64_t at, left; /* of the zip */
	int error;
};

static ssize_t next_wrapped(void *context, const void **ret)
{
	struct wrapped *w = context;
	size_t len = (size_t)min(w->left, BLOCK);

	if (interrupt_pending())
		return -EINTR;
	if (w->head_len) {
		*ret = w->head;
		len = w->head_len;
		w->head_len = 0;
		return (ssize_t)len;
	}
	if (len) {
		w->error = io_pread_full(w->u->from, w->u->block, len, w->at);
		*ret = w->u->block;
		w->at += len;
		w->left -= len;
		return w->error < 0 ? w->error : (ssize_t)len;
	}
	*ret = w->tail;
	len = w->tail_len;
	w->tail_len = 0;
	return (ssize_t)len;
}

/* Deflate is what a gzip has, and LZMA what a .lzma has, whose header says the size; of zip's own
 * header it has the last five bytes. */
static int wrap(struct wrapped *w, const struct zip_entry *entry, char head[static 16],
		char tail[static 8], enum unpack_as *ret, struct err *err)
{
	static const char gzip[] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, (char)0xff};
	int r = 0;

	switch (entry->method) {
	case ZIP_DEFLATED:
		memcpy(head, gzip, sizeof(gzip));
		w->head_len = sizeof(gzip);
		le_put32((uint8_t *)tail, entry->crc);
		le_put32((uint8_t *)tail + 4, (uint32_t)entry->size);
		w->tail_len = 8;
		return 0;
	case METHOD_LZMA:
		if (w->left < 9)
			return err_set(err, -EBADMSG, "truncated");
		r = io_pread_full(w->u->from, head, 9, w->at);
		memmove(head, head + 4, 5);
		le_put64((uint8_t *)head + 5, entry->ends ? UINT64_MAX : entry->size);
		w->head_len = 13;
		w->at += 9;
		w->left -= 9;
		*ret = UNPACK_LZMA;
		return r;
	case METHOD_BZIP2:
		*ret = UNPACK_BZIP2;
		return 0;
	case METHOD_XZ:
		*ret = UNPACK_XZ;
		return 0;
	case METHOD_ZSTD:
		*ret = UNPACK_ZSTD;
		return 0;
	default:
		return err_set(err, -EOPNOTSUPP,
			       "compressed by method %u, which is not read: unpack the zip and "
			       "pack the folder",
			       entry->method);
	}
}

static void unpack_release(struct unpack **unpack)
{
	unpack_free(*unpack);
}

static int copy_unpacked(struct unzip *u, struct unpack *unpack, const struct zip_entry *entry,
			 struct err *err)
{
	uLong crc = crc32(0, NULL, 0);
	uint64_t left = entry->size;
	const void *block;
	ssize_t n;

	while ((n = unpack_next(unpack, &block)) > 0) {
		int r;

		if ((uint64_t)n > left)
			return err_set(err, -EBADMSG, "more bytes than its size");
		crc = crc32(crc, block, (uInt)n);
		r = io_pwrite_full(u->to, block, (size_t)n, u->at);
		if (r < 0)
			return r;
		u->at += (uint64_t)n;
		left -= (uint64_t)n;
	}
	if (n < 0)
		return (int)n;
	if (left)
		return err_set(err, -EBADMSG, "less bytes than its size");
	return crc == entry->crc ? 0 : err_set(err, -EBADMSG, "a wrong checksum");
}

static int unpack_entry(struct unzip *u, const struct zip_entry *entry, uint64_t place,
			struct err *err)
{
	char head[16], tail[8];
	struct wrapped w = {.u = u, .head = head, .tail = tail, .at = place, .left = entry->packed};
	const struct tar_blocks blocks = {.next = next_wrapped, .context = &w};
	SCOPE(unpack_release) struct unpack *unpack = NULL;
	enum unpack_as as = UNPACK_GZIP;
	struct err why = {0};
	int r = wrap(&w, entry, head, tail, &as, err);

	if (r < 0)
		return r;
	r = unpack_new(&blocks, as, &why, &unpack);
	if (r == 0)
		r = copy_unpacked(u, unpack, entry, &why);
	return r < 0 && why.text[0] ? err_set(err, r, "%s", why.text) : r;
}

/* --- a zip ------------------------------------------------------------------------------------ */

static int put(struct unzip *u, const void *bytes, size_t len)
{
	int r = io_pwrite_full(u->to, bytes, len, u->at);

	u->at += len;
	return r;
}

static int copy_stored(struct unzip *u, uint64_t place, uint64_t left)
{
	int r = 0;

	for (size_t len; r == 0 && left > 0; place += len, left -= len) {
		len = (size_t)min(left, BLOCK);
		r = interrupt_pending() ? -EINTR : io_pread_full(u->from, u->block, len, place);
		if (r == 0)
			r = put(u, u->block, len);
	}
	return r;
}

static int put_local(struct unzip *u, const struct zip_entry *entry)
{
	uint8_t head[LOCAL_LEN] = {0};
	int r;

	le_put32(head, LOCAL);
	le_put16(head + 26, (uint16_t)entry->raw_len);
	r = put(u, head, sizeof(head));
	return r < 0 ? r : put(u, u->zip.names.data + entry->raw, entry->raw_len);
}

/* Appends the extra fields of an entry, but for those of zip64. */
static int add_extra(struct buf *to, const uint8_t *p, size_t len)
{
	int r = 0;

	for (const uint8_t *end = p + len; r == 0 && end - p >= 4;) {
		size_t bytes = 4 + (size_t)le_get16(p + 2);

		if (bytes > (size_t)(end - p))
			break;
		if (le_get16(p) != EXTRA_ZIP64)
			r = buf_add(to, p, bytes);
		p += bytes;
	}
	return r;
}

/* The entry as it was, but for what changes; its sizes and its place are those of zip64. */
static int add_central(struct unzip *u, const struct zip_entry *entry, uint64_t header)
{
	SCOPE_FREE uint8_t *old = malloc(CENTRAL_LEN + 2 * (size_t)UINT16_MAX);
	SCOPE(buf_release) struct buf extra = BUF_INIT;
	uint8_t sizes[EXTRA64_LEN];
	size_t extra_len;
	int r = old ? io_pread_full(u->from, old, CENTRAL_LEN, entry->central) : -ENOMEM;

	if (r < 0)
		return r;
	extra_len = le_get16(old + 30);
	r = io_pread_full(u->from, old + CENTRAL_LEN, entry->raw_len + extra_len,
			  entry->central + CENTRAL_LEN);
	le_put16(sizes, EXTRA_ZIP64);
	le_put16(sizes + 2, EXTRA64_LEN - 4);
	le_put64(sizes + 4, entry->size);
	le_put64(sizes + 12, entry->size);
	le_put64(sizes + 20, header);
	if (r == 0)
		r = buf_add(&extra, sizes, sizeof(sizes));
	if (r == 0)
		r = add_extra(&extra, old + CENTRAL_LEN + entry->raw_len, extra_len);
	if (r == 0 && extra.len > UINT16_MAX)
		r = -EBADMSG;
	le_put16(old + 8, le_get16(old + 8) & UTF8);
	le_put16(old + 10, ZIP_STORED);
	memset(old + 20, 0xff, 8);
	memset(old + 42, 0xff, 4);
	le_put16(old + 30, (uint16_t)extra.len);
	le_put16(old + 32, 0);
	if (r == 0)
		r = buf_add(&u->central, old, CENTRAL_LEN + entry->raw_len);
	return r < 0 ? r : buf_add(&u->central, extra.data, extra.len);
}

static int put_end(struct unzip *u)
{
	uint8_t end[END64_LEN + LOCATOR_LEN + END_LEN] = {0}, *p = end;
	uint64_t start = u->at, end64 = start + u->central.len;
	int r = put(u, u->central.data, u->central.len);

	le_put32(p, END64);
	le_put64(p + 4, END64_LEN - 12);
	le_put64(p + 24, zip_count(&u->zip));
	le_put64(p + 32, zip_count(&u->zip));
	le_put64(p + 40, u->central.len);
	le_put64(p + 48, start);
	p += END64_LEN;
	le_put32(p, LOCATOR);
	le_put64(p + 8, end64);
	le_put32(p + 16, 1);
	p += LOCATOR_LEN;
	le_put32(p, END);
	memset(p + 8, 0xff, 12);
	return r < 0 ? r : put(u, end, sizeof(end));
}

static int unzip_entry(struct unzip *u, size_t i, struct err *err)
{
	const struct zip_entry *entry = zip_entry_at(&u->zip, i);
	struct foreign_text name = zip_name(&u->zip, entry);
	uint64_t header = u->at, place;
	struct err why = {0};
	int r = zip_place(&u->zip, i, &place, err);

	if (r < 0)
		return r;
	r = put_local(u, entry);
	if (r == 0 && entry->encrypted)
		r = err_set(&why, -EOPNOTSUPP, "encrypted");
	else if (r == 0 && entry->size && entry->method == ZIP_STORED)
		r = copy_stored(u, place, entry->size);
	else if (r == 0 && entry->size)
		r = unpack_entry(u, entry, place, &why);
	if (r < 0 && why.text[0])
		return err_set(err, r, "entry %zu ('%.*s'): %s", i, (int)min(name.len, 200),
			       name.data, why.text);
	return r < 0 ? r : add_central(u, entry, header);
}

static bool has_packed(const struct zip_directory *zip)
{
	for (size_t i = 0; i < zip_count(zip); i++)
		if (zip_check_stored(zip, i, NULL) < 0)
			return true;
	return false;
}

static int unzip_all(struct unzip *u, struct err *err)
{
	int r = (u->block = malloc(BLOCK)) ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < zip_count(&u->zip); i++)
		r = unzip_entry(u, i, err);
	return r < 0 ? r : put_end(u);
}

int unzip(int from, const char *name, int to, struct err *err)
{
	static const struct foreign_settings none;
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE(foreign_source_release) struct foreign_source source = {0};
	struct unzip u = {.from = from, .to = to};
	int r = reader_file_borrow(from, &reader);

	if (r == 0)
		r = foreign_source_init(&source, reader, name, false, &none, NULL);
	if (r == 0)
		r = zip_probe(&source) == 1 ? 0 : 1;
	/* What is no zip, or damaged, is told by who reads it. */
	if (r == 0)
		r = zip_directory_read(&source, &u.zip, NULL) == 0 && has_packed(&u.zip) ? 0 : 1;
	if (r == 0)
		r = unzip_all(&u, err);
	zip_directory_release(&u.zip);
	buf_release(&u.central);
	free(u.block);
	return r < 0 ? r : r > 0;
}
