#include "pack/foreign/window.h"
#include "base/math.h"
#include "base/size.h"
#include <string.h>

#define LEAST	  (4 * KIB)  /* that a read brings: a page */
#define LEAST_FAR (64 * KIB) /* the same where it is a round trip */
#define MOST	  (1 * MIB)  /* where one read follows the other */
#define MOST_FAR  (4 * MIB)
#define AHEAD	  8 /* windows of a stream: 16 files may be scanned at once */

/* From far, two pieces with less between them are one, up to this size. */
#define PIECE_GAP  (16 * KIB)
#define PIECE_MOST (1 * MIB)

/* A byte that was not announced costs a round trip. If that happens for every record, streaming the
 * file is cheaper. */
#define TRUST	   64
#define TRUST_LOST 4

struct piece {
	uint64_t start, end;
};

int window_init(struct window *window, struct reader *reader)
{
	struct reader_identity identity;
	int r = reader_identity(reader, &identity);

	*window = (struct window){.reader = reader, .trust = TRUST};
	if (r < 0)
		return r;
	window->size = identity.size;
	window->remote = reader_hints(reader).remote;
	return 0;
}

void window_release(struct window *window)
{
	buf_release(&window->bytes);
	buf_release(&window->before);
	buf_release(&window->pieces);
	*window = (struct window){0};
}

void window_stream(struct window *window, struct reader *reader)
{
	window->reader = reader;
	window->least = MOST_FAR;
}

static uint64_t end_of(const struct window *window)
{
	return window->start + window->bytes.len;
}

/* The reader keeps what was asked for until its last byte is taken. */
static void forget(const struct window *window, uint64_t end)
{
	char last;

	reader_get(window->reader, &last, 1, end - 1);
}

static int read_at(struct window *window, uint64_t offset, size_t len)
{
	ssize_t n;

	window->bytes.len = 0;
	if (buf_reserve(&window->bytes, len) < 0)
		return -ENOMEM;
	n = reader_get(window->reader, window->bytes.data, len, offset);
	if (n < 0)
		return (int)n;
	window->start = offset;
	window->bytes.len = (size_t)n;
	return 0;
}

/* After the end of a record its beginning may be read once more. */
static void swap_windows(struct window *window)
{
	struct buf bytes = window->before;
	uint64_t start = window->before_start;

	window->before = window->bytes;
	window->before_start = window->start;
	window->bytes = bytes;
	window->start = start;
}

/* --- a stream --------------------------------------------------------------------------------- */

static uint64_t next_end(const struct window *window)
{
	return min(window->next + MOST_FAR, window->size);
}

static void end_stream(struct window *window)
{
	for (; window->next < window->asked; window->next = next_end(window))
		forget(window, next_end(window));
	window->next = window->asked = 0;
	window->ahead = 0;
}

static void ask_ahead(struct window *window)
{
	window->ahead = (unsigned)min(max(2 * window->ahead, 1), AHEAD);
	while (window->asked < min(window->next + window->ahead * MOST_FAR, window->size)) {
		uint64_t len = min(MOST_FAR, window->size - window->asked);

		reader_will_get(window->reader, window->asked, len);
		window->asked += len;
	}
}

/* Drops what lies in front of `offset`, and passes windows that end before it. */
static void move_to(struct window *window, uint64_t offset)
{
	size_t gone = (size_t)min(sub_sat(offset, window->start), window->bytes.len);

	window->bytes.len -= gone;
	if (window->bytes.len)
		memmove(window->bytes.data, window->bytes.data + gone, window->bytes.len);
	window->start += gone;
	if (window->bytes.len)
		return;
	while (next_end(window) <= offset && window->next < window->size) {
		ask_ahead(window);
		forget(window, next_end(window));
		window->next = next_end(window);
	}
	window->start = window->next;
}

static int take_window(struct window *window)
{
	size_t len = (size_t)(next_end(window) - window->next);
	ssize_t n;

	if (buf_reserve(&window->bytes, len) < 0)
		return -ENOMEM;
	ask_ahead(window);
	n = reader_get(window->reader, window->bytes.data + window->bytes.len, len, window->next);
	window->next += len;
	if (n < 0)
		return (int)n;
	window->bytes.len += (size_t)n;
	return n < (ssize_t)len ? -ENODATA : 0;
}

