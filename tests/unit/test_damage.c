/* Ten thousand damaged packs: whatever is read from one is right, or an error; and what touches the
 * bytes of files or of the index is reported. Each damage follows from a seed and is described in
 * the failure. */
#include "pack/dataset.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"
#include <sys/mman.h>

enum { DAMAGES = 10000, PAGE = 4096, FILES = 40, ENTRIES_MOST = 80, RANGES = 2, LONG_NAME = 200 };

struct range {
	uint64_t from, len;
};

/* What is right. */
struct truth {
	uint32_t entries;
	struct {
		char path[1024];
		struct dataset_entry entry;
		struct dataset_attr attr;
		uint8_t *bytes; /* of a file, or the target of a link */
		size_t len;
		uint64_t offset; /* of a file's bytes in the pack */
	} all[ENTRIES_MOST];
	struct range index[SECTION_COUNT + 1]; /* the sections, and the superblock */
};

struct damaging {
	struct fixture f;
	struct truth truth;
	uint8_t *good;
	size_t size; /* of the pack, bytes */
	int fd;	     /* the damaged copy, in memory */
	char path[32];
	uint64_t random;
	/* the damage at hand */
	unsigned number;
	char text[120];
	struct range changed[RANGES];
	uint64_t cut; /* what it was truncated to; UINT64_MAX: it was not */
	bool is_open, is_reported;
	bool bad[ENTRIES_MOST]; /* those whose bytes cannot be read */
};

static uint64_t draw(struct damaging *d)
{
	uint64_t x = d->random += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

#define FAIL(d, said, ...) fail_msg("damage %u, %s: " said, (d)->number, (d)->text, ##__VA_ARGS__)

/* --- a pack and what is in it ---------------------------------------------------------------- */

static void build_pack(struct fixture *f)
{
	char name[LONG_NAME + 1];
	uint32_t folder, file = 0, deep = PACK_ROOT;

	folder = add_dir(f, PACK_ROOT, "folder");
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "file %u", i);
		file = add_file(f, i % 2 ? folder : PACK_ROOT, name, i * 337 % 9000);
	}
	add_link(f, PACK_ROOT, "hard link", file);
	add_alias(f, folder, "alias", file);
	add_symlink(f, folder, "link", "file 1");
	memset(name, 'n', LONG_NAME);
	name[LONG_NAME] = '\0';
	for (unsigned i = 0; i < 3; i++)
		deep = add_dir(f, deep, name);
	add_file(f, deep, "deep", 5000);
	finish(f);
}

static void note_bytes(struct dataset *dataset, struct truth *truth, uint32_t e)
{
	const struct dataset_entry *entry = &truth->all[e].entry;
	const char *target;

	if (entry->kind == FORMAT_DIRECTORY)
		return;
	truth->all[e].len = entry->size;
	truth->all[e].bytes = malloc(entry->size + 1);
	assert_non_null(truth->all[e].bytes);
	if (entry->kind == FORMAT_SYMLINK) {
		target = dataset_target(dataset, e, &truth->all[e].len);
		memcpy(truth->all[e].bytes, target, truth->all[e].len);
		return;
	}
	assert_int_equal(dataset_read(dataset, e, truth->all[e].bytes, entry->size, 0),
			 entry->size);
	if (entry->size == 0)
		return;
	truth->all[e].offset = dataset_extent(dataset, dataset_first_extent(dataset, e)).offset;
}

static void note_truth(struct fixture *f, struct truth *truth)
{
	const struct dataset_info *info = dataset_info(f->dataset);
	struct damage damage;

	truth->entries = dataset_entries(f->dataset);
	assert_in_range(truth->entries, FILES, ENTRIES_MOST);
	for (uint32_t e = 0; e < truth->entries; e++) {
		SCOPE(buf_release) struct buf path = BUF_INIT;

		assert_done(dataset_path(f->dataset, e, &path));
		strcpy(truth->all[e].path, path.data);
		truth->all[e].entry = dataset_entry(f->dataset, e);
		assert_done(dataset_attr(f->dataset, e, &truth->all[e].attr));
		note_bytes(f->dataset, truth, e);
	}
	for (unsigned i = 0; i < SECTION_COUNT; i++)
		truth->index[i] = (struct range){info->super->sections[i].offset,
						 info->super->sections[i].bytes};
	damage_begin(f, &damage);
	truth->index[SECTION_COUNT] = (struct range){damage.super_offset, FORMAT_SUPER_BYTES};
	close(damage.fd);
}

