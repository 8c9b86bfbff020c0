#include "pack/foreign/checksums.h"
#include "base/math.h"
#include "base/parallel_for.h"
#include "base/reader.h"
#include "base/scope.h"
#include "base/search.h"
#include "base/size.h"
#include "pack/xxh3.h"

/* Small files that lie close together are one read. */
#define RUN_MOST    (4 * MIB)
#define RUN_GAP	    (64 * KIB)
#define THREADS	    16 /* 64 MiB are under way */
#define PATIENCE_NS 2000000

struct place {
	uint64_t offset, extent;
	uint32_t size;
};

/* Places [first, end), in the bytes [from, to). */
struct place_run {
	uint64_t from, to;
	size_t first, end;
};

struct summing {
	struct dataset *dataset;
	const struct foreign_checking *checking;
	bool fresh;
	struct foreign_sums *sums;
	struct buf places; /* struct place, by their offsets */
	struct buf runs;   /* struct place_run */
	uint64_t bytes;
	atomic_ulong made;
	atomic_int error; /* the first */
};

static void summing_release(struct summing *s)
{
	buf_release(&s->places);
	buf_release(&s->runs);
}

void foreign_sums_release(struct foreign_sums *sums)
{
	free(sums->rows);
	*sums = (struct foreign_sums){0};
}

static const struct place *places_of(const struct summing *s)
{
	return BUF_ITEMS(&s->places, const struct place);
}

/* --- what is to be read ----------------------------------------------------------------------- */

static int find_places(struct summing *s)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < s->sums->count; i++) {
		struct dataset_extent x;
		struct place place;

		if (s->sums->rows[i])
			continue;
		x = dataset_extent(s->dataset, i);
		place = (struct place){.offset = x.offset, .extent = i, .size = x.size};
		s->bytes += x.size;
		r = buf_add(&s->places, &place, sizeof(place));
	}
	buf_sort(&s->places, sizeof(struct place), search_compare64);
	return r;
}

static int find_runs(struct summing *s)
{
	const struct place *places = places_of(s);
	size_t count = BUF_COUNT(&s->places, *places);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count;) {
		struct place_run run = {.from = places[i].offset,
					.to = places[i].offset + places[i].size,
					.first = i};

		for (i++; i < count && places[i].offset <= run.to + RUN_GAP &&
			  places[i].offset + places[i].size <= run.from + RUN_MOST;
		     i++)
			run.to = max(run.to, places[i].offset + places[i].size);
		run.end = i;
		r = buf_add(&s->runs, &run, sizeof(run));
	}
	return r;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_run(void *context, size_t number)
{
	struct summing *s = context;
	const struct place_run *run = &BUF_ITEMS(&s->runs, const struct place_run)[number];
	struct reader *reader = dataset_reader(s->dataset);
	size_t len = (size_t)(run->to - run->from);
	SCOPE_FREE char *bytes = NULL;
	uint64_t done = 0;
	int none = 0, r = s->checking->stops(s->checking->context) ? -EINTR : 0;

	if (r == 0 && atomic_load(&s->error))
		return;
	if (r == 0) {
		bytes = malloc(len);
		if (!s->fresh)
			reader_bad(reader, run->from, len);
		r = bytes ? reader_get_full(reader, bytes, len, run->from) : -ENOMEM;
	}
	if (r < 0)
		atomic_compare_exchange_strong(&s->error, &none, r);
	if (r < 0)
		return;
	for (size_t i = run->first; i < run->end; i++) {
		const struct place *place = &places_of(s)[i];

		s->sums->rows[place->extent] =
			XXH3_64bits(bytes + (place->offset - run->from), place->size);
		done += place->size;
	}
	atomic_fetch_add(&s->made, run->end - run->first);
	s->checking->add(s->checking->context, done);
}

int foreign_sums_make(struct dataset *dataset, const struct foreign_checking *checking, bool fresh,
		      struct foreign_sums *ret, struct err *err)
{
	SCOPE(summing_release)
	struct summing s = {.dataset = dataset, .checking = checking, .fresh = fresh, .sums = ret};
	const struct parallel_for loop = {
		.threads = THREADS, .patience_ns = PATIENCE_NS, .work = read_run, .context = &s};
	int r;

	*ret = (struct foreign_sums){0};
	ret->count = dataset_extents(dataset);
	ret->rows = calloc(ret->count + 1, sizeof(*ret->rows));
	if (!ret->rows)
		return -ENOMEM;
	/* Those of the index. Where they are damaged, all are made. */
	for (uint64_t i = 0; i < ret->count; i++) {
		r = dataset_checksum(dataset, i, &ret->rows[i]);
		if (r == -EBADMSG)
			break;
		if (r < 0 && r != -ENODATA)
			return r;
	}
	r = find_places(&s);
	if (r == 0)
		r = find_runs(&s);
	if (r == 0)
		r = checking->begin(checking->context, s.bytes);
	if (r == 0) {
		parallel_for_run(&loop, BUF_COUNT(&s.runs, struct place_run));
		ret->made = atomic_load(&s.made);
		r = atomic_load(&s.error);
	}
	ret->complete = r == 0;
	return r == -ENODATA ? err_set(err, -EBADMSG, "the file is truncated") : r;
}
