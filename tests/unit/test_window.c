/* Reading ahead of a scan: the right bytes in any order, and nothing that was asked for stays. */
#include "base/buf.h"
#include "base/reader.h"
#include "pack/foreign/window.h"
#include "tests/unit/test.h"
#include <stdlib.h>

#define SIZE ((size_t)80 << 20)
#define KIB  1024u
#define MIB  (1024u * 1024)

/* Keeps what was asked for until its last byte is taken, as reader_remote does. */
struct fake {
	struct reader reader;
	bool far;
	struct buf asked; /* of struct run */
	size_t waits;	  /* reads that nobody had asked for */
	uint64_t bytes;	  /* that came over the network */
};

struct run {
	uint64_t start, end;
};

static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)((offset * 2654435761u) >> 13);
}

static struct run *asked_at(struct fake *fake, size_t i)
{
	return (struct run *)(void *)fake->asked.data + i;
}

static size_t asked_count(const struct fake *fake)
{
	return fake->asked.len / sizeof(struct run);
}

static bool take_run(struct fake *fake, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < asked_count(fake); i++) {
		struct run *run = asked_at(fake, i);

		if (start < run->start || end > run->end)
			continue;
		if (end == run->end) {
			*run = *asked_at(fake, asked_count(fake) - 1);
			fake->asked.len -= sizeof(*run);
		}
		return true;
	}
	return false;
}

static ssize_t fake_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct fake *fake = (struct fake *)reader;

	if (offset >= SIZE)
		return 0;
	len = len < SIZE - offset ? len : SIZE - offset;
	if (!take_run(fake, offset, offset + len)) {
		fake->waits++;
		fake->bytes += len;
	}
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = byte_at(offset + i);
	return (ssize_t)len;
}

static void fake_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	struct fake *fake = (struct fake *)reader;
	const struct run run = {.start = offset, .end = offset + len};

	assert_true(run.end <= SIZE);
	fake->bytes += len;
	buf_add(&fake->asked, &run, sizeof(run));
}

static int fake_identity(struct reader *reader, struct reader_identity *ret)
{
	(void)reader;
	*ret = (struct reader_identity){.size = SIZE};
	return 0;
}

static void fake_hints(const struct reader *reader, struct reader_hints *ret)
{
	*ret = (struct reader_hints){.remote = ((const struct fake *)reader)->far};
}

static const struct reader_ops fake_ops = {
	.get = fake_get, .will_get = fake_will_get, .identity = fake_identity, .hints = fake_hints};

struct world {
	struct fake fake;
	struct window window;
};

static void setup(struct world *w)
{
	w->fake = (struct fake){.reader.ops = &fake_ops, .far = true};
	assert_int_equal(window_init(&w->window, &w->fake.reader), 0);
}

static void teardown(struct world *w)
{
	window_release(&w->window);
	buf_release(&w->fake.asked);
}

static void get(struct world *w, uint64_t offset, size_t len)
{
	const uint8_t *bytes;

	if (!window_has(&w->window, offset, len))
		assert_int_equal(window_fill(&w->window, offset, len), 0);
	assert_true(window_has(&w->window, offset, len));
	bytes = (const uint8_t *)w->window.bytes.data + (offset - w->window.start);
	for (size_t i = 0; i < len; i += 1 + len / 1000)
		assert_int_equal(bytes[i], byte_at(offset + i));
	assert_int_equal(bytes[len - 1], byte_at(offset + len - 1));
}

FIXTURE(w, struct world, setup, teardown);

/* --- a stream --------------------------------------------------------------------------------- */

TEST_OF(w, test_records_one_after_the_other_are_streamed)
{
	for (uint64_t at = 0; at + 600 < SIZE; at += 100 * KIB)
		get(w, at, 600);
	assert_true(w->fake.waits < 5);
	assert_true(w->fake.bytes <= SIZE + MIB);
	assert_int_equal(asked_count(&w->fake), 0);
}

TEST_OF(w, test_what_is_wanted_as_a_whole_is_streamed_at_once)
{
	window_stream(&w->window, &w->fake.reader);
	for (uint64_t at = 0; at + 600 < SIZE; at += 100 * KIB)
		get(w, at, 600);
	assert_int_equal(w->fake.waits, 0);
	assert_int_equal(w->fake.bytes, SIZE);
}

