/* What a block of 512 bytes says that is the header of a member of a tar, and what the records of a
 * pax header say of the member behind it. Any bytes may be given. Pure.
 *
 *	name 100 | mode 8 | uid 8 | gid 8 | size 12 | mtime 12 | checksum 8 | type 1 | target 100
 *	| magic 6 | version 2 | user 32 | group 32 | device 16 | prefix of the name 155
 *
 * Numbers are octal digits, or, with the first bit set, binary. A checksum counts its own field as
 * blanks; old programs added signed bytes. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "pack/foreign/archive/tar_holes.h"
#include "pack/foreign/text.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TAR_BLOCK 512u

struct tar_header {
	char type;
	mode_t mode;   /* permission bits, with a type; 0: it is no number */
	uint64_t size; /* less than 2^63 */
	int64_t mtime; /* seconds; 0: it is no number */
};

/* What pax says of one thing. TAR_TAKEN_BACK: the header counts, whatever was said of all members.
 */
enum tar_said { TAR_NOT_SAID, TAR_SAID, TAR_TAKEN_BACK };
enum tar_field { TAR_PATH, TAR_TARGET, TAR_SIZE, TAR_MTIME, TAR_FIELDS };

/* What extended headers say of a member. All zero: nothing. */
struct tar_extra {
	struct buf path, target;
	struct buf class; /* FOLDFS.class */
	struct buf bad;	  /* FOLDFS.bad: why it cannot be taken */
	int64_t label;	  /* FOLDFS.label, */
	bool labelled;	  /* if there is one */
	uint64_t size;
	int64_t mtime; /* nanoseconds */
	enum tar_said said[TAR_FIELDS];
	struct tar_holes holes;
};

void tar_extra_release(struct tar_extra *extra);

/* A field of a header that is a number. No digits mean 0: old programs write folders so. */
bool tar_number(const uint8_t *field, size_t len, int64_t *ret);

/* Whether the checksum is right, which hardly anything but a header has. */
bool tar_header_sound(const uint8_t *block);
bool tar_block_empty(const uint8_t *block);

/* Returns 0, or -EBADMSG: err says that the size is none. A mode or time that is none costs no more
 * than itself. The checksum is not looked at. */
int tar_header_read(const uint8_t *block, struct tar_header *ret, struct err *err);

/* Appends the name, and the target of a link. 0 or -ENOMEM. */
int tar_header_path(const uint8_t *block, struct buf *ret);
int tar_header_target(const uint8_t *block, struct buf *ret);

/* Takes the records of a pax header: "LENGTH KEY=VALUE\n". Returns 0, -EBADMSG or -ENOMEM. A time
 * that is none, or that 64 bits of nanoseconds do not hold, is passed over, as tar does. */
int tar_extra_read(struct tar_extra *extra, const char *records, size_t len, struct err *err);
