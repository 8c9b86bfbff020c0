/* Whatever the bytes: as a superblock they are decoded, or refused with a sentence, and what was
 * decoded is encoded to the same; as a path they become a key of that kind; as a key they are
 * classified. */
#include "pack/format.h"
#include "pack/format_keys.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include <string.h>

static void decode(const uint8_t *data, size_t size)
{
	uint8_t bytes[FORMAT_SUPER_BYTES];
	struct format_super super = {0}, again = {0};
	struct err err = {0};

	if (format_super_decode(data, size, &super, &err) < 0) {
		must(err.text[0]);
		return;
	}
	format_super_encode(&super, bytes);
	must(format_super_decode(bytes, sizeof(bytes), &again, &err) == 0 &&
	     memcmp(&super, &again, sizeof(super)) == 0);
}

static void use_key(const uint8_t *data, size_t size)
{
	enum format_key_kind kind = format_key_classify(data, size);
	enum format_section section = format_key_to_section(data, size);
	struct format_key key;

	must(section == SECTION_COUNT || kind == KEY_SECTION);
	if (section < SECTION_COUNT) {
		format_key_section(section, &key);
		must(key.len == size && memcmp(key.data, data, size) == 0);
	}
}

static void make_keys(const char *path, size_t len)
{
	struct format_key key;
	bool is_long = len > FORMAT_KEY_MAX;

	if (!format_name_valid(path, len < 16 ? len : 16))
		return;
	format_key_path(path, len, &key);
	must(key.len <= FORMAT_KEY_MAX &&
	     format_key_classify(key.data, key.len) == (is_long ? KEY_HASHED : KEY_PATH));
	format_key_part(path, len, (uint32_t)len, &key);
	must(key.len <= FORMAT_KEY_MAX && format_key_classify(key.data, key.len) == KEY_PART);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	decode(data, size);
	use_key(data, size);
	make_keys((const char *)data, size);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, room);
	if (size == FORMAT_SUPER_BYTES && seed % 8 != 0)
		repair_super(data);
	return size;
}
