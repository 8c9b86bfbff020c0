#include "remote/reader_blocks.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/math.h"
#include "base/name.h"
#include "base/scope.h"
#include "remote/parts.h"
#include <string.h>

#define FILL_PART 64 /* with this part of the file read, all of it is worth fetching */

/* How long a read waits for others that fetch the same. Then it fetches too: they may hang. */
#define PATIENCE_NS	  (CLOCK_SECOND / 5)
#define PATIENCE_AHEAD_NS (2 * CLOCK_SECOND) /* if nobody waits for the read */
#define NAP_NS		  1000000

struct reader_blocks {
	struct reader reader;
	struct reader *far;
	struct disk *disk;
	struct reader_blocks *next; /* of the disk's; protected by the filler's lock */
	bool far_waits; /* to be asked for its identity: a file of a server that may be dead */
	struct reader_identity known; /* of the remote file, when its copy was opened */
	/* What follows is NULL until the pack is known, and if there is no copy: */
	struct blocks *blocks;
	struct reader *near; /* reads from the copy */
	struct disk_fill filler;

	_Atomic uint64_t near_bytes, far_bytes, damaged, left_out;
	uint64_t writing;  /* pieces on their way to the copy; protected by the filler's lock */
	bool fill;	   /* see reader_blocks.h */
	atomic_bool fills; /* the filler has been started */
	atomic_bool cancelled;
};

/* Whole pages on their way: to who asked for them, and into the copy. */
struct flight {
	struct job job;
	struct reader_blocks *copy;
	struct reader_request *asked; /* NULL: it is ahead, or a get */
	struct reader_request far;
	uint64_t begin, end; /* bytes, of the file */
	uint64_t since;	     /* it is under way, ns */
	bool ahead;	     /* for the filler */
	void *memory;	     /* disk_take(); or NULL */
	int error;
	struct iovec iov[];
};

static struct reader_blocks *copy_of(const struct reader *reader)
{
	return (struct reader_blocks *)reader;
}

/* A process that has read so much will read everything. What others fetched counts too: they may
 * end. */
static void count_read(struct reader_blocks *copy, _Atomic uint64_t *counter, uint64_t bytes)
{
	uint64_t before = atomic_fetch_add(counter, bytes);

	if (copy->fill && before + bytes >= blocks_size(copy->blocks) / FILL_PART &&
	    !atomic_load(&copy->fills) && !atomic_exchange(&copy->fills, true))
		disk_fill_start(&copy->filler);
}

/* --- into the copy ---------------------------------------------------------------------------- */

/* Pages around these bytes. */
static struct flight *flight_new(struct reader_blocks *copy, uint64_t begin, uint64_t end,
				 int pieces)
{
	struct flight *flight = calloc(1, sizeof(*flight) + (size_t)pieces * sizeof(struct iovec));

	if (!flight)
		return NULL;
	flight->copy = copy;
	flight->begin = begin - begin % READER_PAGE;
	flight->end = min(pages_end(end), blocks_size(copy->blocks));
	return flight;
}

static size_t flight_bytes(const struct flight *flight)
{
	return flight->end - flight->begin;
}

static bool take_memory(struct flight *flight)
{
	if (!flight->memory)
		flight->memory = disk_take(flight->copy->disk, flight_bytes(flight));
	return flight->memory;
}

static void flight_free(struct flight *flight)
{
	if (flight->memory)
		disk_give_back(flight->copy->disk, flight->memory, flight_bytes(flight));
	free(flight);
}

/* What was not fetched, or is written, or is left out. */
static void flight_end(struct flight *flight)
{
	struct reader_blocks *copy = flight->copy;
	bool ahead = flight->ahead;
	int error = flight->error;

	blocks_leave(copy->blocks, flight->begin, pages_end(flight->end));
	flight_free(flight);
	if (ahead)
		disk_fill_fetched(&copy->filler, error);
}

/* Whoever drains the copy may free it once nothing waits, so that comes last. */
static void write_flight(struct job *job)
{
	struct flight *flight = (struct flight *)job;
	struct reader_blocks *copy = flight->copy;
	struct disk *disk = copy->disk;

	if (!disk_write(disk, copy->blocks, flight->memory, flight_bytes(flight), flight->begin))
		copy->left_out += flight_bytes(flight);
	flight_end(flight);
	SCOPE_LOCK(&disk->filler.lock);
	copy->writing--;
	pthread_cond_broadcast(&disk->filler.changed);
}

static void keep(struct flight *flight)
{
	struct reader_blocks *copy = flight->copy;

	if (!flight->memory) {
		copy->left_out += flight_bytes(flight);
		flight_end(flight);
		return;
	}
	pthread_mutex_lock(&copy->disk->filler.lock);
	copy->writing++;
	pthread_mutex_unlock(&copy->disk->filler.lock);
	flight->job = (struct job){.run = write_flight};
	jobs_add(&copy->disk->writes, &flight->job);
}

