/* The parts of foldpack export that compute: pickles, checksums, headers of tars, and cuts. */
#include "base/crc32c.h"
#include "pack/tool/export/pickle.h"
#include "pack/tool/export/shard_plan.h"
#include "pack/tool/export/ustar.h"
#include "tests/unit/test.h"
#include <stdlib.h>
#include <string.h>

#define assert_done(r) assert_int_equal(r, 0)

static void assert_bytes(const struct buf *buf, const char *bytes, size_t len)
{
	assert_int_equal(buf->len, len);
	assert_memory_equal(buf->data, bytes, len);
}

#define assert_is(buf, literal) assert_bytes(buf, literal, sizeof(literal) - 1)

/* --- pickles: the bytes are those of CPython 3.11 ------------------------------------------- */

static void assert_sample(uint64_t size, int32_t label, const char *head, size_t head_len,
			  const char *tail, size_t tail_len)
{
	struct buf before = BUF_INIT, after = BUF_INIT;

	assert_done(pickle_sample(size, label, &before, &after));
	assert_bytes(&before, head, head_len);
	assert_bytes(&after, tail, tail_len);
	buf_release(&before);
	buf_release(&after);
}

#define SAMPLE(size, label, head, tail) \
	assert_sample(size, label, head, sizeof(head) - 1, tail, sizeof(tail) - 1)

TEST(samples_are_pickles_of_bytes_and_int)
{
	SAMPLE(1, 7, "\x80\x04\x95\x09\0\0\0\0\0\0\0C\x01", "\x94K\x07\x86\x94.");
	SAMPLE(255, 256, "\x80\x04\x95\x08\x01\0\0\0\0\0\0C\xff", "\x94M\0\x01\x86\x94.");
	SAMPLE(256, 70000, "\x80\x04\x95\x0e\x01\0\0\0\0\0\0B\0\x01\0\0",
	       "\x94J\x70\x11\x01\0\x86\x94.");
	SAMPLE(1, -1, "\x80\x04\x95\x0c\0\0\0\0\0\0\0C\x01", "\x94J\xff\xff\xff\xff\x86\x94.");
}

TEST(long_bytes_end_a_frame_or_stand_outside_of_it)
{
	SAMPLE(65529, 0, "\x80\x04\x95\x04\0\x01\0\0\0\0\0B\xf9\xff\0\0", "\x94K\0\x86\x94.");
	SAMPLE(65530, 0, "\x80\x04\x95\0\0\x01\0\0\0\0\0B\xfa\xff\0\0",
	       "\x94\x95\x05\0\0\0\0\0\0\0K\0\x86\x94.");
	SAMPLE(65536, 0,
	       "\x80\x04"
	       "B\0\0\x01\0",
	       "\x95\x06\0\0\0\0\0\0\0\x94K\0\x86\x94.");
}

TEST(small_ints_have_no_frame)
{
	struct buf to = BUF_INIT;

	assert_done(pickle_int(255, &to));
	assert_is(&to, "\x80\x04K\xff.");
	to.len = 0;
	assert_done(pickle_int(256, &to));
	assert_is(&to, "\x80\x04\x95\x04\0\0\0\0\0\0\0M\0\x01.");
	buf_release(&to);
}

TEST(lists_of_one_and_of_two_keys_are_not_alike)
{
	struct buf to = BUF_INIT;

	assert_done(pickle_keys(0, &to));
	assert_is(&to, "\x80\x04]\x94.");
	to.len = 0;
	assert_done(pickle_keys(1, &to));
	assert_is(&to,
		  "\x80\x04\x95\x08\0\0\0\0\0\0\0]\x94"
		  "C\x01"
		  "0\x94"
		  "a.");
	to.len = 0;
	assert_done(pickle_keys(2, &to));
	assert_is(&to,
		  "\x80\x04\x95\x0d\0\0\0\0\0\0\0]\x94("
		  "C\x01"
		  "0\x94"
		  "C\x01"
		  "1\x94"
		  "e.");
	buf_release(&to);
}

/* --- checksums: RFC 3720, B.4 --------------------------------------------------------------- */

TEST(crc32c_has_the_values_of_its_standard)
{
	uint8_t bytes[32] = {0};

	assert_int_equal(crc32c(bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, 32);
	assert_int_equal(crc32c(bytes, 32), 0x62a8ab43);
	for (uint8_t i = 0; i < 32; i++)
		bytes[i] = i;
	assert_int_equal(crc32c(bytes, 32), 0x46dd794e);
	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(crc32c("", 0), 0);
}

TEST(crc32c_is_the_same_with_and_without_an_instruction)
{
	uint8_t bytes[300];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> 3);
	for (size_t len = 0; len < 270; len++)
		assert_int_equal(crc32c(bytes + len % 29, len),
				 crc32c_by_table(0, bytes + len % 29, len));
}

