#include "pack/write/journal.h"
#include "base/io.h"
#include "base/scope.h"
#include "base/signals.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#define OPTIONS_MAX    (1u << 20)
#define CHECKSUM_BYTES sizeof(uint64_t)

/* Where a piece of the file begins, and the checksum of the one before it. */
struct journal_place {
	uint64_t at, chain;
};

struct journal {
	char *path, *options;
	uint8_t run[FORMAT_RUN_BYTES];
	int fd;	  /* -1 until the first checkpoint */
	int pack; /* the caller's */

	struct buf records; /* since the last commit */
	size_t last;	    /* where the last one begins */

	struct buf block;	   /* being read */
	size_t record;		   /* the next one in it */
	struct journal_place next; /* of the block after it */

	atomic_int error; /* of the first checkpoint that failed, */
	const char *call; /* and at what; set before it */
	bool working;	  /* the thread has not been joined */
	pthread_t thread;
	/* These belong to the thread until it is joined: */
	struct buf handed; /* the records of the checkpoint that it writes */
	struct journal_checkpoint checkpoint;
	struct journal_place end; /* of what counts in the file */
	bool any;		  /* `durable` is one */
	struct journal_checkpoint durable;
};

static size_t journal_padded(size_t len)
{
	return (len + 7) / 8 * 8;
}

uint64_t journal_checksum(const void *data, size_t len, uint64_t before)
{
	return XXH3_64bits_withSeed(data, len, before);
}

/* --- its life ------------------------------------------------------------------------------ */

/* NULL: there is no memory. */
static struct journal *journal_alloc(const struct journal_params *params)
{
	struct journal *journal = calloc(1, sizeof(*journal));

	if (!journal)
		return NULL;
	journal->fd = -1;
	journal->pack = params->pack;
	journal->path = strdup(params->path);
	if (journal->path)
		return journal;
	free(journal);
	return NULL;
}

int journal_new(const struct journal_params *params, struct journal **ret)
{
	struct journal *journal = journal_alloc(params);

	if (!journal)
		return -ENOMEM;
	journal->options = strdup(params->options);
	if (!journal->options) {
		journal_free(journal);
		return -ENOMEM;
	}
	memcpy(journal->run, params->run, FORMAT_RUN_BYTES);
	*ret = journal;
	return 0;
}

void journal_remove(const struct journal *journal)
{
	if (io_is_named(journal->fd, journal->path))
		unlink(journal->path);
}

void journal_free(struct journal *journal)
{
	if (!journal)
		return;
	journal_settle(journal);
	scope_close(&journal->fd);
	buf_release(&journal->records);
	buf_release(&journal->handed);
	buf_release(&journal->block);
	free(journal->path);
	free(journal->options);
	free(journal);
}

/* --- records ------------------------------------------------------------------------------- */

void journal_add(struct journal *journal, const struct journal_record *record)
{
	const struct journal_head head = {.kind = (uint8_t)record->kind,
					  .note_len = record->note_len,
					  .checksum_count = record->checksum_count,
					  .fingerprint = record->fingerprint,
					  .size = record->size,
					  .image = record->image};
	size_t checksums = record->checksum_count * sizeof(*record->checksums);
	size_t padding = journal_padded(record->note_len) - record->note_len;
	struct buf *records = &journal->records;

	journal->last = records->len;
	buf_add(records, &head, sizeof(head));
	if (checksums)
		buf_add(records, record->checksums, checksums);
	if (record->note_len)
		buf_add(records, record->note, record->note_len);
	buf_add(records, "\0\0\0\0\0\0\0", padding);
}

void journal_amend(struct journal *journal, const struct dataset_image *image)
{
	struct journal_head *head = (void *)(journal->records.data + journal->last);

	if (journal->records.len > journal->last)
		head->image = *image;
}

/* --- the thread: from a commit to a checkpoint --------------------------------------------- */

/* Ends a piece of the file by its checksum. */
static int add_checksum(struct buf *piece, uint64_t *chain)
{
	*chain = journal_checksum(piece->data, piece->len, *chain);
	return buf_add(piece, chain, sizeof(*chain));
}

static int create_file(struct journal *journal)
{
	struct journal_header header = {.magic = JOURNAL_MAGIC,
					.version = JOURNAL_VERSION,
					.options_len = (uint32_t)strlen(journal->options)};
	SCOPE(buf_release) struct buf out = BUF_INIT;
	int r;

	memcpy(header.run, journal->run, sizeof(header.run));
	buf_add(&out, &header, sizeof(header));
	r = buf_add(&out, journal->options, header.options_len);
	if (r == 0)
		r = add_checksum(&out, &journal->end.chain);
	if (r < 0)
		return r;
	journal->call = "open";
	r = io_create(AT_FDCWD, journal->path, O_RDWR, 0600);
	if (r < 0)
		return r;
	journal->fd = r;
	journal->call = "write";
	r = io_pwrite_full(journal->fd, out.data, out.len, 0);
	io_sync_directory(journal->path);
	journal->end.at = out.len;
	return r;
}