void reader_blocks_drain(struct reader *reader)
{
	struct reader_blocks *copy = copy_of(reader);
	struct workers *lock = &copy->disk->filler;

	SCOPE_LOCK(&lock->lock);
	while (copy->writing)
		pthread_cond_wait(&lock->changed, &lock->lock);
}

/* --- what is fetched ahead -------------------------------------------------------------------- */

static void on_fetched_ahead(void *arg, int error)
{
	struct flight *flight = arg;

	flight->error = error;
	if (error)
		flight_end(flight);
	else
		keep(flight);
}

static int fetch_ahead(struct disk_fill *filler, uint64_t begin, uint64_t end)
{
	struct reader_blocks *copy =
		(struct reader_blocks *)((char *)filler - offsetof(struct reader_blocks, filler));
	struct flight *flight = flight_new(copy, begin, end, 1);

	if (!flight || !take_memory(flight)) {
		free(flight);
		return -ENOMEM;
	}
	flight->ahead = true;
	flight->iov[0] = (struct iovec){flight->memory, pages_end(flight_bytes(flight))};
	flight->far = (struct reader_request){.iov = flight->iov,
					      .count = 1,
					      .offset = flight->begin,
					      .needed = flight_bytes(flight),
					      .ahead = true,
					      .done = on_fetched_ahead,
					      .arg = flight};
	reader_submit(copy->far, &flight->far);
	return 0;
}

/* --- what somebody asks for ------------------------------------------------------------------- */

static bool has_gaps(const struct flight *flight)
{
	for (int i = 0; i < flight->asked->count; i++)
		if (!flight->asked->iov[i].iov_base)
			return true;
	return false;
}

/* Gaps are kept too. They get memory that will be written, if there is any. */
static void fill_gaps(struct flight *flight)
{
	size_t done = 0, room = pages_end(flight_bytes(flight));

	take_memory(flight);
	for (int i = 0; flight->memory && done < room; i++) {
		struct iovec *piece = &flight->iov[i];

		piece->iov_len = min(piece->iov_len, room - done);
		if (!piece->iov_base)
			piece->iov_base = (char *)flight->memory + done;
		done += piece->iov_len;
	}
}

static void gather(const struct flight *flight)
{
	size_t done = 0, len = flight_bytes(flight);

	for (int i = 0; done < len; i++) {
		const struct iovec *piece = &flight->iov[i];
		size_t n = min(len - done, piece->iov_len);
		char *at = (char *)flight->memory + done;

		if (piece->iov_base != at)
			memcpy(at, piece->iov_base, n);
		done += n;
	}
}

/* The copy is made after the answer. */
static void settle(struct reader_request *request, bool right)
{
	struct flight *flight = request->settled;

	if (!flight->error)
		count_read(flight->copy, &flight->copy->far_bytes, flight_bytes(flight));
	if (!right) {
		flight_end(flight);
		return;
	}
	if (flight->memory || (!has_gaps(flight) && take_memory(flight)))
		gather(flight);
	keep(flight);
}

static void on_fetched(void *arg, int error)
{
	struct flight *flight = arg;
	struct reader_request *asked = flight->asked;

	flight->error = error;
	asked->settle = settle;
	asked->settled = flight;
	asked->done(asked->arg, error);
}

static void fetch(struct flight *flight)
{
	const struct reader_request *asked = flight->asked;

	if (has_gaps(flight))
		fill_gaps(flight);
	flight->far = (struct reader_request){.iov = flight->iov,
					      .count = asked->count,
					      .offset = asked->offset,
					      .needed = asked->needed,
					      .ahead = true,
					      .whole = asked,
					      .done = on_fetched,
					      .arg = flight};
	reader_submit(flight->copy->far, &flight->far);
}

/* Reads what the copy has. After an error, it is fetched, and written over. */
static int read_near(struct reader_blocks *copy, const struct iovec *iov, int count,
		     uint64_t offset, uint64_t needed)
{
	SCOPE_FREE struct iovec *scratch = calloc((size_t)count, sizeof(*scratch));
	int r;

	if (!scratch)
		return -ENOMEM;
	memcpy(scratch, iov, (size_t)count * sizeof(*iov));
	r = reader_read(copy->near, scratch, count, offset, needed);
	if (r == 0)
		count_read(copy, &copy->near_bytes, needed);
	return r;
}

