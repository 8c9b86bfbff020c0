#include "pack/foreign/archive/zip_directory.h"
#include "base/le.h"
#include "base/math.h"
#include "base/size.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LOCAL	0x04034b50u
#define CENTRAL 0x02014b50u
#define END	0x06054b50u
#define END64	0x06064b50u
#define LOCATOR 0x07064b50u

enum { LOCAL_LEN = 30, CENTRAL_LEN = 46, END_LEN = 22, END64_LEN = 56, LOCATOR_LEN = 20 };
enum { COMMENT_MOST = 65535 };
enum { ENCRYPTED = 1 };			       /* a flag */
enum { UNIX = 3, MACOS = 19 };		       /* who made it */
enum { EXTRA_ZIP64 = 1, EXTRA_TIME = 0x5455 }; /* kinds of extra fields */

/* As the end says it. */
struct zip_end {
	uint64_t at; /* of the record that said it */
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

int zip_probe(struct foreign_source *source)
{
	const uint8_t *head;
	size_t len;
	int r = foreign_peek(source, 0, 4, &head, &len);

	return r < 0 ? r : len == 4 && (le_get32(head) == LOCAL || le_get32(head) == END);
}

static int zip_fault(uint64_t number, struct foreign_text name, int code, const char *reason,
		     struct err *err)
{
	return err_set(err, code, "entry %" PRIu64 " ('%.*s'): %s", number, (int)min(name.len, 200),
		       name.len ? name.data : "", reason);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Takes the fields of zip64, if it is there, in front of the end. */
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
	if (at > ret->at - LOCATOR_LEN || ret->at - LOCATOR_LEN - at < END64_LEN)
		return err_set(err, -EBADMSG, "the end of zip64 is not where its locator says");
	r = foreign_get(source, at, END64_LEN, &p, err);
	if (r < 0)
		return r;
	if (le_get32(p) != END64)
		return err_set(err, -EBADMSG, "the end of zip64 is not where its locator says");
	*ret = (struct zip_end){.at = at,
				.disk = le_get32(p + 16),
				.of_disk = le_get32(p + 20),
				.entries = le_get64(p + 32),
				.counted = UINT64_MAX,
				.bytes = le_get64(p + 40),
				.offset = le_get64(p + 48)};
	return 0;
}

/* The last one whose comment ends where the file does. */
static int find_end(struct foreign_source *source, struct zip_end *ret, struct err *err)
{
	uint64_t most = min(source->size, END_LEN + COMMENT_MOST), start = source->size - most;
	const uint8_t *p;
	int r = foreign_get(source, start, (size_t)most, &p, err);

	if (r < 0)
		return r;
	for (uint64_t i = most; i-- > 0;) {
		if (most - i < END_LEN || le_get32(p + i) != END ||
		    le_get16(p + i + 20) != most - i - END_LEN)
			continue;
		*ret = (struct zip_end){.at = start + i,
					.disk = le_get16(p + i + 4),
					.of_disk = le_get16(p + i + 6),
					.entries = le_get16(p + i + 10),
					.counted = UINT16_MAX,
					.bytes = le_get32(p + i + 12),
					.offset = le_get32(p + i + 16)};
		return read_end64(source, ret, err);
	}
	return err_set(err, -EBADMSG, "truncated: no end of a zip in it");
}

static int check_zip_end(const struct zip_end *end, struct err *err)
{
	if (end->disk || end->of_disk)
		return err_set(err, -EOPNOTSUPP, "one of several volumes of a zip");
	if (end->offset > end->at || end->bytes > end->at - end->offset)
		return err_set(err, -EBADMSG,
			       "the central directory, %" PRIu64 " bytes at %" PRIu64
			       ", is not in front of the end at %" PRIu64,
			       end->bytes, end->offset, end->at);
	if (end->offset + end->bytes < end->at)
		return err_set(err, -EBADMSG,
			       "%" PRIu64
			       " bytes lie between the central directory and the end, or "
			       "in front of the zip",
			       end->at - end->offset - end->bytes);
	return 0;
}

/* --- extra fields ----------------------------------------------------------------------------- */

struct zip_sizes {
	uint64_t packed, size, header;
};

/* A number that does not fit into 32 bits is in the extra field; these follow each other. */
static bool take_zip64(uint64_t *field, const uint8_t **at, const uint8_t *end)
{
	if (*field != UINT32_MAX)
		return true;
	if (end - *at < 8)
		return false;
	*field = le_get64(*at);
	*at += 8;
	return true;
}

static bool read_extra(const uint8_t *p, size_t len, struct zip_sizes *sizes, int64_t *mtime)
{
	const uint8_t *end = p + len;

	while (end - p >= 4) {
		uint16_t kind = le_get16(p), bytes = le_get16(p + 2);
		const uint8_t *at = p + 4, *stop = at + bytes;

		if (stop > end)
			return false;
		if (kind == EXTRA_ZIP64 && (!take_zip64(&sizes->size, &at, stop) ||
					    !take_zip64(&sizes->packed, &at, stop) ||
					    !take_zip64(&sizes->header, &at, stop)))
			return false;
		if (kind == EXTRA_TIME && bytes >= 5 && *at & 1)
			*mtime = (int64_t)(int32_t)le_get32(at + 1) * 1000000000;
		p = stop;
	}
	return true;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* The time of MS-DOS has no zone; it is taken as UTC. */
static int64_t dos_time(uint16_t date, uint16_t time)
{
	struct tm tm = {.tm_year = (date >> 9) + 80,
			.tm_mon = (date >> 5 & 15) - 1,
			.tm_mday = date & 31,
			.tm_hour = time >> 11,
			.tm_min = time >> 5 & 63,
			.tm_sec = (time & 31) * 2};

	return (int64_t)timegm(&tm) * 1000000000;
}

static void set_kind(struct zip_entry *entry, const uint8_t *p, struct foreign_text name)
{
	uint32_t attributes = le_get32(p + 38) >> 16;
	bool of_unix = (p[5] == UNIX || p[5] == MACOS) && attributes;

	if (of_unix)
		entry->mode = attributes & (S_IFMT | 07777);
	if (name.len && name.data[name.len - 1] == '/')
		entry->kind = ZIP_FOLDER;
	else if (of_unix && S_ISLNK(attributes))
		entry->kind = ZIP_LINK;
	else if (of_unix && attributes & S_IFMT && !S_ISREG(attributes))
		entry->kind = ZIP_OTHER;
}

static int check_method(uint64_t number, const uint8_t *p, struct foreign_text name,
			const struct zip_sizes *sizes, struct err *err)
{
	if (le_get16(p + 8) & ENCRYPTED)
		return zip_fault(number, name, -EOPNOTSUPP, "encrypted", err);
	if (le_get16(p + 10) != 0)
		return zip_fault(number, name, -EOPNOTSUPP,
				 "compressed, so that there is nothing to read in place: 'zip -0' "
				 "stores, and 'foldpack create' makes a pack of it",
				 err);
	if (sizes->packed != sizes->size)
		return zip_fault(number, name, -EBADMSG, "stored, but of two sizes", err);
	if (le_get16(p + 34) != 0)
		return zip_fault(number, name, -EOPNOTSUPP, "in another volume of the zip", err);
	return 0;
}

/* p: the entry, its name and its extra. */
static int take_zip_entry(struct zip_directory *zip, uint64_t number, const uint8_t *p,
			  struct err *err)
{
	struct foreign_text name = {(const char *)p + CENTRAL_LEN, le_get16(p + 28)};
	struct zip_sizes sizes = {le_get32(p + 20), le_get32(p + 24), le_get32(p + 42)};
	struct zip_entry entry = {.name = zip->names.len,
				  .name_len = (uint16_t)name.len,
				  .mtime = dos_time(le_get16(p + 14), le_get16(p + 12))};
	int r;

	if (!read_extra(p + CENTRAL_LEN + name.len, le_get16(p + 30), &sizes, &entry.mtime))
		return zip_fault(number, name, -EBADMSG, "damaged extra fields", err);
	r = check_method(number, p, name, &sizes, err);
	if (r < 0)
		return r;
	if (sizes.header > zip->start || sizes.size > zip->start - sizes.header)
		return zip_fault(number, name, -EBADMSG, "not in front of the central directory",
				 err);
	entry.header = sizes.header;
	entry.size = sizes.size;
	set_kind(&entry, p, name);
	r = buf_add(&zip->names, name.data, name.len);
	return r < 0 ? r : buf_add(&zip->entries, &entry, sizeof(entry));
}

/* Up to the end of the directory: without zip64, the end has the lower 16 bits of the count. */
static int read_entries(struct zip_directory *zip, const struct zip_end *end, struct err *err)
{
	uint64_t at = end->offset, stop = end->offset + end->bytes, i = 0;

	for (; at < stop; i++) {
		const uint8_t *p;
		uint64_t len = CENTRAL_LEN;
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
	int r = find_end(source, &end, err);

	if (r == 0)
		r = check_zip_end(&end, err);
	if (r < 0)
		return r;
	ret->source = source;
	ret->start = end.offset;
	return read_entries(ret, &end, err);
}

int zip_place(const struct zip_directory *zip, size_t i, uint64_t *ret, struct err *err)
{
	const struct zip_entry *entry = zip_entry_at(zip, i);
	struct foreign_text name = zip_name(zip, entry);
	uint64_t len = LOCAL_LEN + name.len, place;
	const uint8_t *p;
	int r;

	if (len > zip->start - entry->header)
		return zip_fault(i, name, -EBADMSG, "its local header is cut off", err);
	r = foreign_get(zip->source, entry->header, (size_t)len, &p, err);
	if (r < 0)
		return r;
	if (le_get32(p) != LOCAL || le_get16(p + 26) != name.len ||
	    (name.len && memcmp(p + LOCAL_LEN, name.data, name.len) != 0) || le_get16(p + 8) != 0 ||
	    le_get16(p + 6) & ENCRYPTED)
		return zip_fault(i, name, -EBADMSG, "its local header is another one", err);
	place = entry->header + len + le_get16(p + 28);
	if (place > zip->start || entry->size > zip->start - place)
		return zip_fault(i, name, -EBADMSG, "not in front of the central directory", err);
	*ret = place;
	return 0;
}

void zip_will_place(const struct zip_directory *zip, size_t i)
{
	const struct zip_entry *entry = zip_entry_at(zip, i);

	foreign_will_get(zip->source, entry->header, LOCAL_LEN + (size_t)entry->name_len);
}
