/* Reads whatever bytes it is given as the journal of an interrupted run: it opens and tells its
 * records to an end, or says that there is nothing to resume. All that a record points at lies
 * within memory, and no more is told than there are bytes.
 *
 * What was read is written as a journal of its own, from which the same must be read. Cut short, it
 * is read up to a checkpoint, or not at all, and can be added to.
 *
 * The first byte of the input says how it is read, and is no part of it. Bit 0: magic, version and
 * checksums, which would stop nearly every mutation at the door, are made right first, as far as
 * lengths lead. Bit 1: it is the records alone, and gets a header and blocks around it, cut in two
 * where the upper bits say. Bits 2 and 3, if both are set: it is written again, which takes a
 * thread and some syncs. */
#include "base/scope.h"
#include "pack/write/journal.h"
#include "tests/fuzz/fuzz.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define OPTIONS "order=path\n"
#define SUM	sizeof(uint64_t)

/* Makes the last bytes of a piece its checksum, the seed of the next. */
static uint64_t sum_piece(uint8_t *piece, size_t len, uint64_t seed)
{
	uint64_t checksum = journal_checksum(piece, len - SUM, seed);

	memcpy(piece + len - SUM, &checksum, SUM);
	return checksum;
}

static void sum_again(uint8_t *data, size_t size)
{
	uint64_t at = sizeof(struct journal_header) + SUM, len, checksum;
	struct journal_header header;

	if (size < at)
		return;
	memcpy(&header, data, sizeof(header));
	memcpy(header.magic, JOURNAL_MAGIC, sizeof(header.magic));
	header.version = JOURNAL_VERSION;
	memcpy(data, &header, sizeof(header));
	at += header.options_len;
	if (at > size)
		return;
	checksum = sum_piece(data, at, 0);
	while (size - at >= sizeof(struct journal_block) + SUM) {
		memcpy(&len, data + at, sizeof(len));
		if (len > size - at - sizeof(struct journal_block) - SUM)
			return;
		len += sizeof(struct journal_block) + SUM;
		checksum = sum_piece(data + at, len, checksum);
		at += len;
	}
}

static void wrap_block(struct buf *to, const uint8_t *records, size_t len)
{
	const struct journal_block head = {.records = len};

	if (buf_add(to, &head, sizeof(head)) < 0 || (len && buf_add(to, records, len) < 0) ||
	    buf_add(to, &(uint64_t){0}, SUM) < 0)
		abort();
}

static void wrap(struct buf *to, const uint8_t *records, size_t len, size_t cut)
{
	const struct journal_header header = {.options_len = sizeof(OPTIONS) - 1};

	if (buf_add(to, &header, sizeof(header)) < 0 ||
	    buf_add(to, OPTIONS, sizeof(OPTIONS) - 1) < 0 || buf_add(to, &(uint64_t){0}, SUM) < 0)
		abort();
	cut = cut < len ? cut : len;
	wrap_block(to, records, cut);
	wrap_block(to, records + cut, len - cut);
}

#define BATCH 16 /* records of a checkpoint of what is written */

/* In a folder in memory. */
static char folder[] = "/dev/shm/fuzz_journal.XXXXXX";
static char path[sizeof(folder) + 8], copied[sizeof(folder) + 8];
static uint8_t run[FORMAT_RUN_BYTES] = "run";

static void remove_folder(void)
{
	unlink(path);
	unlink(copied);
	rmdir(folder);
}

