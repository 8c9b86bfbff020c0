#include "pack/write/journal.h"
#include "base/io.h"
#include "base/le.h"
#include "base/scope.h"
#include "pack/write/journal_internal.h"
#include <fcntl.h>
#include <signal.h>
#include <xxhash.h>

uint64_t journal_sum(const void *data, size_t len, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, len, seed);
}

/* --- its life ------------------------------------------------------------------------------ */

int journal_alloc(const struct journal_params *params, struct journal **ret)
{
	struct journal *journal = calloc(1, sizeof(*journal));

	if (!journal)
		return -ENOMEM;
	pthread_mutex_init(&journal->lock, NULL);
	pthread_cond_init(&journal->changed, NULL);
	journal->fd = -1;
	journal->pack = params->pack;
	journal->path = strdup(params->path);
	if (!journal->path) {
		journal_free(journal);
		return -ENOMEM;
	}
	*ret = journal;
	return 0;
}

int journal_new(const struct journal_params *params, struct journal **ret)
{
	struct journal *journal;
	int r = journal_alloc(params, &journal);

	if (r < 0)
		return r;
	memcpy(journal->run, params->run, FORMAT_RUN_BYTES);
	journal->options = strdup(params->options);
	if (!journal->options) {
		journal_free(journal);
		return -ENOMEM;
	}
	*ret = journal;
	return 0;
}

static void stop_thread(struct journal *journal)
{
	if (!journal->started)
		return;
	pthread_mutex_lock(&journal->lock);
	journal->stop = true;
	pthread_cond_broadcast(&journal->changed);
	pthread_mutex_unlock(&journal->lock);
	pthread_join(journal->thread, NULL);
}

void journal_free(struct journal *journal)
{
	if (!journal)
		return;
	stop_thread(journal);
	scope_close(&journal->fd);
	pthread_mutex_destroy(&journal->lock);
	pthread_cond_destroy(&journal->changed);
	buf_release(&journal->records);
	buf_release(&journal->handed);
	buf_release(&journal->block);
	free(journal->path);
	free(journal->options);
	free(journal);
}

/* --- records ------------------------------------------------------------------------------- */

static void put_image(uint8_t *record, const struct dataset_image *image)
{
	record[JOURNAL_RECORD_IMAGE] = (uint8_t)image->kind;
	le_put32(record + JOURNAL_RECORD_WIDTH, image->width);
	le_put32(record + JOURNAL_RECORD_WIDTH + 4, image->height);
}

void journal_add(struct journal *journal, const struct journal_record *record)
{
	size_t sums = record->sum_count * sizeof(*record->sums);
	size_t padding = journal_padded(record->note_len) - record->note_len;
	struct buf *records = &journal->records;
	uint8_t head[JOURNAL_RECORD];

	if (buf_reserve(records, sizeof(head) + sums + record->note_len + padding) < 0) {
		journal->full = true;
		return;
	}
	head[0] = (uint8_t)record->kind;
	le_put16(head + 2, record->note_len);
	le_put32(head + 4, record->sum_count);
	le_put64(head + 8, record->fingerprint);
	le_put64(head + 16, record->size);
	put_image(head, &record->image);
	journal->last = records->len;
	buf_add(records, head, sizeof(head));
	for (uint32_t i = 0; i < record->sum_count; i++) {
		uint8_t sum[8];

		le_put64(sum, record->sums[i]);
		buf_add(records, sum, sizeof(sum));
	}
	if (record->note_len)
		buf_add(records, record->note, record->note_len);
	buf_add(records, "\0\0\0\0\0\0\0", padding);
}

void journal_amend(struct journal *journal, const struct dataset_image *image)
{
	if (journal->records.len > journal->last)
		put_image((uint8_t *)journal->records.data + journal->last, image);
}

/* --- the thread: from a commit to a checkpoint --------------------------------------------- */

static int add_header(const struct journal *journal, struct buf *out)
{
	uint8_t head[JOURNAL_HEADER], sum[JOURNAL_SUM];
	size_t len = strlen(journal->options);
	int r;

	memcpy(head, JOURNAL_MAGIC, 8);
	le_put32(head + 8, JOURNAL_VERSION);
	le_put32(head + 12, (uint32_t)len);
	memcpy(head + 16, journal->run, FORMAT_RUN_BYTES);
	r = buf_add(out, head, sizeof(head));
	if (r == 0)
		r = buf_add(out, journal->options, len);
	if (r < 0)
		return r;
	le_put64(sum, journal_sum(out->data, out->len, 0));
	return buf_add(out, sum, sizeof(sum));
}

