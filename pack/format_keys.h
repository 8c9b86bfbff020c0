/* The keys of the records of a pack: from paths and sections to keys, and from a key back to what
 * it stands for. Part of the format, see format.h. Pure. */
#pragma once

#include "pack/format.h"

struct format_key {
	uint8_t data[FORMAT_KEY_MAX];
	size_t len;
};

void format_key_super(struct format_key *key);
void format_key_section(enum format_section section, struct format_key *key);
/* The key of a file that is not split: its path, or the hashed key where that is too long. */
void format_key_path(const char *path, size_t len, struct format_key *key);
void format_key_part(const char *path, size_t len, uint32_t part, struct format_key *key);

/* What a key is. RESERVED: of a later version. NONE: longer than liblmdb writes. */
enum format_key_kind {
	KEY_SUPER,
	KEY_SECTION,
	KEY_PART,
	KEY_HASHED,
	KEY_RESERVED,
	KEY_PATH,
	KEY_NONE
};
enum format_key_kind format_key_classify(const uint8_t *data, size_t len);
/* The section that has this key; SECTION_COUNT: none that is known. */
enum format_section format_key_to_section(const uint8_t *data, size_t len);
