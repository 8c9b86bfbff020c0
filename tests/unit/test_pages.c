/* Compressed pages, unpacked for several threads: pack/foreign/pages.h. */
#include "base/scope.h"
#include "pack/foreign/pages.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <string.h>

/* A file of pages of 8 bytes, by snappy: a literal of five times the number of the page. What is
 * read at `held` waits until it is let go. */
#define PACKED	 8
#define UNPACKED 5

struct source {
	struct reader reader;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t held, damaged; /* by `lock`, as all below; UINT64_MAX: none */
	bool waits;
	unsigned reads;
	struct pages pages;
};

static ssize_t source_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct source *source = (struct source *)reader;
	const uint8_t fill = (uint8_t)(offset / PACKED);

	SCOPE_LOCK(&source->lock);
	source->reads++;
	source->waits |= offset == source->held;
	pthread_cond_broadcast(&source->changed);
	while (offset == source->held)
		pthread_cond_wait(&source->changed, &source->lock);
	memcpy(buf, (uint8_t[]){UNPACKED, (UNPACKED - 1) << 2, fill, fill, fill, fill, fill}, 7);
	if (offset == source->damaged)
		*(uint8_t *)buf = UNPACKED + 1;
	return (ssize_t)len;
}

static const struct reader_ops source_ops = {.get = source_get};

static void source_setup(struct source *source)
{
	source->reader.ops = &source_ops;
	source->held = source->damaged = UINT64_MAX;
	pthread_mutex_init(&source->lock, NULL);
	pthread_cond_init(&source->changed, NULL);
	source->pages = (struct pages)PAGES_INIT;
}

static void source_teardown(struct source *source)
{
	pages_drop(&source->pages, &source->reader);
	assert_null(source->pages.first);
}

static int read_page(struct source *source, uint64_t number)
{
	const struct page page = {7, UNPACKED, CODEC_SNAPPY};
	uint8_t bytes[2] = {0};
	int r = pages_read(&source->pages, &source->reader, &page, number * PACKED, 3, bytes, 2);

	assert_true(r < 0 || (bytes[0] == number && bytes[1] == number));
	return r;
}

static void *read_third(void *arg)
{
	assert_int_equal(read_page(arg, 3), 0);
	return NULL;
}

static void hold(struct source *source, uint64_t page)
{
	SCOPE_LOCK(&source->lock);
	source->held = page == UINT64_MAX ? page : page * PACKED;
	pthread_cond_broadcast(&source->changed);
}

static void await_held(struct source *source)
{
	SCOPE_LOCK(&source->lock);
	while (!source->waits)
		pthread_cond_wait(&source->changed, &source->lock);
}

FIXTURE(source, struct source, source_setup, source_teardown);

TEST_OF(source, those_who_want_another_page_do_not_wait)
{
	pthread_t thread;

	hold(source, 3);
	pthread_create(&thread, NULL, read_third, source);
	await_held(source);
	assert_int_equal(read_page(source, 4), 0);
	hold(source, UINT64_MAX);
	pthread_join(thread, NULL);
}

TEST_OF(source, a_page_is_read_once_for_all_who_want_it)
{
	pthread_t threads[4];

	hold(source, 3);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, read_third, source);
	await_held(source);
	hold(source, UINT64_MAX);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(read_page(source, 3), 0);
	assert_int_equal(source->reads, 1);
	pages_forget(&source->pages, &source->reader, 3 * PACKED);
	assert_int_equal(read_page(source, 3), 0);
	assert_int_equal(source->reads, 2);
}

TEST_OF(source, a_page_forgotten_in_use_is_read_anew)
{
	pthread_t thread;

	hold(source, 3);
	pthread_create(&thread, NULL, read_third, source);
	await_held(source);
	pages_forget(&source->pages, &source->reader, 3 * PACKED);
	hold(source, UINT64_MAX);
	pthread_join(thread, NULL);
	assert_int_equal(read_page(source, 3), 0);
	assert_int_equal(source->reads, 2);
}

TEST_OF(source, a_damaged_page_fails_until_it_is_mended)
{
	source->damaged = 3 * PACKED;
	assert_int_equal(read_page(source, 3), -EIO);
	assert_int_equal(read_page(source, 4), 0);
	assert_int_equal(read_page(source, 3), -EIO);
	source->damaged = UINT64_MAX;
	assert_int_equal(read_page(source, 3), 0);
}

/* A small one counts as 1 MiB. */
TEST_OF(source, the_last_used_are_kept)
{
	for (uint64_t i = 0; i < 128; i++)
		assert_int_equal(read_page(source, i), 0);
	assert_int_equal(read_page(source, 0), 0);
	assert_int_equal(source->reads, 128);
	assert_int_equal(read_page(source, 128), 0);
	assert_int_equal(read_page(source, 0), 0);
	assert_int_equal(source->reads, 129);
	assert_int_equal(read_page(source, 1), 0);
	assert_int_equal(source->reads, 130);
}

static int read_of(struct source *file, struct pages *pages, uint64_t number)
{
	const struct page page = {7, UNPACKED, CODEC_SNAPPY};
	uint8_t bytes[2];

	return pages_read(pages, &file->reader, &page, number * PACKED, 3, bytes, 2);
}

TEST_WITH(source, one, all_files_together_keep_as_much_as_one)
{
	struct source other = *one;

	for (uint64_t i = 0; i < 128; i++)
		assert_int_equal(read_of(i % 2 ? &other : one, &one->pages, i), 0);
	assert_int_equal(read_of(one, &one->pages, 1), 0); /* the other's page 1 is another */
	assert_int_equal(one->reads, 65);
	assert_int_equal(read_of(one, &one->pages, 0), 0);
	assert_int_equal(one->reads, 66);
	pages_drop(&one->pages, &other.reader);
	assert_int_equal(read_of(one, &one->pages, 126), 0);
	assert_int_equal(one->reads, 66);
}

/* As a hostile table may have them. */
TEST_OF(source, pages_at_one_place_are_not_taken_for_each_other)
{
	static const struct page wider = {7, UNPACKED + 100, CODEC_SNAPPY};
	uint8_t bytes[100];

	assert_int_equal(read_page(source, 3), 0);
	assert_int_equal(
		pages_read(&source->pages, &source->reader, &wider, 3 * PACKED, 5, bytes, 100),
		-EIO);
}

TEST(sizes_have_bounds)
{
	assert_int_equal(page_bytes(&(struct page){7, 5, CODEC_SNAPPY}), 7);
	assert_int_equal(page_bytes(&(struct page){7, 0, CODEC_SNAPPY}), 0);
	assert_int_equal(page_bytes(&(struct page){7, PAGE_MOST + 1, CODEC_SNAPPY}), 0);
	assert_int_equal(page_bytes(&(struct page){PAGE_MOST + 1, 5, CODEC_SNAPPY}), 0);
}
