#include "base/io.h"
#include "base/le.h"
#include "base/scope.h"
#include "pack/write/journal.h"
#include "pack/write/journal_internal.h"
#include <fcntl.h>
#include <sys/stat.h>

/* Replaces what is in buf by `len` bytes of the file: 0, -ENODATA where it is shorter. */
static int load_bytes(const struct journal *journal, uint64_t at, size_t len, struct buf *buf)
{
	int r;

	buf->len = 0;
	r = buf_reserve(buf, len);
	if (r == 0)
		r = io_pread_full(journal->fd, buf->data, len, at);
	if (r == 0)
		buf->len = len;
	return r;
}

/* Whether the last bytes of buf are the checksum of the others. */
static bool sum_holds(const struct buf *buf, uint64_t seed)
{
	size_t len = buf->len - JOURNAL_SUM;

	return le_get64(buf->data + len) == journal_sum(buf->data, len, seed);
}

static uint64_t buf_sum(const struct buf *buf)
{
	return le_get64(buf->data + buf->len - JOURNAL_SUM);
}

/* 0, or -ENODATA where there is no whole header. */
static int read_header(struct journal *journal, struct err *err)
{
	struct buf *buf = &journal->block;
	uint32_t options;
	int r = load_bytes(journal, 0, JOURNAL_HEADER, buf);

	if (r < 0)
		return r;
	if (memcmp(buf->data, JOURNAL_MAGIC, 8) != 0)
		return -ENODATA;
	if (le_get32(buf->data + 8) != JOURNAL_VERSION)
		return err_set(err, -EPROTONOSUPPORT, "was begun by another version of foldpack");
	options = le_get32(buf->data + 12);
	if (options > JOURNAL_OPTIONS_MAX)
		return -ENODATA;
	r = load_bytes(journal, 0, JOURNAL_HEADER + options + JOURNAL_SUM, buf);
	if (r < 0)
		return r;
	if (!sum_holds(buf, 0))
		return -ENODATA;
	memcpy(journal->run, buf->data + 16, FORMAT_RUN_BYTES);
	journal->options = strndup(buf->data + JOURNAL_HEADER, options);
	journal->next = journal->end = buf->len;
	journal->next_chain = journal->chain = buf_sum(buf);
	return journal->options ? 0 : -ENOMEM;
}

/* Loads the block at `next` and moves `next` after it. Returns 0, or -ENODATA where there is
 * none that is whole. */
static int load_block(struct journal *journal)
{
	struct buf *buf = &journal->block;
	uint64_t records;
	struct stat st;
	int r = load_bytes(journal, journal->next, 8, buf);

	if (r < 0)
		return r;
	records = le_get64(buf->data);
	if (fstat(journal->fd, &st) < 0)
		return -errno;
	if (records > (uint64_t)st.st_size)
		return -ENODATA;
	r = load_bytes(journal, journal->next, JOURNAL_BLOCK + records + JOURNAL_SUM, buf);
	if (r < 0)
		return r;
	if (!sum_holds(buf, journal->next_chain))
		return -ENODATA;
	journal->next += buf->len;
	journal->next_chain = buf_sum(buf);
	journal->record = JOURNAL_BLOCK;
	return 0;
}

static int get_state(const uint8_t *data, struct journal_checkpoint *ret)
{
	struct journal_checkpoint checkpoint = {
		.files = le_get64(data),
		.bytes = le_get64(data + 8),
		.super_offset = le_get64(data + 16),
		.puts = le_get64(data + 24),
		.index_sum = le_get64(data + 32),
		.store.bytes = le_get64(data + 40),
		.store.page = le_get32(data + 48),
		.store.last_key_len = le_get32(data + 52),
	};
	struct store_state *store = &checkpoint.store;

	if (store->last_key_len > FORMAT_KEY_MAX)
		return -ENODATA;
	memcpy(store->metas, data + 56, sizeof(store->metas));
	memcpy(store->last_key, data + 56 + sizeof(store->metas), store->last_key_len);
	*ret = checkpoint;
	return 0;
}

/* Finds the last whole block. */
static int read_blocks(struct journal *journal)
{
	uint64_t first = journal->next, first_chain = journal->next_chain;
	int r;

	while ((r = load_block(journal)) == 0) {
		r = get_state((uint8_t *)journal->block.data + 8, &journal->durable);
		if (r < 0)
			break;
		journal->any = true;
		journal->end = journal->next;
		journal->chain = journal->next_chain;
	}
	journal->next = first;
	journal->next_chain = first_chain;
	journal->block.len = journal->record = 0;
	journal->replay_end = journal->end;
	if (r != -ENODATA)
		return r;
	return journal->any ? 0 : -ENODATA;
}

int journal_open(const struct journal_params *params, struct journal **ret, struct err *err)
{
	struct journal *journal;
	int r = journal_alloc(params, &journal);

	if (r < 0)
		return r;
	journal->fd = open(params->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (journal->fd < 0)
		r = errno == ENOENT ? -ENODATA
				    : err_set(err, -errno, "cannot open '%s': %s", params->path,
					      strerror(errno));
	if (r == 0)
		r = read_header(journal, err);
	if (r == 0)
		r = read_blocks(journal);
	if (r < 0) {
		journal_free(journal);
		return r;
	}
	*ret = journal;
	return 0;
}

const uint8_t *journal_run(const struct journal *journal)
{
	return journal->run;
}

const char *journal_options(const struct journal *journal)
{
	return journal->options;
}

/* --- records ------------------------------------------------------------------------------- */

/* In their place: the block is in memory of malloc's, and nothing else looks there again. */
static const uint64_t *get_sums(uint8_t *at, uint32_t count)
{
	uint64_t *sums = (uint64_t *)(void *)at;

	for (uint32_t i = 0; i < count; i++)
		sums[i] = le_get64(&sums[i]);
	return sums;
}

static int get_record(struct journal *journal, struct journal_record *ret)
{
	uint8_t *at = (uint8_t *)journal->block.data + journal->record;
	size_t left = journal->block.len - JOURNAL_SUM - journal->record;
	struct journal_record record;
	size_t note;

	if (left < JOURNAL_RECORD)
		return -EBADMSG;
	record = (struct journal_record){
		.kind = (enum journal_kind)at[0],
		.image.kind = (enum format_image)at[JOURNAL_RECORD_IMAGE],
		.image.width = le_get32(at + JOURNAL_RECORD_WIDTH),
		.image.height = le_get32(at + JOURNAL_RECORD_WIDTH + 4),
		.fingerprint = le_get64(at + 8),
		.size = le_get64(at + 16),
		.sum_count = le_get32(at + 4),
		.note_len = le_get16(at + 2),
	};
	note = JOURNAL_RECORD + record.sum_count * sizeof(uint64_t);
	if (note + journal_padded(record.note_len) > left || record.kind < JOURNAL_STORED ||
	    record.kind > JOURNAL_ALIAS)
		return -EBADMSG;
	record.note = (char *)at + note;
	record.sums = get_sums(at + JOURNAL_RECORD, record.sum_count);
	journal->record += note + journal_padded(record.note_len);
	*ret = record;
	return 0;
}

int journal_next(struct journal *journal, struct journal_record *ret)
{
	while (journal->record + JOURNAL_SUM >= journal->block.len) {
		int r;

		if (journal->next >= journal->replay_end) {
			buf_release(&journal->block);
			journal->record = 0;
			return 1;
		}
		r = load_block(journal);
		if (r < 0)
			return r == -ENODATA ? -EBADMSG : r;
	}
	return get_record(journal, ret);
}
