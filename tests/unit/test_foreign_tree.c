/* From the records of a foreign file to a dataset: pack/foreign/tree.h, index_file.h. */
#include "base/reader_file.h"
#include "base/reader_volumes.h"
#include "base/scope.h"
#include "pack/dataset_open.h"
#include "pack/foreign/index_internal.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SIZE 300000

static struct pages kept_pages = PAGES_INIT;

struct fixture {
	char dir[64], path[96];
	struct reader *reader;
	struct foreign_settings settings;
	struct foreign_source source;
	struct foreign_tree tree;
	struct dataset *dataset; /* that open_dataset() made last */
	struct err err;
};

static int open_file(void *context, const char *name, unsigned how, struct reader **ret,
		     struct err *err)
{
	(void)context;
	(void)how;
	(void)err;
	return reader_file_open(name, ret);
}

static void write_file(const char *path, const void *bytes, size_t len)
{
	SCOPE_FILE FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
}

static void open_source(struct fixture *f)
{
	assert_int_equal(reader_file_open(f->path, &f->reader), 0);
	assert_int_equal(
		foreign_source_init(&f->source, f->reader, f->path, false, &f->settings, &f->err),
		0);
	assert_int_equal(foreign_tree_init(&f->tree, &f->source, &f->err), 0);
}

static void close_source(struct fixture *f)
{
	foreign_tree_release(&f->tree);
	foreign_source_release(&f->source);
	reader_free(f->reader);
	f->reader = NULL;
}

/* The container: bytes that tell where they lie. */
static void setup(struct fixture *f)
{
	SCOPE_FREE char *bytes = malloc(SIZE);

	strcpy(f->dir, "/var/tmp/test_foreign.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/x.data", f->dir);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	write_file(f->path, bytes, SIZE);
	f->settings.open = open_file;
	open_source(f);
}

static void teardown(struct fixture *f)
{
	dataset_free(f->dataset);
	close_source(f);
	scratch_remove(f->dir);
}

static struct foreign_text text(const char *s)
{
	return (struct foreign_text){s, strlen(s)};
}

static void add(struct fixture *f, const struct foreign_file *file)
{
	struct err err = {0};

	if (foreign_add(&f->tree, file, &err) < 0)
		fail_msg("%s", err.text);
}

static void add_path(struct fixture *f, uint64_t record, const char *path, uint64_t offset,
		     uint64_t size)
{
	const struct foreign_file file = {
		.record = record, .path = text(path), .offset = offset, .size = size};

	add(f, &file);
}

