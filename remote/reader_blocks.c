#include "base/digest.h"
#include "base/limits.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/reader_blocks_internal.h"
#include <stdio.h>
#include <string.h>

#define FILL_PART 64 /* with this part of the file read, all of it is worth fetching */

static struct reader_blocks *copy_of(const struct reader *reader)
{
	return (struct reader_blocks *)reader;
}

static void count_bytes(_Atomic uint64_t *counter, uint64_t bytes)
{
	atomic_fetch_add_explicit(counter, bytes, memory_order_relaxed);
}

/* --- reading ---------------------------------------------------------------------------------- */

bool copy_has_pages(const struct reader_blocks *copy, uint64_t offset, uint64_t end)
{
	uint64_t until;

	return blocks_look(copy->blocks, offset, end, &until) && until == end;
}

/* A process that has read so much will read everything. What others fetched counts too: they may
 * end. */
void copy_count_read(struct reader_blocks *copy, _Atomic uint64_t *counter, uint64_t bytes)
{
	uint64_t before = atomic_fetch_add(counter, bytes);

	if (copy->fill && before + bytes >= blocks_size(copy->blocks) / FILL_PART &&
	    !atomic_load(&copy->fills) && !atomic_exchange(&copy->fills, true))
		block_filler_start(copy->filler);
}

struct block_piece *copy_take_piece(struct reader_blocks *copy, const struct part *part)
{
	return block_writer_take(&copy->target, part_bytes(copy->blocks, part), part->begin, false);
}

int copy_read_near(struct reader_blocks *copy, const struct part *part, const struct iovec *iov,
		   int count)
{
	uint64_t bytes = part_bytes(copy->blocks, part);
	SCOPE_FREE struct iovec *scratch = calloc((size_t)count, sizeof(*scratch));
	int r;

	if (!scratch)
		return -ENOMEM;
	memcpy(scratch, iov, (size_t)count * sizeof(*iov));
	r = reader_read(copy->near, scratch, count, part->begin, bytes);
	if (r < 0)
		blocks_forget(copy->blocks, part->begin, bytes);
	else
		copy_count_read(copy, &copy->near_bytes, bytes);
	return r;
}

/* What the copy has is read in this thread. */
static int copy_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
		     uint64_t needed)
{
	struct reader_blocks *copy = copy_of(reader);
	const struct part whole = {.begin = offset, .end = pages_end(offset + needed)};

	if (!copy->blocks)
		return reader_read(copy->far, iov, count, offset, needed);
	if (offset + needed <= blocks_size(copy->blocks) &&
	    copy_has_pages(copy, whole.begin, whole.end) &&
	    copy_read_near(copy, &whole, iov, count) == 0)
		return 0;
	return reader_submit_and_wait(reader, iov, count, offset, needed);
}

static int copy_read_now(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
			 uint64_t needed)
{
	struct reader_blocks *copy = copy_of(reader);
	int r;

	if (!copy->blocks)
		return reader_read_now(copy->far, iov, count, offset, needed);
	if (copy->far_waits && !blocks_complete(copy->blocks))
		return -EAGAIN;
	if (offset + needed > blocks_size(copy->blocks) ||
	    !copy_has_pages(copy, offset, pages_end(offset + needed)))
		return -EAGAIN;
	r = reader_read_now(copy->near, iov, count, offset, needed);
	if (r == 0)
		count_bytes(&copy->near_bytes, needed);
	return r;
}

/* --- what has a checksum, into one buffer ----------------------------------------------------- */

/* Reads whole pages around the bytes from afar, into memory that the writer takes over. */
static ssize_t get_far(struct reader_blocks *copy, void *buf, size_t len, uint64_t offset)
{
	uint64_t begin = offset - offset % READER_PAGE;
	struct part part = {.begin = begin, .end = pages_end(offset + len)};
	struct block_piece *piece = copy_take_piece(copy, &part);
	int r;

	if (!piece)
		return reader_get(copy->far, buf, len, offset);
	r = reader_get_full(copy->far, piece->memory, piece->len, begin);
	if (r < 0)
		piece->len = 0;
	else
		memcpy(buf, (char *)piece->memory + (offset - begin), len);
	count_bytes(&copy->far_bytes, piece->len);
	block_writer_put(piece);
	return r < 0 ? r : (ssize_t)len;
}

static bool may_keep(const struct reader_blocks *copy, uint64_t offset, size_t len)
{
	uint64_t size = copy->blocks ? blocks_size(copy->blocks) : 0;

	return len > 0 && len <= size && offset <= size - len;
}

