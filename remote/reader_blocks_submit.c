/* The parts of a request are read independently. */
#include "base/clock.h"
#include "base/scope.h"
#include "remote/reader_blocks_internal.h"
#include <stddef.h>
#include <string.h>

/* How long a read waits for others that fetch the same. Then it fetches too: they may hang. */
#define PATIENCE_NS	  (CLOCK_SECOND / 5)
#define PATIENCE_AHEAD_NS (2 * CLOCK_SECOND) /* if nobody waits for the read */

struct flight;

/* A part of a request that is being read. */
struct leg {
	struct job job;
	struct poll_wait wait;
	struct flight *flight;
	struct part part;
	struct iovec *pieces;	   /* of the request */
	struct block_piece *piece; /* see fill_leg_gaps() */
	struct reader_request request;
	uint64_t since; /* since when it waits for others, ns */
	bool ahead;	/* the kind of its claim */
	bool fetched;	/* from afar: it is to be kept, and its claim to be dropped */
	int error;	/* of that */
};

struct flight {
	struct reader_blocks *copy;
	struct reader_request *request; /* the request that it serves */
	atomic_uint left;		/* legs that have not ended, and one for the sender */
	atomic_int error;		/* of a leg that failed */
	unsigned count;			/* legs */
	struct leg legs[PARTS_MOST];
	struct iovec pieces[];
};

/* --- what was fetched goes into the copy ------------------------------------------------------ */

static bool has_gaps(const struct iovec *iov, int count)
{
	bool has = false;

	for (int i = 0; i < count; i++)
		has |= !iov[i].iov_base;
	return has;
}

/* Gaps in a part are kept too. They get memory that will be written, if there is any. */
static void fill_leg_gaps(struct leg *leg)
{
	struct iovec *iov = leg->pieces;
	int count = leg->request.count;
	char *at;

	if (has_gaps(iov, count))
		leg->piece = copy_take_piece(leg->flight->copy, &leg->part);
	at = leg->piece ? leg->piece->memory : NULL;
	for (int i = 0; leg->piece && i < count; at += iov[i++].iov_len)
		if (!iov[i].iov_base)
			iov[i].iov_base = at;
}

/* Gaps are in the piece already. */
static void gather(struct block_piece *piece, const struct iovec *iov, int count)
{
	size_t done = 0;

	for (int i = 0; i < count && done < piece->len; i++) {
		size_t left = piece->len - done, n = left < iov[i].iov_len ? left : iov[i].iov_len;
		char *at = (char *)piece->memory + done;

		if (iov[i].iov_base != at)
			memcpy(at, iov[i].iov_base, n);
		done += n;
	}
}

/* Has the part written unless there is an error or no memory for it, and the claim dropped. */
static void keep_leg(struct leg *leg, int error)
{
	struct reader_blocks *copy = leg->flight->copy;
	struct block_piece *piece = leg->piece;

	if (!piece && !error && !has_gaps(leg->pieces, leg->request.count))
		piece = copy_take_piece(copy, &leg->part);
	if (!piece) {
		block_claims_drop(copy->claims, leg->ahead, leg->part.begin, leg->part.end);
		return;
	}
	piece->claims = copy->claims;
	piece->ahead = leg->ahead;
	piece->len = error ? 0 : piece->len;
	gather(piece, leg->pieces, leg->request.count);
	block_writer_put(piece);
}

/* The copy is made after the answer. Where a leg failed, nobody has looked at the bytes of the
 * others: they are kept, as those of reader_read() are. */
static void flight_settle(struct reader_request *request, bool right)
{
	struct flight *flight = request->settled;
	bool wrong = !right && atomic_load(&flight->error) == 0;

	for (unsigned i = 0; i < flight->count; i++) {
		struct leg *leg = &flight->legs[i];
		int error = wrong ? -EBADMSG : leg->error;

		if (!leg->fetched)
			continue;
		keep_leg(leg, error);
		if (!leg->error)
			copy_count_read(flight->copy, &flight->copy->far_bytes,
					part_bytes(flight->copy->blocks, &leg->part));
	}
	free(flight);
}

static void flight_end(struct flight *flight, int error)
{
	struct reader_request *request = flight->request;

	if (error)
		atomic_store(&flight->error, error);
	if (atomic_fetch_sub(&flight->left, 1) > 1)
		return;
	request->settle = flight_settle;
	request->settled = flight;
	request->done(request->arg, atomic_load(&flight->error));
}

static void leg_done(void *arg, int error)
{
	struct leg *leg = arg;

	leg->fetched = true;
	leg->error = error;
	flight_end(leg->flight, error);
}

static void fetch_leg(struct leg *leg)
{
	fill_leg_gaps(leg);
	reader_submit(leg->flight->copy->far, &leg->request);
}

