#include "base/le.h"
#include "pack/format_keys.h"
#include <errno.h>
#include <stdio.h>
#include <xxhash.h>

#if XXH_VERSION_NUMBER < 800
#error "foldfs needs xxHash 0.8.0: before, XXH3 gave other values"
#endif

/* The superblock on disk, little-endian:
 *
 *	  0  "foldfs\r\n"            a transfer that changes line ends changes this first
 *	  8  u32 version, u32 number of sections
 *	 16  u64 compat, u64 incompat
 *	 32  6 x u64 counts
 *	 80  16 bytes id
 *	 96  7 x u64 LMDB state
 *	152  sections: u64 offset, bytes, count, checksum; u32 width, u32 zero
 *	  :    up to 97 of them
 *	4064 u64 inputs that were left out
 *	4072 16 bytes content id
 *	4088 u64 XXH3-64 of all before
 */
#define SUPER_MAGIC	    "foldfs\r\n"
#define SUPER_UNFINISHED    "foldfs part\r\n" /* 16 bytes with its NULs; then the run */
#define SUPER_HEAD	    16
#define SUPER_ID	    80
#define SUPER_LMDB	    96
#define SUPER_SECTIONS	    152
#define SUPER_SECTION_BYTES 40
#define SUPER_CHECKSUM	    (FORMAT_SUPER_BYTES - 8)
#define SUPER_CONTENT_ID    (SUPER_CHECKSUM - FORMAT_ID_BYTES)
#define SUPER_LEFT_OUT	    (SUPER_CONTENT_ID - 8)
#define SUPER_SECTIONS_MAX  ((SUPER_LEFT_OUT - SUPER_SECTIONS) / SUPER_SECTION_BYTES)

static const char key_super[] = "\0foldfs";
static const char key_part[] = "\0part.";
static const char key_hashed[] = "\0path.";
#define LITERAL_LEN(literal) (sizeof(literal) - 1)
#define PART_DIGITS	     8

static const char *const section_names[SECTION_COUNT] = {
	[SECTION_NAMES] = "names", [SECTION_NAME_END] = "name-end", [SECTION_PARENT] = "parent",
	[SECTION_KIND] = "kind",   [SECTION_START] = "start",	    [SECTION_SIZE] = "size",
	[SECTION_PARTS] = "parts", [SECTION_TARGETS] = "targets",   [SECTION_CHECKSUMS] = "sums",
	[SECTION_MODE] = "mode",   [SECTION_MTIME] = "mtime",	    [SECTION_IMAGE] = "image",
	[SECTION_WIDTH] = "width", [SECTION_HEIGHT] = "height",	    [SECTION_OPTIONS] = "options",
};

const char *format_section_name(enum format_section section)
{
	return section_names[section];
}

/* The u64 fields in the order of the disk. */
#define SUPER_FIELD(name) offsetof(struct format_super, name)
#define REF_FIELD(name)	  offsetof(struct format_section_ref, name)
static const uint16_t head_fields[] = {
	SUPER_FIELD(compat),	  SUPER_FIELD(incompat), SUPER_FIELD(entries),	 SUPER_FIELD(files),
	SUPER_FIELD(directories), SUPER_FIELD(symlinks), SUPER_FIELD(hardlinks), SUPER_FIELD(bytes),
};
static const uint16_t lmdb_fields[] = {
	SUPER_FIELD(lmdb.txnid),      SUPER_FIELD(lmdb.root),
	SUPER_FIELD(lmdb.last_page),  SUPER_FIELD(lmdb.branch_pages),
	SUPER_FIELD(lmdb.leaf_pages), SUPER_FIELD(lmdb.overflow_pages),
	SUPER_FIELD(lmdb.entries),
};
static const uint16_t ref_fields[] = {
	REF_FIELD(offset),
	REF_FIELD(bytes),
	REF_FIELD(count),
	REF_FIELD(checksum),
};
#define FIELDS(list) list, sizeof(list) / sizeof(*(list))