static ssize_t copy_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct reader_blocks *copy = copy_of(reader);
	ssize_t n = -EIO;

	if (!may_keep(copy, offset, len))
		return reader_get(copy->far, buf, len, offset);
	if (copy_has_pages(copy, offset - offset % READER_PAGE, pages_end(offset + len)))
		n = reader_get(copy->near, buf, len, offset);
	if (n != (ssize_t)len)
		return get_far(copy, buf, len, offset);
	count_bytes(&copy->near_bytes, len);
	return n;
}

/* Announces what get_far() will ask for. */
static void copy_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	struct reader_blocks *copy = copy_of(reader);
	uint64_t begin = offset - offset % READER_PAGE, end = pages_end(offset + len);

	if (!may_keep(copy, offset, len))
		reader_will_get(copy->far, offset, len);
	else if (copy_has_pages(copy, begin, end))
		reader_will_get(copy->near, offset, len);
	else
		reader_will_get(copy->far, begin, end - begin);
}

/* --- which pack it is ------------------------------------------------------------------------- */

/* Once for all copies: the reason is mostly the same. */
static void say_no_copy(struct disk *disk, int error)
{
	char line[256];

	snprintf(line, sizeof(line), "the disk cache cannot be used, the mount goes on without: %s",
		 err_text(NULL, error));
	if (disk->notice && !atomic_exchange(&disk->said, true))
		disk->notice(line);
}

static void close_copy(struct reader_blocks *copy)
{
	block_filler_free(copy->filler);
	if (copy->blocks)
		block_writer_drain(&copy->target);
	block_claims_free(copy->claims);
	blocks_free(copy->blocks);
	copy->blocks = NULL;
	copy->near = NULL;
	copy->claims = NULL;
	copy->filler = NULL;
}

static int open_copy(struct reader_blocks *copy, const char *key, uint64_t size)
{
	struct block_filler_params params = {.fillers = &copy->disk->fillers,
					     .far = copy->far,
					     .store = copy->disk->store,
					     .target = &copy->target};
	int r = block_store_blocks(copy->disk->store, key, size, &copy->blocks);

	if (r < 0)
		return r;
	copy->near = blocks_reader(copy->blocks);
	copy->target = (struct block_target){.writer = copy->disk->writer, .blocks = copy->blocks};
	params.blocks = copy->blocks;
	r = limits_is_spare(blocks_map(copy->blocks)) ? -EMFILE : 0;
	if (r == 0)
		r = block_claims_new(copy->blocks, false, &copy->claims);
	if (r == 0)
		r = block_filler_new(&params, &copy->filler);
	if (r < 0)
		close_copy(copy);
	return r;
}

/* The head has the checksums of all sections, and these have the checksums of all files: at one
 * place, the same head and size mean the same pack. A path is another place once it is written to,
 * as what comes there may come from elsewhere; what a URL says of that is not always the same. */
static void make_key(const char *place, const struct reader_identity *identity, const void *head,
		     size_t len, char ret[static BLOCK_KEY_DIGITS + 1])
{
	uint64_t state[2] = {identity->size, name_scheme(place) ? 0 : identity->written};
	const struct iovec parts[] = {
		{(void *)place, strlen(place)}, {state, sizeof(state)}, {(void *)head, len}};

	digest_make(parts, 3, ret);
}

static void copy_known(struct reader *reader, const void *head, size_t len)
{
	struct reader_blocks *copy = copy_of(reader);
	const char *place = copy->far->place;
	struct reader_identity identity = {0};
	char key[BLOCK_KEY_DIGITS + 1];
	int r = place ? reader_identity(copy->far, &identity) : -ENOENT;

	if (copy->blocks)
		return;
	copy->known = identity;
	if (r == 0) {
		make_key(place, &identity, head, len, key);
		r = open_copy(copy, key, identity.size);
	}
	if (r < 0)
		say_no_copy(copy->disk, r);
	else
		block_store_remember(copy->disk->store, place, key);
}

static bool copy_bad(struct reader *reader, uint64_t offset, uint64_t len)
{
	struct reader_blocks *copy = copy_of(reader);

	if (!copy->blocks)
		return reader_bad(copy->far, offset, len);
	atomic_fetch_add(&copy->damaged, 1);
	if (blocks_forget(copy->blocks, offset, len) && copy->fill)
		block_filler_start(copy->filler);
	return true;
}

static struct reader *copy_origin(struct reader *reader)
{
	return reader_origin(copy_of(reader)->far);
}

