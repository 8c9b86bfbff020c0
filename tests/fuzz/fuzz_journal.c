/* Reads whatever bytes it is given as the journal of an interrupted run: it opens and tells its
 * records to an end, or says that there is nothing to resume. All that a record points at lies
 * within memory, and no more is told than there are bytes.
 *
 * The first byte of the input says how it is read, and is no part of it. Bit 0: magic, version and
 * checksums, which would stop nearly every mutation at the door, are made right first, as far as
 * lengths lead. Bit 1: it is the records alone, and gets a header and blocks around it, cut in two
 * where the upper bits say. */
#include "base/scope.h"
#include "pack/write/journal.h"
#include "tests/fuzz/fuzz.h"
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

static void use(struct journal *journal, size_t size)
{
	struct journal_checkpoint last;
	struct journal_record record;
	size_t records = 0, bytes = 0;

	if (journal_last(journal, &last) < 0 || last.store.last_key_len > FORMAT_KEY_MAX ||
	    strlen(journal_options(journal)) > size)
		abort();
	while (journal_next(journal, &record) == 0) {
		(void)XXH3_64bits(record.note, record.note_len);
		(void)XXH3_64bits(record.checksums,
				  record.checksum_count * sizeof(*record.checksums));
		bytes += record.note_len + record.checksum_count * sizeof(*record.checksums);
		if (++records * sizeof(struct journal_head) + bytes > size)
			abort();
	}
}

static char path[] = "/dev/shm/fuzz_journal.XXXXXX";

static void remove_file(void)
{
	unlink(path);
}

/* A journal is opened by its name, and through no link. */
static int make_file(void)
{
	int fd = mkstemp(path);

	if (fd < 0 || atexit(remove_file) != 0)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE(buf_release) struct buf bytes = BUF_INIT;
	const struct journal_params params = {.path = path, .pack = -1};
	static int fd = -1;
	struct journal *journal;
	struct err err = {{0}};

	if (fd < 0)
		fd = make_file();
	if (size < 2)
		return 0;
	if (data[0] & 2)
		wrap(&bytes, data + 1, size - 1, (size_t)(data[0] >> 2) * 8);
	else if (buf_add(&bytes, data + 1, size - 1) < 0)
		abort();
	if (data[0] & 3)
		sum_again((uint8_t *)bytes.data, bytes.len);
	if (ftruncate(fd, 0) < 0 || io_pwrite_full(fd, bytes.data, bytes.len, 0) < 0)
		abort();
	if (journal_open(&params, &journal, &err) < 0)
		return 0;
	use(journal, bytes.len);
	journal_free(journal);
	return 0;
}