static int create_file(struct journal *journal)
{
	SCOPE(buf_release) struct buf header = BUF_INIT;
	int r = add_header(journal, &header);

	if (r < 0)
		return r;
	journal->fd = open(journal->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (journal->fd < 0)
		return -errno;
	r = io_pwrite_full(journal->fd, header.data, header.len, 0);
	io_sync_directory(journal->path);
	journal->end = header.len;
	journal->chain = le_get64(header.data + header.len - JOURNAL_SUM);
	return r;
}

static void put_state(uint8_t *out, const struct journal_checkpoint *checkpoint)
{
	const struct store_state *store = &checkpoint->store;

	memset(out, 0, JOURNAL_STATE);
	le_put64(out, checkpoint->files);
	le_put64(out + 8, checkpoint->bytes);
	le_put64(out + 16, checkpoint->super_offset);
	le_put64(out + 24, checkpoint->puts);
	le_put64(out + 32, checkpoint->index_sum);
	le_put64(out + 40, store->bytes);
	le_put32(out + 48, store->page);
	le_put32(out + 52, (uint32_t)store->last_key_len);
	memcpy(out + 56, store->metas, sizeof(store->metas));
	memcpy(out + 56 + sizeof(store->metas), store->last_key, store->last_key_len);
}

static int write_block(struct journal *journal)
{
	uint8_t head[JOURNAL_BLOCK], sum[JOURNAL_SUM];
	struct buf *records = &journal->handed;
	uint64_t chain, at = journal->end;
	SCOPE(buf_release) struct buf block = BUF_INIT;
	int r = buf_reserve(&block, sizeof(head) + records->len + sizeof(sum));

	if (r < 0)
		return r;
	le_put64(head, records->len);
	put_state(head + 8, &journal->checkpoint);
	buf_add(&block, head, sizeof(head));
	if (records->len)
		buf_add(&block, records->data, records->len);
	chain = journal_sum(block.data, block.len, journal->chain);
	le_put64(sum, chain);
	buf_add(&block, sum, sizeof(sum));
	r = io_pwrite_full(journal->fd, block.data, block.len, at);
	if (r == 0 && fdatasync(journal->fd) < 0)
		r = -errno;
	if (r < 0)
		return r;
	journal->end = at + block.len;
	journal->chain = chain;
	return 0;
}

/* The next batch is copied to the same pages of memory then, which are in use already, and the
 * page cache keeps what others have in it. */
static void forget_records(int fd, uint64_t bytes)
{
	posix_fadvise(fd, 0, (off_t)bytes, POSIX_FADV_DONTNEED);
}

static int make_durable(struct journal *journal)
{
	int r = fdatasync(journal->pack) < 0 ? -errno : 0;

	if (r == 0 && !journal->checkpoint.revisited)
		forget_records(journal->pack, journal->checkpoint.store.bytes);
	if (r == 0 && journal->fd < 0)
		r = create_file(journal);
	return r < 0 ? r : write_block(journal);
}

/* Waits for something to do: false where it is time to end. */
static bool await_work(struct journal *journal)
{
	SCOPE_LOCK(&journal->lock);
	while (!journal->busy && !journal->stop)
		pthread_cond_wait(&journal->changed, &journal->lock);
	return journal->busy;
}

static void report(struct journal *journal, int error)
{
	SCOPE_LOCK(&journal->lock);
	journal->busy = false;
	if (error) {
		journal->error = error;
	} else {
		journal->any = true;
		journal->durable = journal->checkpoint;
	}
	pthread_cond_broadcast(&journal->changed);
}

static void *work(void *context)
{
	struct journal *journal = context;

	while (await_work(journal))
		report(journal, make_durable(journal));
	return NULL;
}

/* Signals are for the thread that asks whether one came. */
static int start_thread(struct journal *journal)
{
	sigset_t all, before;
	int r;

	if (journal->started)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&journal->thread, NULL, work, journal);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	journal->started = r == 0;
	return r;
}

/* --- the caller's side --------------------------------------------------------------------- */

int journal_settle(struct journal *journal)
{
	SCOPE_LOCK(&journal->lock);
	while (journal->busy)
		pthread_cond_wait(&journal->changed, &journal->lock);
	return journal->error;
}

int journal_status(struct journal *journal)
{
	SCOPE_LOCK(&journal->lock);
	return journal->error;
}

int journal_commit(struct journal *journal, const struct journal_checkpoint *checkpoint)
{
	int r = journal->full ? -ENOMEM : journal_settle(journal);
	struct buf spare;

	if (r == 0)
		r = start_thread(journal);
	if (r < 0)
		return r;
	SCOPE_LOCK(&journal->lock);
	spare = journal->handed;
	journal->handed = journal->records;
	journal->records = spare;
	journal->records.len = journal->last = 0;
	journal->checkpoint = *checkpoint;
	journal->busy = true;
	pthread_cond_broadcast(&journal->changed);
	return 0;
}

int journal_last(struct journal *journal, struct journal_checkpoint *ret)
{
	SCOPE_LOCK(&journal->lock);
	if (!journal->any)
		return -ENODATA;
	*ret = journal->durable;
	return 0;
}
