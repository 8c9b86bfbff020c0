#include "pack/foreign/archive/zip_entry.h"
#include "base/utf8.h"
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { UTF8 = 1 << 11 };						/* a flag */
enum { FAT = 0, UNIX = 3, HPFS = 6, NTFS = 10, VFAT = 14, MACOS = 19 }; /* who made it */
/* Kinds of extra fields. */
enum { EXTRA_ZIP64 = 1, EXTRA_TIME = 0x5455, EXTRA_UNIX = 0x5855, EXTRA_PATH = 0x7075 };

/* --- extra fields ----------------------------------------------------------------------------- */

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

static int64_t unix_time(const uint8_t *p)
{
	return (int64_t)(int32_t)le_get32(p) * 1000000000;
}

static uint32_t crc_of(struct foreign_text text)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < text.len; i++) {
		crc ^= (uint8_t)text.data[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* The name in UTF-8, if it belongs to the one that the header has: programs that know nothing of
 * this field may have changed that. */
static void take_unicode(const uint8_t *p, size_t len, struct foreign_text raw,
			 struct foreign_text *ret)
{
	if (len > 5 && p[0] == 1 && le_get32(p + 1) == crc_of(raw))
		*ret = (struct foreign_text){(const char *)p + 5, len - 5};
}

static bool read_extra(const uint8_t *p, size_t len, struct zip_entry *entry,
		       struct foreign_text raw, struct foreign_text *unicode)
{
	const uint8_t *end = p + len;

	while (end - p >= 4) {
		uint16_t kind = le_get16(p), bytes = le_get16(p + 2);
		const uint8_t *at = p + 4, *stop = at + bytes;

		if (stop > end) /* unzip passes over it, too */
			return true;
		if (kind == EXTRA_ZIP64 && (!take_zip64(&entry->size, &at, stop) ||
					    !take_zip64(&entry->packed, &at, stop) ||
					    !take_zip64(&entry->header, &at, stop)))
			return false;
		if (kind == EXTRA_TIME && bytes >= 5 && *at & 1)
			entry->mtime = unix_time(at + 1);
		if (kind == EXTRA_UNIX && bytes >= 8)
			entry->mtime = unix_time(at + 4);
		if (kind == EXTRA_PATH)
			take_unicode(at, bytes, raw, unicode);
		p = stop;
	}
	return true;
}

/* --- names ------------------------------------------------------------------------------------ */

static bool is_utf8(struct foreign_text text)
{
	uint32_t code;

	for (size_t at = 0, len; at < text.len; at += len) {
		len = utf8_decode(text.data + at, text.len - at, &code);
		if (len == 0)
			return false;
	}
	return true;
}

/* The upper half of the character set of MS-DOS, which names of a zip are in unless it says
 * otherwise. */
static const uint16_t cp437[] = {
	0xc7,	0xfc,	0xe9,	0xe2,	0xe4,	0xe0,	0xe5,	0xe7,	0xea,	0xeb,	0xe8,
	0xef,	0xee,	0xec,	0xc4,	0xc5,	0xc9,	0xe6,	0xc6,	0xf4,	0xf6,	0xf2,
	0xfb,	0xf9,	0xff,	0xd6,	0xdc,	0xa2,	0xa3,	0xa5,	0x20a7, 0x192,	0xe1,
	0xed,	0xf3,	0xfa,	0xf1,	0xd1,	0xaa,	0xba,	0xbf,	0x2310, 0xac,	0xbd,
	0xbc,	0xa1,	0xab,	0xbb,	0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561, 0x2562,
	0x2556, 0x2555, 0x2563, 0x2551, 0x2557, 0x255d, 0x255c, 0x255b, 0x2510, 0x2514, 0x2534,
	0x252c, 0x251c, 0x2500, 0x253c, 0x255e, 0x255f, 0x255a, 0x2554, 0x2569, 0x2566, 0x2560,
	0x2550, 0x256c, 0x2567, 0x2568, 0x2564, 0x2565, 0x2559, 0x2558, 0x2552, 0x2553, 0x256b,
	0x256a, 0x2518, 0x250c, 0x2588, 0x2584, 0x258c, 0x2590, 0x2580, 0x3b1,	0xdf,	0x393,
	0x3c0,	0x3a3,	0x3c3,	0xb5,	0x3c4,	0x3a6,	0x398,	0x3a9,	0x3b4,	0x221e, 0x3c6,
	0x3b5,	0x2229, 0x2261, 0xb1,	0x2265, 0x2264, 0x2320, 0x2321, 0xf7,	0x2248, 0xb0,
	0x2219, 0xb7,	0x221a, 0x207f, 0xb2,	0x25a0, 0xa0,
};
_Static_assert(sizeof(cp437) / sizeof(cp437[0]) == 128, "the upper half");

static int add_of_dos(struct buf *names, struct foreign_text text)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < text.len; i++) {
		uint8_t byte = (uint8_t)text.data[i];
		char utf8[4];

		r = buf_add(names, utf8,
			    utf8_encode(byte < 0x80 ? byte : cp437[byte - 0x80], utf8));
	}
	return r;
}

