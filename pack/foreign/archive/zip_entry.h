/* What an entry of the central directory of a zip says. Any bytes may be given. Pure. */
#pragma once

#include "base/le.h"
#include "pack/foreign/archive/zip_directory.h"

enum { ZIP_CENTRAL_LEN = 46 };

/* The flags of a header. */
static inline bool zip_is_encrypted(const uint8_t *flags)
{
	return le_get16(flags) & 1;
}

/* Takes an entry, with its name and its extra fields, and appends the name, in UTF-8 and with
 * slashes, to `names`. False: damaged, or *ret_error is -ENOMEM. */
bool zip_entry_read(const uint8_t *p, struct zip_entry *ret, struct buf *names, int *ret_error);