/* As foreign_open() puts it together. */
static void open_dataset(struct fixture *f)
{
	SCOPE(dataset_readers_release) struct dataset_readers readers = {0};
	struct index_extra extra = {0};
	struct reader *volumes[TREE_VOLUMES];
	struct index_key key;
	struct err err = {0};
	unsigned count = 1;

	assert_int_equal(index_key_make(&f->tree, &key), 0);
	if (index_file_write(&f->tree, &key, "test", &readers.index, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(index_extra_read(readers.index, &extra), 0);
	assert_int_equal(reader_file_open(f->path, &readers.below[0]), 0);
	volumes[0] = readers.below[0];
	if (extra.made_count) {
		assert_int_equal(virtual_reader_new(readers.below[0], extra.made, extra.made_count,
						    &kept_pages, &readers.below[1], &err),
				 0);
		volumes[count++] = readers.below[1];
	}
	if (extra.text)
		volumes[count++] = readers.index;
	assert_int_equal(reader_volumes_new(volumes, count, &readers.data), 0);
	index_extra_release(&extra);
	dataset_free(steal_ptr(&f->dataset));
	if (dataset_open_index(&readers, &f->dataset, &err) < 0)
		fail_msg("%s", err.text);
}

FIXTURE(f, struct fixture, setup, teardown);

/* --- names ------------------------------------------------------------------------------------ */

TEST_OF(f, names_that_lead_outside_are_refused)
{
	static const char *const bad[] = {"../x", "a/../b", "", "/", "a\0b"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct foreign_file file = {
			.record = 17, .path = {bad[i], i == 4 ? 3 : strlen(bad[i])}, .size = 1};
		struct err err = {0};

		assert_int_equal(foreign_add(&f->tree, &file, &err), -EBADMSG);
		assert_non_null(strstr(err.text, "record 17: "));
	}
}

/* --- places ----------------------------------------------------------------------------------- */

/* Many records may have one text, and a tar in a tar the path of that one. */
TEST_OF(f, paths_are_no_longer_than_the_system_takes)
{
	char path[4097] = "", target[4097] = "";
	struct foreign_file file = {.path = {path, 4095}};

	memset(target, 't', 4096);
	for (size_t i = 0; i < 4096; i++)
		path[i] = i % 2 ? '/' : 'a';
	add(f, &file);
	file.path.len = 4096;
	path[4094] = 'b';
	path[4095] = 'b';
	assert_int_equal(foreign_add(&f->tree, &file, &f->err), -EBADMSG);
	assert_string_equal(f->err.text, "record 0: its path is longer than 4095 bytes");
	file.path = text("link");
	file.target = text(target);
	assert_int_equal(foreign_add(&f->tree, &file, &f->err), -EBADMSG);
	assert_string_equal(f->err.text, "record 0: its target is longer than 4095 bytes");
	file.target.len = 4095;
	add(f, &file);
}

TEST_OF(f, paths_take_memory_in_proportion_to_the_file)
{
	char class[4000];
	struct foreign_file file = {
		.class = {class, sizeof(class)}, .class_is_path = true, .label = FOREIGN_NO_LABEL};
	int r = 0;

	for (size_t i = 0; i < sizeof(class); i++)
		class[i] = i % 100 ? 'c' : '/';
	for (; r == 0 && file.record < 100000; file.record++)
		r = foreign_add(&f->tree, &file, &f->err);
	assert_int_equal(r, -EOVERFLOW);
	assert_string_equal(f->err.text,
			    "record 65987: the file repeats so many of its bytes that "
			    "the list of its files takes too much memory: divide it "
			    "into several");
}

TEST_OF(f, bytes_outside_of_the_file_are_refused)
{
	static const struct {
		uint64_t offset, size;
	} bad[] = {{SIZE, 1}, {SIZE + 1, 0}, {0, SIZE + 1}, {UINT64_MAX, 2}, {1, UINT64_MAX}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct foreign_file file = {
			.path = text("x"), .offset = bad[i].offset, .size = bad[i].size};

		assert_int_equal(foreign_add(&f->tree, &file, NULL), -EBADMSG);
	}
}

TEST_OF(f, two_files_of_one_path_are_refused)
{
	static const char *const pairs[][2] = {{"a/b", "a/b"}, {"a", "a/b"}, {"a/b", "a/b/c"}};

	for (size_t i = 0; i < 3; i++) {
		struct reader *reader = NULL;
		struct index_key key;
		struct err err = {0};

		add_path(f, 5, pairs[i][0], 0, 1);
		add_path(f, 8, pairs[i][1], 0, 1);
		add_path(f, 9, "z", 0, 1);
		assert_int_equal(index_key_make(&f->tree, &key), 0);
		assert_int_equal(index_file_write(&f->tree, &key, "test", &reader, &err), -EEXIST);
		assert_non_null(strstr(err.text, "records 5 and 8"));
		close_source(f);
		open_source(f);
	}
}

/* --- the index file --------------------------------------------------------------------------- */

TEST_OF(f, a_damaged_index_is_none)
{
	char name[128];
	struct index_key key;
	SCOPE_CLOSE int fd = -1;
	struct stat st;

	add_path(f, 0, "a", 0, 10);
	open_dataset(f);
	snprintf(name, sizeof(name), "%s/.x.data.foldfs-index", f->dir);
	fd = open(name, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(index_key_make(&f->tree, &key), 0);
	for (off_t at = 0; at < st.st_size; at += at < 700 ? 1 : 37) {
		SCOPE(dataset_readers_release) struct dataset_readers readers = {0};
		struct dataset *dataset = NULL;
		char byte, other;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = (char)(byte ^ 0x41);
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		if (index_file_find(&f->tree, &key, &readers.index) == 0) {
			assert_int_equal(reader_file_open(f->path, &readers.data), 0);
			if (dataset_open_index(&readers, &dataset, NULL) == 0)
				dataset_free(dataset);
		}
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
}

/* --- an index that a publisher has laid beside the file --------------------------------------- */

static void publish(struct fixture *f, char name[static 128])
{
	SCOPE(reader_release) struct reader *index = NULL;
	struct reader *full;
	const uint64_t sum = 5;
	struct index_key key;
	char own[128];

	add_path(f, 0, "a", 0, 10);
	open_dataset(f);
	assert_int_equal(index_key_make(&f->tree, &key), 0);
	assert_int_equal(index_file_find(&f->tree, &key, &index), 0);
	assert_int_equal(index_file_add_sums(&f->tree, index, &sum, 1, true, &full), 0);
	reader_free(index);
	index = full;
	snprintf(name, 128, "%s.foldfs-index", f->path);
	assert_int_equal(index_published_write(index, name, 0644, NULL), 0);
	snprintf(own, sizeof(own), "%s/.x.data.foldfs-index", f->dir);
	assert_int_equal(unlink(own), 0);
}

static int find_published(struct fixture *f)
{
	SCOPE(reader_release) struct reader *index = NULL;
	struct index_key key;

	assert_int_equal(index_key_make(&f->tree, &key), 0);
	return index_file_find(&f->tree, &key, &index);
}

/* As somebody writes it who makes all checksums right. */
static void forge(const char *name, const char *options, bool no_sums)
{
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE(index_whole_release) struct index_whole whole = {0};
	struct iovec all;

	assert_int_equal(reader_file_open(name, &reader), 0);
	assert_int_equal(index_whole_read(reader, SIZE, &whole), 0);
	whole.options.len--;
	assert_int_equal(buf_adds(&whole.options, options), 0);
	if (no_sums)
		memset(whole.sums, 0, 8);
	assert_int_equal(index_whole_seal(&whole, &all), 0);
	assert_int_equal(unlink(name), 0);
	write_file(name, whole.bytes.data, whole.bytes.len);
}

TEST_OF(f, a_published_index_is_known_by_the_bytes_of_the_file)
{
	const struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 5}};
	char name[128];

	publish(f, name);
	assert_int_equal(utimensat(AT_FDCWD, f->path, times, 0), 0);
	assert_int_equal(find_published(f), 0);
	f->settings.class_folders = FOREIGN_FOLDERS_NUMBERS;
	assert_int_equal(find_published(f), -ENOENT);
}

TEST_OF(f, a_published_index_leads_to_no_other_file_or_unchecked_byte)
{
	static const char *const lines[] = {
		"beside=/../../x 0\n", "beside=/a/b 0\n", "beside=/../x.data 0\n", "beside=/.. 0\n",
		"beside=/. 0\n",       "beside=x?y 0\n",  "beside=/missing 1\n"};
	char name[128];

	publish(f, name);
	forge(name, "beside=/missing 0\n", false);
	assert_int_equal(find_published(f), 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		forge(name, lines[i], false);
		assert_int_equal(find_published(f), -ENOENT);
		assert_int_equal(unlink(name), 0);
		assert_int_equal(foreign_tree_restart(&f->tree, NULL), 0);
		publish(f, name);
	}
	forge(name, "", true);
	assert_int_equal(find_published(f), -ENOENT);
}

/* --- pixels ----------------------------------------------------------------------------------- */

#define WIDTH  53
#define HEIGHT 61

static uint8_t sample(uint64_t offset)
{
	return (uint8_t)(offset * 7 + offset / 251);
}

/* The same as the reader makes, a sample at a time. */
static size_t make_picture(enum foreign_layout layout, uint64_t offset, uint8_t *out)
{
	unsigned channels = layout == FOREIGN_GRAY ? 1 : 3;
	size_t n = (size_t)sprintf((char *)out, "P%c\n%d %d\n255\n",
				   layout == FOREIGN_GRAY ? '5' : '6', WIDTH, HEIGHT);

	for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
		for (unsigned c = 0; c < channels; c++) {
			bool bgr = layout == FOREIGN_BGR || layout == FOREIGN_PLANAR_BGR;
			unsigned from = bgr ? 2 - c : c;
			bool planar = layout == FOREIGN_PLANAR_BGR;

			out[n++] = sample(offset + (planar ? from * WIDTH * HEIGHT + i
							   : i * channels + from));
		}
	return n;
}

TEST_OF(f, any_part_of_an_image_can_be_read)
{
	const struct virtual_row picture = {.offset = 500,
					    .pixels = {WIDTH, HEIGHT, FOREIGN_PLANAR_BGR}};
	SCOPE_FREE uint8_t *expected = calloc(1, SIZE), *bytes = malloc(SIZE);
	SCOPE(reader_release) struct reader *reader = NULL;
	size_t size = make_picture(FOREIGN_PLANAR_BGR, 500, expected);

	assert_int_equal(virtual_reader_new(f->reader, &picture, 1, &kept_pages, &reader, NULL), 0);
	for (size_t from = 0; from < size; from += 1 + from % 97)
		for (size_t len = 1; len < 300; len += 1 + len % 13) {
			assert_int_equal(reader_get(reader, bytes, len, from), len);
			assert_memory_equal(bytes, expected + from, len);
		}
}

TEST_OF(f, wrong_pixels_are_refused)
{
	static const struct foreign_pixels bad[] = {
		{0, 1, FOREIGN_RGB}, {70000, 1, FOREIGN_GRAY}, {65535, 65535, FOREIGN_RGB}};
	struct reader *reader;

	for (size_t i = 0; i < 3; i++) {
		const struct foreign_file file = {.size = foreign_pixels_bytes(&bad[i]),
						  .pixels = &bad[i]};
		const struct virtual_row picture = {.pixels = bad[i]};

		assert_int_equal(foreign_add(&f->tree, &file, NULL), -EBADMSG);
		assert_int_equal(
			virtual_reader_new(f->reader, &picture, 1, &kept_pages, &reader, NULL),
			-EBADMSG);
	}
}

TEST_OF(f, wrong_pages_are_refused)
{
	static const struct virtual_row good = {
		.is_page = true, .offset = SIZE - 50, .page = {50, 5000, CODEC_SNAPPY}};
	struct virtual_row bad[9];
	struct reader *reader;
	uint8_t byte;

	for (size_t i = 0; i < 9; i++)
		bad[i] = good;
	bad[0].start = 4096;
	bad[1].offset++;
	bad[2].offset = UINT64_MAX;
	bad[3].page.packed = UINT32_MAX;
	bad[4].page.unpacked = 0;
	bad[5].page.unpacked = UINT32_MAX;
	bad[6].page.packed = 0;
	bad[7].page.codec = CODEC_NONE;
	bad[8].page.codec = (enum codec)(UINT32_MAX - 256);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(
			virtual_reader_new(f->reader, &bad[i], 1, &kept_pages, &reader, NULL),
			-EBADMSG);
	bad[0] = bad[1] = good;
	for (bad[1].start = 0; bad[1].start < 5 * READER_PAGE; bad[1].start += READER_PAGE / 2)
		if (bad[1].start != 2 * READER_PAGE)
			assert_int_equal(
				virtual_reader_new(f->reader, bad, 2, &kept_pages, &reader, NULL),
				-EBADMSG);
	bad[1].start = 2 * READER_PAGE;
	assert_int_equal(virtual_reader_new(f->reader, bad, 2, &kept_pages, &reader, NULL), 0);
	assert_int_equal(reader_get(reader, &byte, 1, 0), -EIO);
	assert_int_equal(reader_get(reader, &byte, 1, 5000), 1);
	reader_free(reader);
}