static bool is_of_dos(uint8_t host)
{
	return host == FAT || host == HPFS || host == NTFS || host == VFAT;
}

/* Programs of Windows have written backslashes between folders, against the rules. */
static void turn_slashes(char *name, size_t len)
{
	if (memchr(name, '/', len))
		return;
	for (size_t i = 0; i < len; i++)
		if (name[i] == '\\')
			name[i] = '/';
}

/* Unix writes whatever bytes its names have, and many a program UTF-8 without saying so. */
static int add_name(const uint8_t *p, struct foreign_text raw, struct foreign_text unicode,
		    struct buf *names)
{
	bool dos = is_of_dos(p[5]), says = le_get16(p + 8) & UTF8;
	size_t begin = names->len;
	int r;

	if (unicode.data)
		r = buf_add(names, unicode.data, unicode.len);
	else if (dos && !says && !is_utf8(raw))
		r = add_of_dos(names, raw);
	else
		r = buf_add(names, raw.data, raw.len);
	if (r == 0 && dos && names->len > begin)
		turn_slashes(names->data + begin, names->len - begin);
	return r;
}

/* --- an entry --------------------------------------------------------------------------------- */

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

static enum archive_kind kind_of_mode(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFLNK:
		return ARCHIVE_SYMLINK;
	case S_IFIFO:
		return ARCHIVE_PIPE;
	case S_IFSOCK:
		return ARCHIVE_SOCKET;
	case S_IFCHR:
	case S_IFBLK:
		return ARCHIVE_DEVICE;
	default:
		return ARCHIVE_FILE;
	}
}

static void set_kind(struct zip_entry *entry, const uint8_t *p, const struct buf *names)
{
	uint32_t attributes = le_get32(p + 38) >> 16;
	bool of_unix = (p[5] == UNIX || p[5] == MACOS) && attributes;
	bool slash = names->len > entry->name && names->data[names->len - 1] == '/';

	if (of_unix)
		entry->mode = attributes & (S_IFMT | 07777);
	entry->kind = slash ? ARCHIVE_FOLDER : of_unix ? kind_of_mode(attributes) : ARCHIVE_FILE;
}

bool zip_entry_read(const uint8_t *p, struct zip_entry *ret, struct buf *names, int *ret_error)
{
	struct foreign_text raw = {(const char *)p + ZIP_CENTRAL_LEN, le_get16(p + 28)};
	struct foreign_text unicode = {0};

	*ret_error = 0;
	ret->encrypted = zip_is_encrypted(p + 8);
	ret->ends = le_get16(p + 8) & 2;
	ret->method = le_get16(p + 10);
	ret->mtime = dos_time(le_get16(p + 14), le_get16(p + 12));
	ret->crc = le_get32(p + 16);
	ret->packed = le_get32(p + 20);
	ret->size = le_get32(p + 24);
	ret->header = le_get32(p + 42);
	if (!read_extra(p + ZIP_CENTRAL_LEN + raw.len, le_get16(p + 30), ret, raw, &unicode))
		return false;
	*ret_error = add_name(p, raw, unicode, names);
	set_kind(ret, p, names);
	return *ret_error == 0;
}
