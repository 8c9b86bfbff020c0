#include "pack/foreign/archive/zip_directory.h"
#include "base/le.h"
#include "base/math.h"
#include "base/scope.h"
#include "pack/foreign/archive/zip_entry.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define LOCAL	    0x04034b50u
#define CENTRAL	    0x02014b50u
#define END	    0x06054b50u
#define END64	    0x06064b50u
#define LOCATOR	    0x07064b50u
#define SPANNED	    0x08074b50u
#define SPANNED_NOT 0x30304b50u

enum { LOCAL_LEN = 30, END_LEN = 22, END64_LEN = 56, LOCATOR_LEN = 20 };
enum { COMMENT_MOST = 65535 };
/* As the end says it. */
struct zip_end {
	uint64_t at;  /* of the record that said it */
	uint64_t end; /* of the zip, with its comment */
	uint64_t entries, bytes, offset;
	uint64_t counted; /* the bits of `entries` that the record has */
	uint32_t disk, of_disk;
};

void zip_directory_release(struct zip_directory *zip)
{
	buf_release(&zip->names);
	buf_release(&zip->entries);
}

size_t zip_count(const struct zip_directory *zip)
{
	return BUF_COUNT(&zip->entries, struct zip_entry);
}

const struct zip_entry *zip_entry_at(const struct zip_directory *zip, size_t i)
{
	return BUF_ITEMS(&zip->entries, const struct zip_entry) + i;
}

struct foreign_text zip_name(const struct zip_directory *zip, const struct zip_entry *entry)
{
	return (struct foreign_text){zip->names.data + entry->name, entry->name_len};
}