/* --- the rest --------------------------------------------------------------------------------- */

static int copy_prepare(struct reader *reader, enum reader_io io)
{
	struct reader_blocks *copy = copy_of(reader);
	int r = reader_prepare(copy->far, io);

	atomic_store(&copy->cancelled, false);
	return r == 0 && copy->near ? reader_prepare(copy->near, io) : r;
}

static int copy_identity(struct reader *reader, struct reader_identity *ret)
{
	const struct reader_blocks *copy = copy_of(reader);

	if (!copy->blocks || !blocks_complete(copy->blocks))
		return reader_identity(copy->far, ret);
	*ret = copy->known;
	return 0;
}

static void copy_hints(const struct reader *reader, struct reader_hints *ret)
{
	const struct reader_blocks *copy = copy_of(reader);

	if (copy->blocks && blocks_complete(copy->blocks))
		*ret = reader_hints(copy->near);
	else
		*ret = reader_hints(copy->far);
}

static void copy_counts(const struct reader *reader, struct reader_counts *ret)
{
	const struct reader_blocks *copy = copy_of(reader);
	struct reader_counts near = {0};

	*ret = reader_counts(copy->far);
	if (copy->near)
		near = reader_counts(copy->near);
	ret->reads += near.reads;
	ret->bytes += near.bytes;
	ret->errors += near.errors;
}

static void copy_rest(struct reader *reader)
{
	struct reader_blocks *copy = copy_of(reader);

	if (copy->blocks) {
		block_filler_rest(copy->filler);
		atomic_store(&copy->fills, false);
		block_writer_drain(&copy->target);
	}
	reader_rest(copy->far);
}

static void copy_cancel(struct reader *reader)
{
	atomic_store(&copy_of(reader)->cancelled, true);
	reader_cancel(copy_of(reader)->far);
}

static void copy_free(struct reader *reader)
{
	struct reader_blocks *copy = copy_of(reader);

	if (copy->freed)
		copy->freed(copy->context, reader);
	close_copy(copy);
	reader_free(copy->far);
	free(copy);
}

static const struct reader_ops copy_ops = {
	.prepare = copy_prepare,
	.read = copy_read,
	.read_now = copy_read_now,
	.submit = copy_submit,
	.get = copy_get,
	.will_get = copy_will_get,
	.identity = copy_identity,
	.hints = copy_hints,
	.counts = copy_counts,
	.origin = copy_origin,
	.known = copy_known,
	.bad = copy_bad,
	.rest = copy_rest,
	.cancel = copy_cancel,
	.free = copy_free,
};

int reader_blocks_new(struct reader *far, const struct reader_blocks_params *params,
		      struct reader **ret)
{
	struct reader_blocks *copy = calloc(1, sizeof(*copy));
	struct reader_hints hints;

	if (!copy) {
		reader_free(far);
		return -ENOMEM;
	}
	copy->reader.ops = &copy_ops;
	copy->far = far;
	copy->disk = params->disk;
	copy->freed = params->freed;
	copy->context = params->context;
	copy->fill = params->fill;
	hints = reader_hints(far);
	copy->far_waits = hints.remote && !hints.far;
	*ret = &copy->reader;
	return 0;
}

void reader_blocks_stats(struct reader *reader, struct reader_blocks_stats *ret)
{
	struct reader_blocks *copy = copy_of(reader);
	struct block_writer_stats writer;

	*ret = (struct reader_blocks_stats){.near_bytes = copy->near_bytes,
					    .far_bytes = copy->far_bytes,
					    .damaged = copy->damaged};
	if (!copy->blocks)
		return;
	block_writer_stats(&copy->target, &writer);
	ret->open = true;
	ret->size = blocks_size(copy->blocks);
	ret->cached = blocks_used(copy->blocks);
	ret->copy = blocks_number(copy->blocks);
	ret->complete = blocks_complete(copy->blocks) || blocks_noted_complete(copy->blocks);
	ret->filler = block_filler_look(copy->filler, &ret->error);
	ret->left_out = writer.left_out;
	ret->full = writer.full;
	ret->failed = writer.failed;
}

void reader_blocks_drain(struct reader *reader)
{
	struct reader_blocks *copy = copy_of(reader);

	if (copy->blocks)
		block_writer_drain(&copy->target);
}

bool reader_blocks_fill(struct reader *reader)
{
	struct reader_blocks *copy = copy_of(reader);

	if (!copy->blocks)
		return false;
	block_filler_start(copy->filler);
	return true;
}