/* A journal is opened by its name, and through no link. */
static int make_file(void)
{
	int fd;

	must(mkdtemp(folder) && atexit(remove_folder) == 0);
	snprintf(path, sizeof(path), "%s/read", folder);
	snprintf(copied, sizeof(copied), "%s/copied", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	must(fd >= 0);
	return fd;
}

/* Opens the copy. Returns what journal_open() does. */
static int reopen(int pack, struct journal **ret)
{
	const struct journal_params params = {.path = copied, .pack = pack};
	struct err err = {{0}};

	return journal_open(&params, ret, &err);
}

static bool same_record(const struct journal_record *a, const struct journal_record *b)
{
	return a->kind == b->kind && a->fingerprint == b->fingerprint && a->size == b->size &&
	       a->note_len == b->note_len && a->checksum_count == b->checksum_count &&
	       memcmp(&a->image, &b->image, sizeof(a->image)) == 0 &&
	       memcmp(a->note, b->note, a->note_len) == 0 &&
	       memcmp(a->checksums, b->checksums, a->checksum_count * sizeof(uint64_t)) == 0;
}

/* All records of `from`, in checkpoints like its last. Returns how many. */
static size_t copy_records(struct journal *from, struct journal *to, size_t size)
{
	struct journal_checkpoint last;
	struct journal_record record;
	size_t records = 0, bytes = 0;

	must(journal_last(from, &last) == 0 && last.store.last_key_len <= FORMAT_KEY_MAX);
	while (journal_next(from, &record) == 0) {
		bytes += record.note_len + record.checksum_count * sizeof(*record.checksums);
		must(++records * sizeof(struct journal_head) + bytes <= size);
		journal_add(to, &record);
		journal_amend(to, &record.image);
		if (records % BATCH == 0)
			must(journal_commit(to, &last) == 0);
	}
	must(journal_commit(to, &last) == 0 && journal_settle(to) == 0);
	must(journal_status(to) == 0);
	return records;
}

static void must_be_copied(const struct journal_params *params)
{
	struct journal *from, *copy;
	struct journal_record a, b;
	struct err err = {{0}};

	must(journal_open(params, &from, &err) == 0 && reopen(-1, &copy) == 0);
	must(strcmp(journal_options(from), journal_options(copy)) == 0);
	must(memcmp(journal_run(copy), run, sizeof(run)) == 0);
	while (journal_next(from, &a) == 0)
		must(journal_next(copy, &b) == 0 && same_record(&a, &b));
	must(journal_next(copy, &b) == 1);
	journal_free(from);
	journal_free(copy);
}

/* How many records there are, up to the end or to one that is wrong. */
static size_t count_records(struct journal *journal)
{
	struct journal_record record;
	size_t records = 0;

	for (; journal_next(journal, &record) == 0; records++) {
		(void)XXH3_64bits(record.note, record.note_len);
		(void)XXH3_64bits(record.checksums,
				  record.checksum_count * sizeof(*record.checksums));
	}
	return records;
}

static void add_after(struct journal *journal, size_t records)
{
	const struct journal_record record = {.kind = JOURNAL_DROPPED};
	struct journal_checkpoint last;

	must(journal_last(journal, &last) == 0);
	journal_add(journal, &record);
	must(journal_commit(journal, &last) == 0);
	journal_free(journal);
	must(reopen(-1, &journal) == 0 && count_records(journal) == records + 1);
	journal_remove(journal);
	must(access(copied, F_OK) < 0);
	journal_free(journal);
}

/* Cuts the copy short by `less` bytes, and goes on with it. */
static void cut_short(size_t less, size_t records)
{
	SCOPE_CLOSE int fd = open(copied, O_RDWR | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);
	struct journal *journal;
	size_t kept;

	must(ftruncate(fd, size > (off_t)less ? size - (off_t)less : 0) == 0);
	if (reopen(fd, &journal) < 0)
		return;
	kept = count_records(journal);
	must(kept <= records && kept % BATCH == 0);
	add_after(journal, kept);
}

static void use(struct journal *journal, const struct journal_params *params, size_t size)
{
	struct journal_params to = {.path = copied, .pack = params->pack, .run = run};
	struct journal *copy, *none;
	size_t records;

	unlink(copied);
	must(reopen(-1, &none) == -ENODATA && strlen(journal_options(journal)) <= size);
	to.options = journal_options(journal);
	must(journal_new(&to, &copy) == 0);
	records = copy_records(journal, copy, size);
	journal_free(copy);
	must_be_copied(params);
	cut_short(1 + XXH3_64bits(&size, sizeof(size)) % (size + 1), records);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE(buf_release) struct buf bytes = BUF_INIT;
	struct journal_params params = {.path = path};
	static int fd = -1;
	struct journal *journal;
	struct err err = {{0}};
	int r;

	if (fd < 0)
		fd = make_file();
	params.pack = fd;
	if (size < 2)
		return 0;
	if (data[0] & 2)
		wrap(&bytes, data + 1, size - 1, (size_t)(data[0] >> 4) * 32);
	else if (buf_add(&bytes, data + 1, size - 1) < 0)
		abort();
	if (data[0] & 3)
		sum_again((uint8_t *)bytes.data, bytes.len);
	if (ftruncate(fd, 0) < 0 || io_pwrite_full(fd, bytes.data, bytes.len, 0) < 0)
		abort();
	r = journal_open(&params, &journal, &err);
	/* Of what a run left, nothing is taken for another's. */
	must(!journal_is_other(path) || r < 0);
	if (r < 0)
		return 0;
	if ((data[0] & 12) == 12)
		use(journal, &params, bytes.len);
	else
		count_records(journal);
	journal_free(journal);
	return 0;
}
