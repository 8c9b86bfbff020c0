/* The files of a zip, by its central directory; zip64 as well. Their bytes are not read.
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
#ifndef PACK_FOREIGN_ARCHIVE_ZIP_DIRECTORY_H
#define PACK_FOREIGN_ARCHIVE_ZIP_DIRECTORY_H

#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"

enum zip_kind { ZIP_FILE, ZIP_FOLDER, ZIP_LINK, ZIP_OTHER };

struct zip_entry {
	uint64_t header; /* of which the offset is that of the local header */
	uint64_t size;
	int64_t mtime; /* nanoseconds */
	uint64_t name; /* in zip_directory.names */
	uint16_t name_len;
	mode_t mode; /* permission bits, with a type; 0: not known */
	enum zip_kind kind;
};

/* All zero: none. */
struct zip_directory {
	struct foreign_source *source;
	struct buf names;
	struct buf entries; /* struct zip_entry, in the order of the directory */
	uint64_t start;	    /* of the central directory */
};

void zip_directory_release(struct zip_directory *zip);

/* Whether the file begins as a zip: 1, 0, or the error of the read. */
int zip_probe(struct foreign_source *source);

/* Reads the central directory. All files must be stored and not encrypted. Returns 0, -EBADMSG,
 * -EOPNOTSUPP (compressed, encrypted, several volumes), -ENOMEM, or the error of the read. err
 * names the entry. */
int zip_directory_read(struct foreign_source *source, struct zip_directory *ret, struct err *err);

size_t zip_count(const struct zip_directory *zip);
const struct zip_entry *zip_entry_at(const struct zip_directory *zip, size_t i);
struct foreign_text zip_name(const struct zip_directory *zip, const struct zip_entry *entry);

/* Where the bytes of an entry begin, by its local header, which must have the same name and method.
 * As zip_directory_read(). */
int zip_place(const struct zip_directory *zip, size_t i, uint64_t *ret, struct err *err);
/* It will be asked for soon. */
void zip_will_place(const struct zip_directory *zip, size_t i);

#endif