static void setup(struct damaging *d)
{
	SCOPE_CLOSE int fd = -1;
	struct stat st;

	fixture_setup(&d->f);
	build_pack(&d->f);
	open_pack(&d->f);
	note_truth(&d->f, &d->truth);
	fd = open(d->f.path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	d->size = (size_t)st.st_size;
	d->good = malloc(d->size);
	assert_non_null(d->good);
	assert_done(io_pread_full(fd, d->good, d->size, 0));
	d->fd = memfd_create("pack", MFD_CLOEXEC);
	assert_true(d->fd >= 0);
	assert_done(io_pwrite_full(d->fd, d->good, d->size, 0));
	snprintf(d->path, sizeof(d->path), "/proc/self/fd/%d", d->fd);
	d->random = 1;
}

static void teardown(struct damaging *d)
{
	for (uint32_t e = 0; e < d->truth.entries; e++)
		free(d->truth.all[e].bytes);
	close(d->fd);
	free(d->good);
	fixture_teardown(&d->f);
}

/* --- damage ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void describe(struct damaging *d, const char *format,
							   ...)
{
	va_list args;

	memset(d->changed, 0, sizeof(d->changed));
	memset(d->bad, 0, sizeof(d->bad));
	d->cut = UINT64_MAX;
	d->is_reported = false;
	va_start(args, format);
	vsnprintf(d->text, sizeof(d->text), format, args);
	va_end(args);
}

static void change(struct damaging *d, unsigned range, uint64_t at, const void *bytes, size_t len)
{
	if (at >= d->size)
		return;
	if (len > d->size - at)
		len = d->size - at;
	d->changed[range] = (struct range){at, len};
	assert_done(io_pwrite_full(d->fd, bytes, len, at));
}

static void mend(struct damaging *d)
{
	if (d->cut < d->size)
		assert_done(io_pwrite_full(d->fd, d->good + d->cut, d->size - d->cut, d->cut));
	for (unsigned i = 0; i < RANGES; i++)
		assert_done(io_pwrite_full(d->fd, d->good + d->changed[i].from, d->changed[i].len,
					   d->changed[i].from));
}

static void flip_bit(struct damaging *d, uint64_t at)
{
	uint8_t byte = d->good[at];
	unsigned bit = draw(d) % 8;

	describe(d, "bit %u of byte %llu", bit, (unsigned long long)at);
	byte ^= (uint8_t)(1 << bit);
	change(d, 0, at, &byte, 1);
}

static void flip_bit_of_index(struct damaging *d)
{
	const struct range *range = &d->truth.index[draw(d) % (SECTION_COUNT + 1)];

	flip_bit(d, range->len ? range->from + draw(d) % range->len : draw(d) % d->size);
}

/* Values that are large, small, or near what is there. */
static uint64_t some_value(struct damaging *d, uint64_t now)
{
	switch (draw(d) % 5) {
	case 0:
		return draw(d) % 4;
	case 1:
		return UINT64_MAX - draw(d) % 2;
	case 2:
		return draw(d);
	default:
		return now + draw(d) % 9 - 4;
	}
}

/* A number of a page: of its header and pointers, where LMDB keeps its tree, or of its nodes. */
static void set_number(struct damaging *d)
{
	uint64_t page = draw(d) % (d->size / PAGE) * PAGE;
	uint64_t at = page + draw(d) % (draw(d) % 2 ? 80 : PAGE / 2 - 4) * 2;
	unsigned width = 1u << draw(d) % 4;
	uint8_t bytes[8] = {0};
	uint64_t value;

	memcpy(bytes, d->good + at, width);
	value = some_value(d, le_get64(bytes));
	describe(d, "%u bytes at %llu: %llu", width, (unsigned long long)at,
		 (unsigned long long)value);
	put_le(bytes, width, value);
	change(d, 0, at, bytes, width);
}

static void swap_pages(struct damaging *d)
{
	uint64_t a = draw(d) % (d->size / PAGE) * PAGE, b = draw(d) % (d->size / PAGE) * PAGE;

	describe(d, "page %llu over %llu, %s", (unsigned long long)a / PAGE,
		 (unsigned long long)b / PAGE, draw(d) % 2 ? "and back" : "once");
	change(d, 0, b, d->good + a, PAGE);
	if (strstr(d->text, "back"))
		change(d, 1, a, d->good + b, PAGE);
}

static void overwrite(struct damaging *d)
{
	static uint8_t bytes[2 * PAGE];
	size_t len = draw(d) % 2 ? PAGE : 1 + draw(d) % sizeof(bytes);
	uint64_t at = draw(d) % d->size;

	if (len == PAGE)
		at = at / PAGE * PAGE;
	memset(bytes, draw(d) % 2 ? 0 : 0xff, sizeof(bytes));
	describe(d, "%zu bytes of %u at %llu", len, bytes[0], (unsigned long long)at);
	change(d, 0, at, bytes, len);
}

static void cut_to(struct damaging *d, uint64_t size)
{
	describe(d, "cut to %llu", (unsigned long long)size);
	d->cut = size;
	assert_done(ftruncate(d->fd, (off_t)size));
}

static void do_damage(struct damaging *d)
{
	switch (draw(d) % 7) {
	case 0:
		flip_bit(d, draw(d) % d->size);
		break;
	case 1:
		flip_bit_of_index(d);
		break;
	case 2:
		flip_bit(d, draw(d) % (d->size / PAGE) * PAGE + draw(d) % 160);
		break;
	case 3:
		set_number(d);
		break;
	case 4:
		swap_pages(d);
		break;
	case 5:
		overwrite(d);
		break;
	case 6:
		cut_to(d, draw(d) % d->size);
		break;
	}
}

/* --- what is read ---------------------------------------------------------------------------- */

static void look_at_bytes(struct damaging *d, struct dataset *dataset, uint32_t e)
{
	SCOPE_FREE uint8_t *have = malloc(d->truth.all[e].len + 1);
	const char *target;
	size_t len;
	ssize_t n;

	assert_non_null(have);
	if (d->truth.all[e].entry.kind == FORMAT_SYMLINK) {
		target = dataset_target(dataset, e, &len);
		if (len != d->truth.all[e].len || memcmp(target, d->truth.all[e].bytes, len) != 0)
			FAIL(d, "'%s' has another target", d->truth.all[e].path);
		return;
	}
	n = dataset_read(dataset, e, have, d->truth.all[e].len + 1, 0);
	d->bad[e] = n < 0;
	if (n == -EBADMSG)
		d->is_reported = true;
	else if (n < 0)
		FAIL(d, "'%s': %s", d->truth.all[e].path, strerror((int)-n));
	else if ((size_t)n != d->truth.all[e].len ||
		 memcmp(have, d->truth.all[e].bytes, (size_t)n) != 0)
		FAIL(d, "'%s' has wrong bytes", d->truth.all[e].path);
}

static void look_at_entry(struct damaging *d, struct dataset *dataset, uint32_t e)
{
	const char *path = d->truth.all[e].path;
	const struct dataset_attr *want = &d->truth.all[e].attr;
	struct dataset_entry entry;
	struct dataset_attr attr;
	uint32_t found;
	int r;

	if (dataset_find(dataset, path, strlen(path), &found) < 0 || found != e)
		FAIL(d, "'%s' is not found", path);
	entry = dataset_entry(dataset, e);
	if (entry.kind != d->truth.all[e].entry.kind || entry.size != d->truth.all[e].entry.size)
		FAIL(d, "'%s' is of another kind or size", path);
	r = dataset_attr(dataset, e, &attr);
	if (r == -EBADMSG)
		d->is_reported = true;
	else if (r < 0 || attr.mode != want->mode || attr.nlink != want->nlink ||
		 attr.mtime.tv_sec != want->mtime.tv_sec ||
		 attr.mtime.tv_nsec != want->mtime.tv_nsec)
		FAIL(d, "'%s' has wrong attributes", path);
	if (entry.kind != FORMAT_DIRECTORY)
		look_at_bytes(d, dataset, e);
}

static int note_fault(void *context, const struct dataset_fault *fault)
{
	struct damaging *d = context;

	d->is_reported = true;
	if (fault->len == 0 || strlen(fault->damage) == 0 || strlen(fault->text) == 0)
		FAIL(d, "a fault without path, class or sentence");
	return 0;
}

static void look_at_all(struct damaging *d, struct dataset *dataset)
{
	struct err err = {{0}};
	int r;

	if (dataset_entries(dataset) != d->truth.entries)
		FAIL(d, "%u entries", dataset_entries(dataset));
	for (uint32_t e = 0; e < d->truth.entries; e++)
		look_at_entry(d, dataset, e);
	assert_done(dataset_check_sections(dataset, note_fault, d));
	r = dataset_check_keys(dataset, note_fault, d, &err);
	if (r < 0 && (r != -EBADMSG || !err.text[0]))
		FAIL(d, "checking the keys gave %d '%s'", r, err.text);
	d->is_reported |= r < 0;
}

static void look(struct damaging *d)
{
	struct dataset *dataset = NULL;
	struct err err = {{0}};
	int r = dataset_open(d->path, &dataset, &err);

	if (r == 0)
		look_at_all(d, dataset);
	else if ((r != -EBADMSG && r != -EINVAL && r != -ENOMSG && r != -EPROTONOSUPPORT &&
		  r != -EINPROGRESS) ||
		 !err.text[0])
		FAIL(d, "opening it gave %d '%s'", r, err.text);
	d->is_open = r == 0;
	d->is_reported |= r < 0;
	dataset_free(dataset);
	if (r == 0 && d->cut < d->size)
		FAIL(d, "it was opened");
}

/* --- what must be reported ---------------------------------------------------------------------
 */

static bool touches(const struct damaging *d, uint64_t from, uint64_t len)
{
	uint8_t now[FORMAT_SUPER_BYTES];

	for (uint64_t at = from; at < from + len; at += sizeof(now)) {
		uint64_t left = from + len - at;
		size_t part = left < sizeof(now) ? (size_t)left : sizeof(now);

		assert_done(io_pread_full(d->fd, now, part, at));
		if (memcmp(now, d->good + at, part) != 0)
			return true;
	}
	return false;
}

static bool may_touch(const struct damaging *d, uint64_t from, uint64_t len)
{
	for (unsigned i = 0; i < RANGES; i++)
		if (d->changed[i].from < from + len &&
		    from < d->changed[i].from + d->changed[i].len)
			return touches(d, from, len);
	return false;
}

/* Damage to a file is an error of that file. */
static void expect_reports(struct damaging *d)
{
	for (unsigned i = 0; i < SECTION_COUNT + 1; i++)
		if (may_touch(d, d->truth.index[i].from, d->truth.index[i].len) && !d->is_reported)
			FAIL(d, "damage to section %u is not reported", i);
	for (uint32_t e = 0; e < d->truth.entries; e++)
		if (format_is_file(d->truth.all[e].entry.kind) && d->is_open &&
		    may_touch(d, d->truth.all[e].offset, d->truth.all[e].len) && !d->bad[e])
			FAIL(d, "damage to '%s' is not reported", d->truth.all[e].path);
}

FIXTURE(d, struct damaging, setup, teardown);

TEST_OF(d, whatever_is_damaged_nothing_wrong_is_read)
{
	unsigned reported = 0;

	for (d->number = 0; d->number < DAMAGES; d->number++) {
		describe(d, "none");
		do_damage(d);
		look(d);
		if (d->cut == UINT64_MAX)
			expect_reports(d);
		reported += d->is_reported;
		mend(d);
	}
	assert_in_range(reported, DAMAGES / 2, DAMAGES - 1);
	describe(d, "none");
	look(d);
	assert_false(d->is_reported);
}

TEST_OF(d, a_pack_cut_at_any_page_is_refused)
{
	for (uint64_t size = 0; size < d->size; size += PAGE) {
		cut_to(d, size);
		look(d);
		mend(d);
	}
}