static int write_block(struct journal *journal)
{
	const struct buf *records = &journal->handed;
	const struct journal_block head = {.records = records->len,
					   .checkpoint = journal->checkpoint};
	SCOPE(buf_release) struct buf block = BUF_INIT;
	uint64_t chain = journal->end.chain;
	int r = buf_reserve(&block, sizeof(head) + records->len + CHECKSUM_BYTES);

	if (r < 0)
		return r;
	buf_add(&block, &head, sizeof(head));
	if (records->len)
		buf_add(&block, records->data, records->len);
	add_checksum(&block, &chain);
	journal->call = "write";
	r = io_pwrite_full(journal->fd, block.data, block.len, journal->end.at);
	if (r < 0)
		return r;
	journal->call = "fdatasync";
	r = io_sync(journal->fd, fdatasync);
	if (r < 0)
		return r;
	journal->end.at += block.len;
	journal->end.chain = chain;
	return 0;
}

/* What a filesystem does not bring to the disk when it is asked is no less resumed after a kill. */
static void *write_checkpoint(void *context)
{
	struct journal *journal = context;
	int r;

	journal->call = "fdatasync";
	r = io_sync(journal->pack, fdatasync);
	if (r == 0 && !journal->checkpoint.store.revisited)
		/* So the next batch reuses these pages of memory, and other programs keep what they
		 * have in the page cache. */
		posix_fadvise(journal->pack, 0, (off_t)journal->checkpoint.store.bytes,
			      POSIX_FADV_DONTNEED);
	if (r >= 0 && journal->fd < 0)
		r = create_file(journal);
	if (r >= 0)
		r = write_block(journal);
	atomic_store(&journal->error, r);
	if (r == 0) {
		journal->any = true;
		journal->durable = journal->checkpoint;
	}
	return NULL;
}

/* --- the caller's side --------------------------------------------------------------------- */

int journal_settle(struct journal *journal)
{
	if (journal->working)
		pthread_join(journal->thread, NULL);
	journal->working = false;
	return atomic_load(&journal->error);
}

int journal_status(const struct journal *journal)
{
	return atomic_load(&journal->error);
}

const char *journal_failed(const struct journal *journal)
{
	return journal->call;
}

int journal_commit(struct journal *journal, const struct journal_checkpoint *checkpoint)
{
	int r = journal_settle(journal);
	struct buf spare;

	if (r == 0)
		r = buf_error(&journal->records);
	if (r < 0)
		return r;
	spare = journal->handed;
	journal->handed = journal->records;
	journal->records = spare;
	journal->records.len = journal->last = 0;
	journal->checkpoint = *checkpoint;
	r = thread_without_signals(&journal->thread, write_checkpoint, journal);
	journal->working = r == 0;
	if (r < 0)
		atomic_store(&journal->error, r);
	return r;
}

int journal_last(struct journal *journal, struct journal_checkpoint *ret)
{
	journal_settle(journal);
	if (!journal->any)
		return -ENODATA;
	*ret = journal->durable;
	return 0;
}

/* --- an existing one --------------------------------------------------------------------- */

/* Loads `len` bytes of the file into buf: 0, or -ENODATA where the file is shorter. */
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

/* Whether the last bytes of the loaded piece are the checksum of the others, after *chain. Then
 * *chain becomes that checksum. */
static bool checksum_holds(const struct buf *piece, uint64_t *chain)
{
	size_t len = piece->len - CHECKSUM_BYTES;
	uint64_t checksum = journal_checksum(piece->data, len, *chain);

	if (memcmp(piece->data + len, &checksum, sizeof(checksum)) != 0)
		return false;
	*chain = checksum;
	return true;
}

/* 0, or -ENODATA where there is no whole header. */
static int read_journal_header(struct journal *journal, struct err *err)
{
	struct buf *buf = &journal->block;
	struct journal_header header;
	int r = load_bytes(journal, 0, sizeof(header), buf);

	if (r < 0)
		return r;
	memcpy(&header, buf->data, sizeof(header));
	if (memcmp(header.magic, JOURNAL_MAGIC, sizeof(header.magic)) != 0)
		return -ENODATA;
	if (header.version != JOURNAL_VERSION)
		return err_set(err, -EPROTONOSUPPORT, "was begun by another version of foldpack");
	if (header.options_len > OPTIONS_MAX)
		return -ENODATA;
	r = load_bytes(journal, 0, sizeof(header) + header.options_len + CHECKSUM_BYTES, buf);
	if (r < 0)
		return r;
	if (!checksum_holds(buf, &journal->next.chain))
		return -ENODATA;
	memcpy(journal->run, header.run, sizeof(header.run));
	journal->options = strndup(buf->data + sizeof(header), header.options_len);
	journal->next.at = buf->len;
	return journal->options ? 0 : -ENOMEM;
}