/* Who asks must not wait, threads of the disk may. */
static void begin_flight(struct flight *flight, bool may_wait)
{
	struct reader_blocks *copy = flight->copy;
	struct reader_request *asked = flight->asked;
	struct jobs *reads = &copy->disk->reads;
	uint64_t patience = atomic_load(reader_ahead(asked)) ? PATIENCE_AHEAD_NS : PATIENCE_NS;
	bool hurries = atomic_load(&copy->cancelled) || clock_ns() - flight->since > patience;
	enum blocks_taken taken = blocks_take(copy->blocks, flight->begin, pages_end(flight->end));

	if (taken == BLOCKS_THERE && !may_wait) {
		jobs_add(reads, &flight->job);
	} else if (taken == BLOCKS_THERE &&
		   read_near(copy, asked->iov, asked->count, asked->offset, asked->needed) == 0) {
		flight_free(flight);
		asked->done(asked->arg, 0);
	} else if (taken != BLOCKS_BUSY || hurries ||
		   !jobs_add_later(reads, &flight->job, clock_ns() + NAP_NS)) {
		fetch(flight);
	}
}

static void go_on(struct job *job)
{
	begin_flight((struct flight *)job, true);
}

static void submit_part(struct reader *reader, struct reader_request *request)
{
	struct flight *flight = flight_new(copy_of(reader), request->offset,
					   request->offset + request->needed, request->count);

	if (!flight) {
		request->done(request->arg, -ENOMEM);
		return;
	}
	memcpy(flight->iov, request->iov, (size_t)request->count * sizeof(*request->iov));
	flight->asked = request;
	flight->since = clock_ns();
	flight->job = (struct job){.run = go_on, .request = request};
	begin_flight(flight, false);
}

static void copy_submit(struct reader *reader, struct reader_request *request)
{
	struct reader_blocks *copy = copy_of(reader);
	uint64_t ends[PARTS_MOST], end = request->offset + request->needed;
	unsigned count;

	if (!copy->blocks) {
		reader_submit(copy->far, request);
		return;
	}
	if (end > blocks_size(copy->blocks)) {
		request->done(request->arg, -ENODATA);
		return;
	}
	count = blocks_divide(copy->blocks, request->offset, pages_end(end), ends, PARTS_MOST);
	if (count == 1 || parts_submit(reader, request, ends, count, submit_part) < 0)
		submit_part(reader, request);
}

/* What the copy has is read in this thread. */
static int copy_read(struct reader *reader, struct iovec *iov, int count, uint64_t offset,
		     uint64_t needed)
{
	struct reader_blocks *copy = copy_of(reader);

	if (!copy->blocks)
		return reader_read(copy->far, iov, count, offset, needed);
	if (offset + needed <= blocks_size(copy->blocks) &&
	    blocks_has(copy->blocks, offset, offset + needed) &&
	    read_near(copy, iov, count, offset, needed) == 0)
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
	if ((copy->far_waits && !blocks_complete(copy->blocks)) ||
	    offset + needed > blocks_size(copy->blocks) ||
	    !blocks_has(copy->blocks, offset, offset + needed))
		return -EAGAIN;
	r = reader_read_now(copy->near, iov, count, offset, needed);
	if (r == 0)
		copy->near_bytes += needed;
	return r;
}

/* --- what has a checksum, into one buffer ----------------------------------------------------- */

static bool may_keep(const struct reader_blocks *copy, uint64_t offset, size_t len)
{
	uint64_t size = copy->blocks ? blocks_size(copy->blocks) : 0;

	return len > 0 && len <= size && offset <= size - len;
}

/* Reads whole pages around the bytes from afar, into memory that will be written. */
static ssize_t get_far(struct reader_blocks *copy, void *buf, size_t len, uint64_t offset)
{
	struct flight *flight = flight_new(copy, offset, offset + len, 0);
	int r;

	if (!flight || !take_memory(flight)) {
		copy->left_out += len;
		free(flight);
		return reader_get(copy->far, buf, len, offset);
	}
	r = reader_get_full(copy->far, flight->memory, flight_bytes(flight), flight->begin);
	if (r < 0) {
		flight_free(flight);
		return r;
	}
	memcpy(buf, (char *)flight->memory + (offset - flight->begin), len);
	copy->far_bytes += flight_bytes(flight);
	keep(flight);
	return (ssize_t)len;
}

static ssize_t copy_get(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	struct reader_blocks *copy = copy_of(reader);
	ssize_t n = -EIO;

	if (!may_keep(copy, offset, len))
		return reader_get(copy->far, buf, len, offset);
	if (blocks_has(copy->blocks, offset, offset + len))
		n = reader_get(copy->near, buf, len, offset);
	if (n != (ssize_t)len)
		return get_far(copy, buf, len, offset);
	copy->near_bytes += len;
	return n;
}