static void put_fields(uint8_t *out, const void *from, const uint16_t *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		le_put64(out + 8 * i, *(const uint64_t *)((const char *)from + fields[i]));
}

static void get_fields(const uint8_t *data, void *to, const uint16_t *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*(uint64_t *)((char *)to + fields[i]) = le_get64(data + 8 * i);
}

static size_t section_at(size_t section)
{
	return SUPER_SECTIONS + SUPER_SECTION_BYTES * section;
}

void format_super_encode(const struct format_super *super, uint8_t out[FORMAT_SUPER_BYTES])
{
	memset(out, 0, FORMAT_SUPER_BYTES);
	memcpy(out, SUPER_MAGIC, 8);
	le_put32(out + 8, super->version);
	le_put32(out + 12, SECTION_COUNT);
	put_fields(out + SUPER_HEAD, super, FIELDS(head_fields));
	memcpy(out + SUPER_ID, super->id, sizeof(super->id));
	le_put64(out + SUPER_LEFT_OUT, super->left_out);
	memcpy(out + SUPER_CONTENT_ID, super->content_id, sizeof(super->content_id));
	put_fields(out + SUPER_LMDB, super, FIELDS(lmdb_fields));
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		put_fields(out + section_at(i), &super->sections[i], FIELDS(ref_fields));
		le_put32(out + section_at(i) + 32, super->sections[i].width);
	}
	le_put64(out + SUPER_CHECKSUM, XXH3_64bits(out, SUPER_CHECKSUM));
}

void format_super_unfinished(const uint8_t run[FORMAT_RUN_BYTES], uint8_t out[FORMAT_SUPER_BYTES])
{
	memset(out, 0, FORMAT_SUPER_BYTES);
	memcpy(out, SUPER_UNFINISHED, LITERAL_LEN(SUPER_UNFINISHED));
	memcpy(out + 16, run, FORMAT_RUN_BYTES);
}

int format_super_decode(const uint8_t *data, size_t len, struct format_super *ret, struct err *err)
{
	struct format_super super = {0};
	uint64_t unknown;

	if (len >= 16 && memcmp(data, SUPER_UNFINISHED, sizeof(SUPER_UNFINISHED)) == 0)
		return err_set(err, -EINPROGRESS, "an unfinished pack");
	if (len < FORMAT_SUPER_BYTES || memcmp(data, SUPER_MAGIC, 8) != 0)
		return err_set(err, -EBADMSG, "damaged superblock: bad magic");
	/* These come before the checksum: a later version may have moved its place. */
	if (le_get32(data + 8) != FORMAT_VERSION)
		return err_set(err, -EPROTONOSUPPORT,
			       "pack format version %u; this foldfs reads version %u",
			       le_get32(data + 8), FORMAT_VERSION);
	unknown = le_get64(data + 24) & ~FORMAT_INCOMPAT_KNOWN;
	if (unknown)
		return err_set(err, -EPROTONOSUPPORT,
			       "the pack uses feature bits 0x%llx that this foldfs does not know",
			       (unsigned long long)unknown);
	if (le_get64(data + SUPER_CHECKSUM) != XXH3_64bits(data, SUPER_CHECKSUM))
		return err_set(err, -EBADMSG, "damaged superblock: checksum mismatch");
	/* Later versions may add sections that this one can do without. */
	if (le_get32(data + 12) < SECTION_COUNT || le_get32(data + 12) > SUPER_SECTIONS_MAX)
		return err_set(err, -EBADMSG, "damaged superblock: %u sections, not %u to %u",
			       le_get32(data + 12), SECTION_COUNT, SUPER_SECTIONS_MAX);
	super.version = le_get32(data + 8);
	get_fields(data + SUPER_HEAD, &super, FIELDS(head_fields));
	memcpy(super.id, data + SUPER_ID, sizeof(super.id));
	super.left_out = le_get64(data + SUPER_LEFT_OUT);
	memcpy(super.content_id, data + SUPER_CONTENT_ID, sizeof(super.content_id));
	get_fields(data + SUPER_LMDB, &super, FIELDS(lmdb_fields));
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		get_fields(data + section_at(i), &super.sections[i], FIELDS(ref_fields));
		super.sections[i].width = le_get32(data + section_at(i) + 32);
	}
	*ret = super;
	return 0;
}