/* Loads the block at `next` and moves `next` after it. Returns 0, or -ENODATA where there is
 * none that is whole. */
static int load_block(struct journal *journal)
{
	struct buf *buf = &journal->block;
	const struct store_state *store;
	uint64_t records;
	struct stat st;
	int r = load_bytes(journal, journal->next.at, sizeof(records), buf);

	if (r < 0)
		return r;
	memcpy(&records, buf->data, sizeof(records));
	if (fstat(journal->fd, &st) < 0)
		return -errno;
	if (records > (uint64_t)st.st_size)
		return -ENODATA;
	r = load_bytes(journal, journal->next.at,
		       sizeof(struct journal_block) + records + CHECKSUM_BYTES, buf);
	if (r < 0)
		return r;
	store = &((const struct journal_block *)(const void *)buf->data)->checkpoint.store;
	/* What no program of ours wrote, though its checksum is right, is taken for none. */
	if (!checksum_holds(buf, &journal->next.chain) || store->last_key_len > FORMAT_KEY_MAX ||
	    *(const uint8_t *)(const void *)&store->revisited > 1)
		return -ENODATA;
	journal->next.at += buf->len;
	journal->record = sizeof(struct journal_block);
	return 0;
}

int journal_open(const struct journal_params *params, struct journal **ret, struct err *err)
{
	struct journal *journal = journal_alloc(params);
	struct journal_place first;
	int r = 0;

	if (!journal)
		return -ENOMEM;
	journal->fd = open(params->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (journal->fd < 0)
		r = errno == ENOENT ? -ENODATA
				    : err_set(err, -errno, "cannot open '%s': %s", params->path,
					      strerror(errno));
	if (r == 0)
		r = read_journal_header(journal, err);
	first = journal->next;
	/* Up to the last whole block. */
	while (r == 0 && (r = load_block(journal)) == 0) {
		const struct journal_block *block = (const void *)journal->block.data;

		journal->durable = block->checkpoint;
		journal->any = true;
		journal->end = journal->next;
	}
	journal->next = first;
	journal->block.len = 0;
	if (r == -ENODATA && journal->any)
		r = 0;
	if (r < 0) {
		journal_free(journal);
		return r;
	}
	*ret = journal;
	return 0;
}

bool journal_is_other(const char *path)
{
	SCOPE_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	static const char zeros[sizeof(JOURNAL_MAGIC) - 1];
	char head[sizeof(zeros)];
	ssize_t len;

	if (fd < 0)
		return errno != ENOENT;
	len = io_pread(fd, head, sizeof(head), 0);
	return len < 0 || (memcmp(head, JOURNAL_MAGIC, (size_t)len) != 0 &&
			   memcmp(head, zeros, (size_t)len) != 0);
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

int journal_next(struct journal *journal, struct journal_record *ret)
{
	const struct journal_head *head;
	size_t left, len;
	const char *at;

	while (journal->record + CHECKSUM_BYTES >= journal->block.len) {
		int r;

		if (journal->next.at >= journal->end.at) {
			buf_release(&journal->block);
			return 1;
		}
		r = load_block(journal);
		if (r < 0)
			return r == -ENODATA ? -EBADMSG : r;
	}
	at = journal->block.data + journal->record;
	left = journal->block.len - CHECKSUM_BYTES - journal->record;
	head = (const void *)at;
	if (left < sizeof(*head))
		return -EBADMSG;
	len = sizeof(*head) + head->checksum_count * sizeof(*ret->checksums) +
	      journal_padded(head->note_len);
	if (len > left || head->kind < JOURNAL_STORED || head->kind > JOURNAL_BASE)
		return -EBADMSG;
	*ret = (struct journal_record){
		.kind = (enum journal_kind)head->kind,
		.image = head->image,
		.fingerprint = head->fingerprint,
		.size = head->size,
		.checksums = (const void *)(at + sizeof(*head)),
		.checksum_count = head->checksum_count,
		.note = at + sizeof(*head) + head->checksum_count * sizeof(*ret->checksums),
		.note_len = head->note_len,
	};
	journal->record += len;
	return 0;
}
