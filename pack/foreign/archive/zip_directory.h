/* The files of a zip, by its central directory; zip64 as well. Their bytes are not read. What lies
 * in front of a zip, as the program that unpacks it, or behind it, is passed over.
 *
 *	local header, name, extra, bytes | ... | central directory | end of zip64 | end
 *
 *	local      "PK34" u16 needs, flags, method, time, date, u32 crc, packed, size,
 *		   u16 name, extra
 *	entry      "PK12" u16 made by, needs, flags, method, time, date, u32 crc, packed, size,
 *		   u16 name, extra, comment, disk, internal, u32 attributes,
 *		   u32 offset of the local header
 *	zip64      the end with 64 bits, found by a locator in front of the end
 *	end        "PK56" u16 disk, disk of the directory, entries here, entries,
 *		   u32 bytes of the directory, u32 its offset, u16 bytes of the comment
 *
 * Not thread-safe. */
#pragma once

#include "pack/foreign/archive/archive_tree.h"
#include "pack/foreign/source.h"

#define ZIP_STORED 0 /* a method */

struct zip_entry {
	uint64_t header;       /* of which the offset is that of the local header */
	uint64_t packed, size; /* bytes */
	int64_t mtime;	       /* nanoseconds */
	uint64_t raw;	       /* in zip_directory.names: as the headers have it */
	uint64_t name;	       /* the same: in UTF-8, with slashes */
	uint32_t raw_len, name_len, crc;
	uint16_t method;
	bool encrypted;
	bool ends;		/* compressed by LZMA, with a mark at its end */
	mode_t mode;		/* permission bits, with a type; 0: not known */
	enum archive_kind kind; /* no hard link */
};

/* All zero: none. */
struct zip_directory {
	struct foreign_source *source;
	struct buf names;
	struct buf entries; /* struct zip_entry, in the order of the directory */
	uint64_t start;	    /* of the central directory */
	uint64_t front;	    /* bytes in front of the zip */
	uint64_t behind;    /* and behind it */
};

void zip_directory_release(struct zip_directory *zip);

/* Whether the file begins as a zip, or ends as one and is named as one or begins as a program: 1,
 * 0, or the error of the read. */
int zip_probe(struct foreign_source *source);

/* Reads the central directory. Returns 0, -EBADMSG, -EOPNOTSUPP (several volumes), -ENOMEM, or the
 * error of the read. err names the entry. */
int zip_directory_read(struct foreign_source *source, struct zip_directory *ret, struct err *err);

size_t zip_count(const struct zip_directory *zip);
const struct zip_entry *zip_entry_at(const struct zip_directory *zip, size_t i);
/* In UTF-8, if the zip says or shows in what it is, with slashes between folders. */
struct foreign_text zip_name(const struct zip_directory *zip, const struct zip_entry *entry);

/* Whether there are bytes to read in place: 0, or -EOPNOTSUPP (compressed, encrypted). */
int zip_check_stored(const struct zip_directory *zip, size_t i, struct err *err);

/* Where the bytes of an entry begin, by its local header, which must have the same name and method.
 * As zip_directory_read(). */
int zip_place(const struct zip_directory *zip, size_t i, uint64_t *ret, struct err *err);
/* It will be asked for soon. */
void zip_will_place(const struct zip_directory *zip, size_t i);