void format_id_text(const uint8_t id[FORMAT_ID_BYTES], char ret[static FORMAT_ID_TEXT])
{
	for (size_t i = 0; i < FORMAT_ID_BYTES; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
}

static void key_set(struct format_key *key, const void *data, size_t len)
{
	memcpy(key->data, data, len);
	key->len = len;
}

static void key_append(struct format_key *key, const char *text)
{
	size_t len = strlen(text);

	memcpy(key->data + key->len, text, len);
	key->len += len;
}

void format_path_hash(const char *path, size_t len, char ret[static FORMAT_HASH_DIGITS + 1])
{
	XXH128_hash_t hash = XXH3_128bits(path, len);

	snprintf(ret, FORMAT_HASH_DIGITS + 1, "%016llx%016llx", (unsigned long long)hash.high64,
		 (unsigned long long)hash.low64);
}

static void key_append_hash(struct format_key *key, const char *path, size_t len)
{
	char text[FORMAT_HASH_DIGITS + 1];

	format_path_hash(path, len, text);
	key_append(key, text);
}

void format_key_super(struct format_key *key)
{
	key_set(key, key_super, LITERAL_LEN(key_super));
}

void format_key_section(enum format_section section, struct format_key *key)
{
	format_key_super(key);
	key_append(key, ".");
	key_append(key, section_names[section]);
}

void format_key_path(const char *path, size_t len, struct format_key *key)
{
	if (len <= FORMAT_KEY_MAX) {
		key_set(key, path, len);
		return;
	}
	key_set(key, key_hashed, LITERAL_LEN(key_hashed));
	key_append_hash(key, path, len);
}

void format_key_part(const char *path, size_t len, uint32_t part, struct format_key *key)
{
	char text[PART_DIGITS + 2];

	key_set(key, key_part, LITERAL_LEN(key_part));
	key_append_hash(key, path, len);
	snprintf(text, sizeof(text), ".%08x", part);
	key_append(key, text);
}

static bool starts_with(const uint8_t *data, size_t len, const char *prefix, size_t prefix_len)
{
	return len >= prefix_len && memcmp(data, prefix, prefix_len) == 0;
}

enum format_key_kind format_key_classify(const uint8_t *data, size_t len)
{
	if (len == 0 || len > FORMAT_KEY_MAX)
		return KEY_NONE;
	if (data[0] != '\0')
		return KEY_PATH;
	if (starts_with(data, len, key_super, LITERAL_LEN(key_super)))
		return len == LITERAL_LEN(key_super) ? KEY_SUPER : KEY_SECTION;
	if (len == LITERAL_LEN(key_part) + FORMAT_HASH_DIGITS + 1 + PART_DIGITS &&
	    starts_with(data, len, key_part, LITERAL_LEN(key_part)) &&
	    data[LITERAL_LEN(key_part) + FORMAT_HASH_DIGITS] == '.')
		return KEY_PART;
	if (len == LITERAL_LEN(key_hashed) + FORMAT_HASH_DIGITS &&
	    starts_with(data, len, key_hashed, LITERAL_LEN(key_hashed)))
		return KEY_HASHED;
	return KEY_RESERVED;
}

enum format_section format_key_to_section(const uint8_t *data, size_t len)
{
	struct format_key key;
	unsigned section = 0;

	for (; section < SECTION_COUNT; section++) {
		format_key_section((enum format_section)section, &key);
		if (key.len == len && memcmp(key.data, data, len) == 0)
			break;
	}
	return (enum format_section)section;
}

bool format_name_valid(const char *name, size_t len)
{
	if (len == 0 || len > FORMAT_NAME_MAX)
		return false;
	if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
		return false;
	return !memchr(name, '/', len) && !memchr(name, '\0', len);
}