/* Announces what get_far() will ask for. */
static void copy_will_get(struct reader *reader, uint64_t offset, size_t len)
{
	struct reader_blocks *copy = copy_of(reader);
	uint64_t begin = offset - offset % READER_PAGE, end = pages_end(offset + len);

	if (!may_keep(copy, offset, len))
		reader_will_get(copy->far, offset, len);
	else if (blocks_has(copy->blocks, offset, offset + len))
		reader_will_get(copy->near, offset, len);
	else
		reader_will_get(copy->far, begin, end - begin);
}

/* --- which pack it is ------------------------------------------------------------------------- */

/* The head has the checksums of all sections, and these have the checksums of all files: at one
 * place, the same head and size mean the same pack. A path is another place once it is written to,
 * as what comes there may come from elsewhere; what a URL says of that is not always the same. */
static void copy_known(struct reader *reader, const void *head, size_t len)
{
	struct reader_blocks *copy = copy_of(reader);
	const char *place = copy->far->place;
	char state[DIGEST_DIGITS + 1];
	int r;

	if (copy->blocks)
		return;
	r = place ? reader_identity(copy->far, &copy->known) : -ENOENT;
	if (r == 0) {
		uint64_t known[2] = {copy->known.size,
				     name_scheme(place) ? 0 : copy->known.written};
		const struct iovec parts[] = {{known, sizeof(known)}, {(void *)head, len}};

		digest_make(parts, 2, state);
		r = block_store_blocks(copy->disk->store, place, state, copy->known.size,
				       &copy->blocks);
	}
	if (r < 0) {
		disk_say_unused(copy->disk, r);
		return;
	}
	copy->near = blocks_reader(copy->blocks);
	copy->filler = (struct disk_fill){
		.disk = copy->disk, .blocks = copy->blocks, .fetch = fetch_ahead};
}

static bool copy_bad(struct reader *reader, uint64_t offset, uint64_t len)
{
	struct reader_blocks *copy = copy_of(reader);

	if (!copy->blocks)
		return reader_bad(copy->far, offset, len);
	atomic_fetch_add(&copy->damaged, 1);
	if (blocks_forget(copy->blocks, offset, len) && copy->fill)
		disk_fill_start(&copy->filler);
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
	bool complete = copy->blocks && blocks_complete(copy->blocks);

	*ret = reader_hints(complete ? copy->near : copy->far);
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
		disk_fill_rest(&copy->filler);
		atomic_store(&copy->fills, false);
		reader_blocks_drain(reader);
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
	struct reader_blocks *copy = copy_of(reader), **at = &copy->disk->readers;

	pthread_mutex_lock(&copy->disk->filler.lock);
	while (*at != copy)
		at = &(*at)->next;
	*at = copy->next;
	pthread_mutex_unlock(&copy->disk->filler.lock);
	if (copy->blocks) {
		disk_fill_rest(&copy->filler);
		reader_blocks_drain(reader);
	}
	blocks_free(copy->blocks);
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

int reader_blocks_new(struct reader *far, struct disk *disk, bool fill, struct reader **ret)
{
	struct reader_blocks *copy = calloc(1, sizeof(*copy));
	struct reader_hints hints = reader_hints(far);

	if (!copy) {
		reader_free(far);
		return -ENOMEM;
	}
	copy->reader.ops = &copy_ops;
	copy->far = far;
	copy->disk = disk;
	copy->fill = fill;
	copy->far_waits = hints.shared && !hints.remote;
	*ret = &copy->reader;
	SCOPE_LOCK(&disk->filler.lock);
	copy->next = disk->readers;
	disk->readers = copy;
	return 0;
}

struct reader *reader_blocks_next(const struct disk *disk, struct reader *reader)
{
	struct reader_blocks *next = reader ? copy_of(reader)->next : disk->readers;

	return next ? &next->reader : NULL;
}

void reader_blocks_stats(struct reader *reader, struct reader_blocks_stats *ret)
{
	struct reader_blocks *copy = copy_of(reader);

	*ret = (struct reader_blocks_stats){.near_bytes = copy->near_bytes,
					    .far_bytes = copy->far_bytes,
					    .damaged = copy->damaged,
					    .left_out = copy->left_out};
	if (!copy->blocks)
		return;
	ret->open = true;
	ret->size = blocks_size(copy->blocks);
	ret->cached = blocks_used(copy->blocks);
	ret->copy = blocks_number(copy->blocks);
	ret->complete = blocks_see_complete(copy->blocks);
	SCOPE_LOCK(&copy->disk->filler.lock);
	ret->filler = copy->filler.state;
	ret->error = copy->filler.error;
	ret->full = clock_ns() < copy->disk->full_until;
	ret->failed = copy->disk->failed;
}

bool reader_blocks_fill(struct reader *reader)
{
	struct reader_blocks *copy = copy_of(reader);

	if (copy->blocks)
		disk_fill_start(&copy->filler);
	return copy->blocks;
}