static int zip_fault(uint64_t number, struct foreign_text name, int code, const char *reason,
		     struct err *err)
{
	return err_set(err, code, "entry %" PRIu64 " ('%.*s'): %s", number, (int)min(name.len, 200),
		       name.len ? name.data : "", reason);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The end of zip64 at an offset: 1; 0: it is not there; or the error of the read. */
static int read_end64_at(struct foreign_source *source, uint64_t at, struct zip_end *ret)
{
	const uint8_t *p;
	size_t len;
	int r;

	if (at > ret->at - LOCATOR_LEN || ret->at - LOCATOR_LEN - at < END64_LEN)
		return 0;
	r = foreign_peek(source, at, END64_LEN, &p, &len);
	if (r < 0 || len < END64_LEN || le_get32(p) != END64)
		return r;
	*ret = (struct zip_end){.at = at,
				.end = ret->end,
				.disk = le_get32(p + 16),
				.of_disk = le_get32(p + 20),
				.entries = le_get64(p + 32),
				.counted = UINT64_MAX,
				.bytes = le_get64(p + 40),
				.offset = le_get64(p + 48)};
	return 1;
}

/* Takes the fields of zip64, if it is there, in front of the end. Where something lies in front of
 * the zip, its locator is wrong by as much. */
static int read_end64(struct foreign_source *source, struct zip_end *ret, struct err *err)
{
	const uint8_t *p;
	uint64_t at;
	int r;

	if (ret->at < LOCATOR_LEN)
		return 0;
	r = foreign_get(source, ret->at - LOCATOR_LEN, LOCATOR_LEN, &p, err);
	if (r < 0 || le_get32(p) != LOCATOR)
		return r;
	at = le_get64(p + 8);
	r = read_end64_at(source, at, ret);
	if (r == 0 && ret->at >= LOCATOR_LEN + END64_LEN)
		r = read_end64_at(source, ret->at - LOCATOR_LEN - END64_LEN, ret);
	if (r == 0)
		r = err_set(err, -EBADMSG, "the end of zip64 is not where its locator says");
	return r < 0 ? r : 0;
}

/* Whether an entry begins there: 1, 0, or the error of the read. */
static int is_central(struct foreign_source *source, uint64_t at)
{
	const uint8_t *p;
	size_t len;
	int r = foreign_peek(source, at, 4, &p, &len);

	return r < 0 ? r : len == 4 && le_get32(p) == CENTRAL;
}

/* Finds the central directory: in front of the end, where the end says, or both. Where it is not
 * where the end says, something lies in front of the zip. 1, 0, or the error of a read. */
static int find_directory(struct foreign_source *source, const struct zip_end *end,
			  uint64_t *ret_start, uint64_t *ret_front)
{
	uint64_t start = end->at - end->bytes;
	int r;

	if (end->bytes > end->at || end->offset > end->at)
		return 0;
	r = end->bytes ? is_central(source, start) : 1;
	*ret_start = start;
	*ret_front = start - end->offset;
	if (r < 0 || (r && start >= end->offset))
		return r;
	*ret_start = end->offset;
	*ret_front = 0;
	return end->bytes <= end->at - end->offset ? is_central(source, end->offset) : 0;
}

static struct zip_end end_of(const uint8_t *p, uint64_t at, uint64_t size)
{
	return (struct zip_end){.at = at,
				.end = min(at + END_LEN + le_get16(p + 20), size),
				.disk = le_get16(p + 4),
				.of_disk = le_get16(p + 6),
				.entries = le_get16(p + 10),
				.counted = UINT16_MAX,
				.bytes = le_get32(p + 12),
				.offset = le_get32(p + 16)};
}

static int check_zip_end(const struct zip_end *end, struct err *err)
{
	if (end->disk || end->of_disk)
		return err_set(err, -EOPNOTSUPP, "one of several volumes of a zip");
	return err_set(err, -EBADMSG,
		       "the central directory, %" PRIu64 " bytes at %" PRIu64
		       ", is not in front of the end at %" PRIu64,
		       end->bytes, end->offset, end->at);
}

/* Takes an end, if its directory is there: 1; 0 with err, which says why not; or the error of a
 * read. */
static int take_end(struct zip_directory *zip, struct zip_end *end, struct err *err)
{
	int r = read_end64(zip->source, end, err);

	if (r == 0 && !end->disk && !end->of_disk)
		r = find_directory(zip->source, end, &zip->start, &zip->front);
	zip->behind = zip->source->size - end->end;
	if (r == 0)
		r = check_zip_end(end, err);
	return r == -EBADMSG || r == -EOPNOTSUPP ? 0 : r;
}

/* The last one that has a directory. Sets the places of the zip. */
static int find_end(struct zip_directory *zip, struct zip_end *ret, struct err *err)
{
	struct foreign_source *source = zip->source;
	uint64_t most = min(source->size, END_LEN + COMMENT_MOST), start = source->size - most;
	SCOPE(buf_release) struct buf tail = BUF_INIT; /* other reads come between */
	struct err why = {0};
	const uint8_t *p;
	int r = foreign_get(source, start, (size_t)most, &p, err);

	if (r == 0)
		r = buf_add(&tail, p, (size_t)most);
	for (uint64_t i = most; r == 0 && i-- > 0;) {
		p = (const uint8_t *)tail.data + i;
		if (most - i < END_LEN || le_get32(p) != END)
			continue;
		*ret = end_of(p, start + i, source->size);
		r = take_end(zip, ret, why.text[0] ? NULL : &why);
	}
	if (r != 0)
		return r < 0 ? r : 0;
	if (why.text[0])
		return err_set(err, strstr(why.text, "volumes") ? -EOPNOTSUPP : -EBADMSG, "%s",
			       why.text);
	return err_set(err, -EBADMSG, "truncated: no end of a zip in it");
}

/* "PK00" and "PK78" stand in front of what was made for several volumes, and fits in one. */
static bool begins_as_zip(const uint8_t *head, size_t len)
{
	uint32_t magic = len < 4 ? 0 : le_get32(head);

	return magic == LOCAL || magic == END || magic == SPANNED || magic == SPANNED_NOT;
}

/* What unpacks itself begins as a program. */
static bool may_be_behind(const struct foreign_source *source, const uint8_t *head, size_t len)
{
	struct foreign_text path = {source->path, strlen(source->path)};
	const struct foreign_text suffix = foreign_text_after(path, '.');

	return (suffix.len == 3 && strncasecmp(suffix.data, "zip", 3) == 0) ||
	       (len >= 2 && (memcmp(head, "MZ", 2) == 0 || memcmp(head, "#!", 2) == 0));
}

int zip_probe(struct foreign_source *source)
{
	struct zip_directory zip = {.source = source};
	const uint8_t *head;
	struct zip_end end;
	size_t len;
	int r = foreign_peek(source, 0, 4, &head, &len);

	if (r < 0 || begins_as_zip(head, len))
		return r < 0 ? r : 1;
	if (source->size < END_LEN || !may_be_behind(source, head, len))
		return 0;
	r = find_end(&zip, &end, NULL);
	return r == -EBADMSG || r == -EOPNOTSUPP ? 0 : r < 0 ? r : 1;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* p: the entry, its name and its extra. */
static int take_zip_entry(struct zip_directory *zip, uint64_t number, const uint8_t *p,
			  struct err *err)
{
	struct foreign_text raw = {(const char *)p + ZIP_CENTRAL_LEN, le_get16(p + 28)};
	struct zip_entry entry = {.raw = zip->names.len, .raw_len = (uint32_t)raw.len};
	int r = buf_add(&zip->names, raw.data, raw.len);

	if (r < 0)
		return r;
	entry.name = zip->names.len;
	if (!zip_entry_read(p, &entry, &zip->names, &r))
		return r < 0 ? r : zip_fault(number, raw, -EBADMSG, "damaged extra fields", err);
	entry.name_len = (uint32_t)(zip->names.len - entry.name);
	if (entry.method == ZIP_STORED && !entry.encrypted && entry.packed != entry.size)
		return zip_fault(number, raw, -EBADMSG, "stored, but of two sizes", err);
	if (le_get16(p + 34) != 0)
		return zip_fault(number, raw, -EOPNOTSUPP, "in another volume of the zip", err);
	if (entry.header > zip->start - zip->front ||
	    entry.packed > zip->start - zip->front - entry.header)
		return zip_fault(number, raw, -EBADMSG, "not in front of the central directory",
				 err);
	entry.header += zip->front;
	return buf_add(&zip->entries, &entry, sizeof(entry));
}

/* Up to the end of the directory: without zip64, the end has the lower 16 bits of the count. */
static int read_entries(struct zip_directory *zip, const struct zip_end *end, struct err *err)
{
	uint64_t at = zip->start, stop = at + end->bytes, i = 0;

	for (; at < stop; i++) {
		const uint8_t *p;
		uint64_t len = ZIP_CENTRAL_LEN;
		int r;

		if (stop - at < len)
			return err_set(err, -EBADMSG,
				       "entry %" PRIu64 ": behind the central directory", i);
		r = foreign_get(zip->source, at, (size_t)len, &p, err);
		if (r < 0)
			return r;
		if (le_get32(p) != CENTRAL)
			return err_set(err, -EBADMSG, "entry %" PRIu64 ": no entry at %" PRIu64, i,
				       at);
		len += (uint64_t)le_get16(p + 28) + le_get16(p + 30);
		if (stop - at < len + le_get16(p + 32))
			return err_set(err, -EBADMSG,
				       "entry %" PRIu64 ": longer than the central directory", i);
		r = foreign_get(zip->source, at, (size_t)len, &p, err);
		if (r == 0)
			r = take_zip_entry(zip, i, p, err);
		if (r < 0)
			return r;
		at += len + le_get16(p + 32);
	}
	if ((i & end->counted) != end->entries)
		return err_set(err, -EBADMSG,
			       "its end counts %" PRIu64 " entries, its directory has %" PRIu64,
			       end->entries, i);
	return 0;
}

int zip_directory_read(struct foreign_source *source, struct zip_directory *ret, struct err *err)
{
	struct zip_end end = {0};
	int r;

	ret->source = source;
	r = find_end(ret, &end, err);
	return r < 0 ? r : read_entries(ret, &end, err);
}

/* --- bytes ------------------------------------------------------------------------------------ */

int zip_check_stored(const struct zip_directory *zip, size_t i, struct err *err)
{
	const struct zip_entry *entry = zip_entry_at(zip, i);

	if (entry->kind == ARCHIVE_FOLDER || entry->size == 0)
		return 0;
	if (entry->encrypted)
		return zip_fault(i, zip_name(zip, entry), -EOPNOTSUPP,
				 "encrypted: unpack the zip and pack the folder", err);
	if (entry->method != ZIP_STORED)
		return zip_fault(i, zip_name(zip, entry), -EOPNOTSUPP,
				 "compressed, so that there is nothing to read in place: 'zip -0' "
				 "stores, and 'foldpack create' makes a pack of it",
				 err);
	return 0;
}

int zip_place(const struct zip_directory *zip, size_t i, uint64_t *ret, struct err *err)
{
	const struct zip_entry *entry = zip_entry_at(zip, i);
	struct foreign_text name = zip_name(zip, entry);
	const char *raw = zip->names.data + entry->raw;
	uint64_t len = LOCAL_LEN + (uint64_t)entry->raw_len, place;
	const uint8_t *p;
	int r;

	if (len > zip->start - entry->header)
		return zip_fault(i, name, -EBADMSG, "its local header is cut off", err);
	r = foreign_get(zip->source, entry->header, (size_t)len, &p, err);
	if (r < 0)
		return r;
	if (le_get32(p) != LOCAL || le_get16(p + 26) != entry->raw_len ||
	    (entry->raw_len && memcmp(p + LOCAL_LEN, raw, entry->raw_len) != 0) ||
	    le_get16(p + 8) != entry->method || zip_is_encrypted(p + 6) != entry->encrypted)
		return zip_fault(i, name, -EBADMSG, "its local header is another one", err);
	place = entry->header + len + le_get16(p + 28);
	if (place > zip->start || entry->packed > zip->start - place)
		return zip_fault(i, name, -EBADMSG, "not in front of the central directory", err);
	*ret = place;
	return 0;
}

void zip_will_place(const struct zip_directory *zip, size_t i)
{
	const struct zip_entry *entry = zip_entry_at(zip, i);

	foreign_will_get(zip->source, entry->header, LOCAL_LEN + (size_t)entry->raw_len);
}
