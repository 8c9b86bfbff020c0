/* The format's numbers: keys, the superblock's bytes, and where files are cut. */
#include "pack/format_keys.h"
#include "pack/image_kind.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"

static void key_is(const struct format_key *key, const char *want, size_t len)
{
	assert_int_equal(key->len, len);
	assert_memory_equal(key->data, want, len);
}
#define assert_key(key, literal) key_is(key, literal, sizeof(literal) - 1)

TEST(reserved_keys_begin_with_nul_and_sort_before_all_paths)
{
	struct format_key key;

	format_key_super(&key);
	assert_key(&key, "\0foldfs");
	assert_int_equal(format_key_classify(key.data, key.len), KEY_SUPER);
	format_key_section(SECTION_NAME_END, &key);
	assert_key(&key, "\0foldfs.name-end");
	assert_int_equal(format_key_classify(key.data, key.len), KEY_SECTION);
	format_key_part("movie", 5, 0x1f, &key);
	assert_key(&key, "\0part.e90185f503c1c2d711314e03b012b82d.0000001f");
	assert_int_equal(format_key_classify(key.data, key.len), KEY_PART);
}

TEST(a_path_is_its_own_key_up_to_511_bytes)
{
	char path[600];
	struct format_key key;

	memset(path, 'a', sizeof(path));
	format_key_path(path, 511, &key);
	assert_int_equal(key.len, 511);
	assert_memory_equal(key.data, path, 511);
	assert_int_equal(format_key_classify(key.data, key.len), KEY_PATH);
	format_key_path(path, 512, &key);
	assert_int_equal(key.len, 6 + 32);
	assert_memory_equal(key.data, "\0path.", 6);
	assert_int_equal(format_key_classify(key.data, key.len), KEY_HASHED);
}

static enum format_key_kind classify(const char *data, size_t len)
{
	return format_key_classify((const uint8_t *)data, len);
}

TEST(keys_of_no_known_kind_are_told_apart)
{
	char key[600] = "\0part.0123456789abcdef0123456789abcdefx00000000";

	assert_int_equal(classify("", 0), KEY_NONE);
	assert_int_equal(classify("\0", 1), KEY_RESERVED);
	assert_int_equal(classify("\0path.0123", 10), KEY_RESERVED);
	assert_int_equal(classify(key, 47), KEY_RESERVED);
	key[38] = '.';
	assert_int_equal(classify(key, 47), KEY_PART);
	memset(key, 'k', sizeof(key));
	assert_int_equal(classify(key, 511), KEY_PATH);
	assert_int_equal(classify(key, 512), KEY_NONE);
}

TEST(each_section_has_a_key_of_its_own)
{
	struct format_key key;

	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		format_key_section((enum format_section)i, &key);
		assert_int_equal(format_key_to_section(key.data, key.len), i);
	}
	assert_int_equal(format_key_to_section((const uint8_t *)"\0foldfs.nonsense", 16),
			 SECTION_COUNT);
}

static struct format_super a_super(void)
{
	struct format_super super = {.version = FORMAT_VERSION,
				     .compat = 0x8000000000000001,
				     .entries = 11,
				     .files = 5,
				     .directories = 3,
				     .symlinks = 2,
				     .hardlinks = 1,
				     .bytes = 1ull << 40,
				     .id = "0123456789abcde",
				     .content_id = "fedcba987654321",
				     .left_out = 12,
				     .lmdb = {1, 2, 3, 4, 5, 6, 7}};

	for (unsigned i = 0; i < SECTION_COUNT; i++)
		super.sections[i] = (struct format_section_ref){
			.offset = 1000 + i, .bytes = 8 * i, .count = i, .width = 8, .checksum = ~i};
	return super;
}

TEST(a_superblock_with_any_bit_flipped_is_refused)
{
	struct format_super super = a_super(), out;
	uint8_t data[FORMAT_SUPER_BYTES];

	format_super_encode(&super, data);
	for (size_t bit = 0; bit < 8 * sizeof(data); bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_true(format_super_decode(data, sizeof(data), &out, NULL) < 0);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_done(format_super_decode(data, sizeof(data), &out, NULL));
	assert_int_equal(format_super_decode(data, sizeof(data) - 1, &out, NULL), -EBADMSG);
}

TEST(files_are_cut_at_exact_multiples)
{
	assert_int_equal(format_extents(0), 0);
	assert_int_equal(format_extents(1), 1);
	assert_int_equal(format_extents(MIB), 1);
	assert_int_equal(format_extents(MIB + 1), 2);
	assert_int_equal(format_parts(GIB), 0);
	assert_int_equal(format_parts(GIB + 1), 17);
	assert_int_equal(format_parts(GIB + 64 * MIB), 17);
	assert_int_equal(format_extents(UINT64_MAX), 1ull << 44);
}

TEST(names_that_no_filesystem_gives_are_invalid)
{
	char name[256];

	memset(name, 'n', sizeof(name));
	assert_true(format_name_valid(name, 255));
	assert_false(format_name_valid(name, 256));
	assert_false(format_name_valid("", 0));
	assert_false(format_name_valid(".", 1));
	assert_false(format_name_valid("..", 2));
	assert_true(format_name_valid("...", 3));
	assert_true(format_name_valid(".hidden", 7));
	assert_true(format_name_valid("\xff\n\"", 3));
	assert_false(format_name_valid("a/b", 3));
	assert_false(format_name_valid("a\0b", 3));
}

TEST(image_kinds_have_names)
{
	assert_string_equal(image_kind_name(IMAGE_JPEG), "JPEG");
	assert_string_equal(image_kind_name(IMAGE_UNKNOWN), "-");
	assert_string_equal(image_kind_name(IMAGE_KINDS), "-");
	assert_string_equal(image_kind_name(UINT32_MAX), "-");
}

TEST(names_of_pictures_have_their_suffix)
{
	assert_true(image_is_named("a/b.seg.PNG", 11));
	assert_true(image_is_named("jpeg", 4));
	assert_false(image_is_named("a.jpgs", 6));
	assert_false(image_is_named("a.", 2));
	assert_false(image_is_named(NULL, 0));
}

TEST(an_unfinished_superblock_says_so_whatever_its_run)
{
	uint8_t run[FORMAT_RUN_BYTES], data[FORMAT_SUPER_BYTES];
	struct format_super super;
	struct err err;

	for (int byte = 0; byte < 256; byte += 51) {
		memset(run, byte, sizeof(run));
		format_super_unfinished(run, data);
		assert_memory_equal(data, "foldfs part\r\n\0\0\0", 16);
		assert_memory_equal(data + 16, run, sizeof(run));
		assert_int_equal(format_super_decode(data, sizeof(data), &super, &err),
				 -EINPROGRESS);
		assert_string_equal(err.text, "an unfinished pack");
	}
	data[13] = 1;
	assert_int_equal(format_super_decode(data, sizeof(data), &super, &err), -EBADMSG);
}