/* --- what was announced ----------------------------------------------------------------------- */

static struct piece *piece_at(const struct window *window, size_t i)
{
	return BUF_ITEMS(&window->pieces, struct piece) + i;
}

static size_t piece_count(const struct window *window)
{
	return BUF_COUNT(&window->pieces, struct piece);
}

/* From far, the last one is asked for when another follows, as it may still grow. */
void window_will_get(struct window *window, uint64_t offset, size_t len)
{
	struct piece piece = {.start = offset,
			      .end = offset + min(len, sub_sat(window->size, offset))};
	size_t used = window->first * sizeof(struct piece);

	if (offset >= window->size)
		return;
	if (!window->remote) {
		reader_will_get(window->reader, offset, len);
		return;
	}
	if (window->trust < 0 || piece.start == piece.end)
		return;
	if (piece_count(window) > window->first) {
		struct piece *last = piece_at(window, piece_count(window) - 1);

		if (piece.start >= last->start && piece.start <= last->end + PIECE_GAP &&
		    piece.end <= last->start + PIECE_MOST) {
			last->end = max(last->end, piece.end);
			return;
		}
		reader_will_get(window->reader, last->start, last->end - last->start);
	}
	if (window->first > piece_count(window) / 2) {
		memmove(window->pieces.data, window->pieces.data + used, window->pieces.len - used);
		window->pieces.len -= used;
		window->first = 0;
	}
	/* Without memory it is not read ahead. */
	(void)buf_add(&window->pieces, &piece, sizeof(piece));
}

/* Pieces in front of `end` are not needed any more. */
static void forget_pieces(struct window *window, size_t end)
{
	size_t asked = piece_count(window) - (piece_count(window) > window->first);

	for (; window->first < end; window->first++)
		if (window->first < asked)
			forget(window, piece_at(window, window->first)->end);
}

/* 1: it was announced, and is read; 0: it was not. */
static int fill_announced(struct window *window, uint64_t offset, size_t len)
{
	if (window->first == piece_count(window))
		return 0;
	for (size_t i = window->first; i < piece_count(window); i++) {
		const struct piece piece = *piece_at(window, i);
		int r;

		if (offset < piece.start || offset + len > piece.end)
			continue;
		forget_pieces(window, i);
		window->first = i + 1;
		window->trust += window->trust < TRUST;
		window->least = 0;
		end_stream(window);
		swap_windows(window);
		r = read_at(window, piece.start, (size_t)(piece.end - piece.start));
		return r < 0 ? r : 1;
	}
	window->trust -= TRUST_LOST;
	if (window->trust < 0)
		forget_pieces(window, piece_count(window));
	return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads that follow each other closely bring more and more. */
static void choose_least(struct window *window, uint64_t offset)
{
	bool announced = window->first < piece_count(window);
	uint64_t gap = window->remote ? MOST_FAR : window->bytes.len;

	if (announced || offset < window->start || offset > end_of(window) + gap)
		window->least = window->remote ? LEAST_FAR : LEAST;
	else if (window->remote)
		window->least = (size_t)min(max(8 * window->least, LEAST_FAR), MOST_FAR);
	else
		window->least = (size_t)min(max(2 * window->least, LEAST), MOST);
}

static int fill_far(struct window *window, uint64_t offset, size_t len)
{
	int r;

	if (!window->asked) { /* it may have been there before */
		swap_windows(window);
		if (window_has(window, offset, len))
			return 0;
		swap_windows(window);
	}
	r = fill_announced(window, offset, len);
	if (r != 0)
		return r < 0 ? r : 0;
	choose_least(window, offset);
	if (window->least < MOST_FAR) {
		end_stream(window);
		swap_windows(window);
		return read_at(window, offset, max(len, window->least));
	}
	if (!window->asked) /* a stream begins behind what is there */
		window->next = window->asked = max(offset, end_of(window));
	move_to(window, offset);
	while (r == 0 && end_of(window) < offset + len && window->next < window->size)
		r = take_window(window);
	return r;
}

int window_fill(struct window *window, uint64_t offset, size_t len)
{
	if (window->remote)
		return fill_far(window, offset, len);
	choose_least(window, offset);
	return read_at(window, offset, max(len, window->least));
}