/* Reads from the copy. */
static void run_leg(struct job *job)
{
	struct leg *leg = (struct leg *)job;

	if (copy_read_near(leg->flight->copy, &leg->part, leg->pieces, leg->request.count) == 0)
		flight_end(leg->flight, 0);
	else
		fetch_leg(leg);
}

static void run_fetch(struct job *job)
{
	fetch_leg((struct leg *)job);
}

/* --- who fetches a part ----------------------------------------------------------------------- */

enum claim {
	CLAIM_NEAR,  /* the copy has it now */
	CLAIM_BUSY,  /* others fetch it */
	CLAIM_TAKEN, /* fetch it: it is claimed now, or nobody else deserves to be waited for */
};

/* The look comes last: whoever had claimed the part noted it before dropping the claim. */
static enum claim claim_leg(const struct leg *leg)
{
	const struct reader_blocks *copy = leg->flight->copy;
	const struct part *part = &leg->part;
	uint64_t end;
	bool taken = block_claims_take(copy->claims, leg->ahead, part->begin, part->end, &end);
	bool near = copy_has_pages(copy, part->begin, part->end);

	if (taken && !near && end == part->end)
		return CLAIM_TAKEN;
	if (taken)
		block_claims_drop(copy->claims, leg->ahead, part->begin, end);
	return near ? CLAIM_NEAR : CLAIM_BUSY;
}

/* What takes longer is for the threads that read from copies. */
static bool leg_is_over(struct poll_wait *wait)
{
	struct leg *leg = (struct leg *)((char *)wait - offsetof(struct leg, wait));
	struct reader_blocks *copy = leg->flight->copy;
	enum claim claim;

	leg->ahead = atomic_load(reader_ahead(&leg->request));
	claim = claim_leg(leg);
	if (claim == CLAIM_BUSY && !atomic_load(&copy->cancelled) &&
	    clock_ns() - leg->since <= (leg->ahead ? PATIENCE_AHEAD_NS : PATIENCE_NS))
		return false;
	leg->job.run = claim == CLAIM_NEAR ? run_leg : run_fetch;
	jobs_add(&copy->disk->reads, &leg->job);
	return true;
}

/* Makes the legs from the parts. Each takes its pieces from those of the flight. */
static void plan_legs(struct flight *flight, const struct part *parts, unsigned count)
{
	const struct reader_request *whole = flight->request;
	struct iovec *next = flight->pieces;

	for (unsigned i = 0; i < count; i++) {
		struct leg *leg = &flight->legs[i];
		const struct part *part = &parts[i];
		int pieces = part_pieces(part, whole->iov, whole->count, whole->offset, next);

		leg->job = (struct job){.run = run_leg, .request = &leg->request};
		leg->flight = flight;
		leg->part = *part;
		leg->pieces = next;
		leg->request =
			(struct reader_request){.iov = next,
						.count = pieces,
						.offset = part->begin,
						.needed = part_bytes(flight->copy->blocks, part),
						.ahead = true,
						.whole = whole,
						.done = leg_done,
						.arg = leg};
		next += pieces;
	}
}

static void send_leg(struct reader_blocks *copy, struct leg *leg)
{
	enum claim claim = CLAIM_NEAR;

	leg->since = clock_ns();
	leg->wait.is_over = leg_is_over;
	leg->ahead = atomic_load(reader_ahead(&leg->request));
	if (!leg->part.near)
		claim = claim_leg(leg);
	if (claim == CLAIM_NEAR)
		jobs_add(&copy->disk->reads, &leg->job);
	else if (claim == CLAIM_TAKEN || polls_add(&copy->disk->waits, &leg->wait) < 0)
		fetch_leg(leg);
}

static int submit_parts(struct reader_blocks *copy, struct reader_request *request)
{
	struct part parts[PARTS_MOST];
	unsigned count;
	struct flight *flight;

	if (request->offset + request->needed > blocks_size(copy->blocks))
		return -ENODATA;
	/* Each border between parts may divide one piece. */
	flight = calloc(1, sizeof(*flight) +
				   ((size_t)request->count + PARTS_MOST) * sizeof(struct iovec));
	if (!flight)
		return -ENOMEM;
	flight->copy = copy;
	flight->request = request;
	count = parts_divide(copy->blocks, request->offset,
			     pages_end(request->offset + request->needed), parts);
	flight->count = count;
	atomic_init(&flight->left, count + 1);
	plan_legs(flight, parts, count);
	for (unsigned i = 0; i < count; i++)
		send_leg(copy, &flight->legs[i]);
	flight_end(flight, 0);
	return 0;
}

void copy_submit(struct reader *reader, struct reader_request *request)
{
	struct reader_blocks *copy = (struct reader_blocks *)reader;
	int r;

	if (!copy->blocks) {
		reader_submit(copy->far, request);
		return;
	}
	r = submit_parts(copy, request);
	if (r < 0)
		request->done(request->arg, r);
}