/* --- tars --------------------------------------------------------------------------------- */

static struct buf header_of(const char *name, uint64_t size)
{
	const struct ustar_member member = {
		.name = name, .name_len = strlen(name), .size = size, .mode = 0640, .mtime = -5};
	struct buf to = BUF_INIT;

	assert_done(ustar_header(&member, &to));
	assert_int_equal(to.len % USTAR_BLOCK, 0);
	return to;
}

TEST(a_header_is_one_block)
{
	struct buf to = header_of("a/b.jpg", 511);

	assert_int_equal(to.len, USTAR_BLOCK);
	assert_string_equal(to.data, "a/b.jpg");
	assert_string_equal(to.data + 100, "0000640");
	assert_string_equal(to.data + 124, "00000000777");
	assert_string_equal(to.data + 136, "00000000000");
	assert_string_equal(to.data + 257, "ustar");
	buf_release(&to);
}

TEST(long_names_are_cut_at_a_slash_where_both_halves_fit)
{
	char name[300];
	struct buf to;

	memset(name, 'x', sizeof(name));
	name[155] = '/';
	name[256] = '\0';
	to = header_of(name, 0);
	assert_int_equal(to.len, USTAR_BLOCK);
	assert_memory_equal(to.data + 345, name, 155);
	assert_memory_equal(to.data, name + 156, 100);
	buf_release(&to);
	name[256] = 'x';
	name[257] = '\0';
	to = header_of(name, 0);
	assert_int_equal(to.len, 3 * USTAR_BLOCK);
	assert_memory_equal(to.data + USTAR_BLOCK, "267 path=xxx", 12);
	assert_int_equal(to.data[USTAR_BLOCK + 266], '\n');
	buf_release(&to);
}

TEST(sizes_of_more_than_eleven_digits_are_in_a_pax_header)
{
	struct buf to = header_of("a", ((uint64_t)1 << 33) - 1);

	assert_int_equal(to.len, USTAR_BLOCK);
	assert_string_equal(to.data + 124, "77777777777");
	buf_release(&to);
	to = header_of("a", (uint64_t)1 << 33);
	assert_int_equal(to.len, 3 * USTAR_BLOCK);
	assert_string_equal(to.data + USTAR_BLOCK, "19 size=8589934592\n");
	buf_release(&to);
}

/* The length of a record counts its own digits: 99 and 101 follow each other. */
TEST(lengths_of_pax_records_count_themselves)
{
	char name[1200];

	for (size_t len = 101; len < sizeof(name); len++) {
		const char *end;
		struct buf to;

		memset(name, 'x', len);
		name[len] = '\0';
		to = header_of(name, 0);
		end = memchr(to.data + USTAR_BLOCK, '\n', to.len - USTAR_BLOCK);
		assert_non_null(end);
		assert_int_equal(strtoul(to.data + USTAR_BLOCK, NULL, 10),
				 end + 1 - (to.data + USTAR_BLOCK));
		buf_release(&to);
	}
}

/* --- cuts ----------------------------------------------------------------------------------- */

TEST(equal_shards_differ_by_one_at_most)
{
	struct shard_plan plan = {0};

	for (uint64_t records = 1; records < 40; records++) {
		for (uint64_t shards = 1; shards <= records; shards++) {
			uint64_t before = 0;

			assert_done(shard_plan_equal(records, shards, &plan));
			assert_int_equal(plan.count, shards);
			for (uint64_t i = 0; i < shards; before = plan.ends[i++]) {
				assert_true(plan.ends[i] - before >= records / shards);
				assert_true(plan.ends[i] - before <= records / shards + 1);
			}
			assert_int_equal(before, records);
			shard_plan_release(&plan);
		}
	}
}

TEST(a_shard_ends_before_it_is_too_large)
{
	static const uint64_t sizes[] = {4, 4, 2, 1, 11, 1, 10, 0};
	static const uint64_t ends[] = {3, 4, 5, 6, 8};
	struct shard_plan plan = {0};
	uint64_t used = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		assert_done(shard_plan_add(&plan, sizes[i], 10, &used));
	assert_int_equal(plan.count, sizeof(ends) / sizeof(*ends));
	assert_memory_equal(plan.ends, ends, sizeof(ends));
	shard_plan_release(&plan);
}