TEST_OF(w, test_windows_that_are_jumped_over_are_dropped)
{
	for (uint64_t at = 0; at + 600 < SIZE; at += at < 20 * MIB ? 100 * KIB : 7 * MIB)
		get(w, at, 600);
	assert_int_equal(asked_count(&w->fake), 0);
}

TEST_OF(w, test_a_jump_ends_a_stream)
{
	uint64_t before;

	for (uint64_t at = 0; at < 20 * MIB; at += 100 * KIB)
		get(w, at, 600);
	before = w->fake.bytes;
	get(w, 70 * MIB, 100);
	assert_int_equal(asked_count(&w->fake), 0);
	assert_true(w->fake.bytes - before <= 64 * KIB);
}

TEST_OF(w, test_a_stream_may_be_left_for_what_was_announced)
{
	for (uint64_t at = 0; at < 60 * MIB; at += 100 * KIB) {
		get(w, at, 600);
		if (at / (100 * KIB) % 20 != 19)
			continue;
		window_will_get(&w->window, at + 6 * MIB, 500);
		get(w, at + 6 * MIB, 500);
		get(w, at + 6 * MIB + 400, 5 * MIB);
	}
}

TEST_OF(w, test_any_order_gives_the_right_bytes)
{
	uint64_t random = 7;

	for (unsigned i = 0; i < 1000; i++) {
		uint64_t at, len;

		random = random * 6364136223846793005u + 1442695040888963407u;
		at = i % 3 ? w->window.start + (random >> 40) % (6 * MIB) : (random >> 20) % SIZE;
		len = 1 + (random >> 50) % (i % 50 ? 2000 : 5 * MIB);
		if (i % 7 == 0)
			window_will_get(&w->window, at + 5000 * (i % 2), len);
		if (at + len < SIZE)
			get(w, at, len);
	}
}

/* --- what was announced ----------------------------------------------------------------------- */

static void announce(struct world *w, uint64_t every, size_t len)
{
	for (uint64_t at = 0; at + len < SIZE; at += every)
		window_will_get(&w->window, at, len);
}

TEST_OF(w, test_what_was_announced_is_all_that_is_read)
{
	announce(w, 100 * KIB, 500);
	for (uint64_t at = 0; at + 500 < SIZE; at += 100 * KIB)
		get(w, at + 100, 400);
	assert_true(w->fake.waits <= 1);
	assert_true(w->fake.bytes < SIZE / 100);
	assert_int_equal(asked_count(&w->fake), 0);
}

TEST_OF(w, test_the_piece_before_is_still_there)
{
	uint64_t before;

	announce(w, 100 * KIB, 500);
	get(w, 0, 100);
	get(w, 100 * KIB, 100);
	before = w->fake.waits;
	get(w, 0, 100);
	get(w, 100 * KIB, 100);
	assert_int_equal(w->fake.waits, before);
}

TEST_OF(w, test_pieces_that_are_not_used_are_dropped)
{
	announce(w, 100 * KIB, 500);
	for (uint64_t at = 0; at + 500 < SIZE; at += 1000 * KIB)
		get(w, at, 500);
	assert_true(asked_count(&w->fake) < 10);
}

/* A format that was guessed wrong is streamed, rather than a round trip for each record. */
TEST_OF(w, test_announcing_the_wrong_bytes_ends_it)
{
	announce(w, 100 * KIB, 500);
	for (uint64_t at = 0; at + KIB < SIZE; at += 100 * KIB)
		get(w, at + 600, 200);
	assert_true(w->fake.waits < 40);
	assert_int_equal(asked_count(&w->fake), 0);
}

/* --- what is near ----------------------------------------------------------------------------- */

TEST_OF(w, test_near_nothing_is_streamed)
{
	w->window.remote = false;
	for (uint64_t at = 0; at + 600 < SIZE; at += 100 * KIB)
		get(w, at, 600);
	assert_int_equal(asked_count(&w->fake), 0);
	assert_true(w->fake.bytes < SIZE / 10);
}
