/* A delta and its base: a byte says how they are put together, two how long the delta is, then it
 * comes, then the base. What does not fit is refused with a sentence; what fits is a tree whose
 * bytes all lie in the two files. */
#include "base/le.h"
#include "base/math.h"
#include "base/reader.h"
#include "base/scope.h"
#include "pack/dataset_merge.h"
#include "pack/delta.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/use.h"
#include <stdio.h>
#include <string.h>

#define HEAD  3
#define BELOW 1 /* the base goes into a folder, so that it is a set of one pack */
#define TWICE 2 /* the delta comes on top of itself: it may change nothing */

struct part {
	const uint8_t *data;
	size_t size;
};

/* [0]: the delta; [1]: its base. */
static void divide(const uint8_t *data, size_t size, struct part ret[static 2])
{
	size_t len = min(le_get16(data + 1), size - HEAD);

	ret[0] = (struct part){data + HEAD, len};
	ret[1] = (struct part){data + HEAD + len, size - HEAD - len};
}

/* NULL: it was refused. */
static struct dataset *open_part(const struct part *part)
{
	SCOPE_CLOSE int fd = fuzz_file(part->data, part->size);
	struct dataset *dataset = NULL;
	struct err err = {{0}};
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	must(dataset_open(path, &dataset, &err) == 0 || err.text[0]);
	return dataset;
}

static struct dataset *put_below(struct dataset *base)
{
	const struct dataset_pack pack = {.name = "base", .below = "x", .dataset = base};
	const struct dataset_merge_params params = {.packs = &pack, .count = 1};
	struct dataset *merged = NULL;
	struct err err = {{0}};

	if (dataset_merge(&params, &merged, &err) == 0)
		return merged;
	must(err.text[0]);
	dataset_free(base);
	return NULL;
}

static int count_fault(void *context, const struct dataset_fault *fault)
{
	must(fault->path && fault->text[0]);
	++*(uint64_t *)context;
	return 0;
}

static void check_places(struct dataset *dataset)
{
	struct reader_identity both;

	must(reader_identity(dataset_reader(dataset), &both) == 0);
	for (uint64_t i = 0; i < dataset_extents(dataset) && i < USE_ENTRIES_MAX; i++) {
		const struct dataset_extent x = dataset_extent(dataset, i);

		must(x.offset + x.size <= both.size && dataset_unchanged(dataset, i) == 0);
	}
}

/* Takes the base. What is left is one, or nothing. */
static struct dataset *put_on(struct dataset *base, const struct part *part)
{
	struct dataset *delta = open_part(part);
	struct err err = {{0}};
	uint64_t faults = 0;
	int r = delta && dataset_lacks_base(delta) ? delta_fits(delta, base, &err) : -ENOENT;

	if (r == 0) {
		(void)delta_check(delta, base, count_fault, &faults);
		r = delta_apply(delta, base, &err);
		must(r == 0 || err.text[0]);
	}
	if (r < 0) {
		dataset_free(base);
		dataset_free(delta);
		return NULL;
	}
	must(!dataset_lacks_base(delta));
	check_places(delta);
	use_entries(delta);
	return delta;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct part parts[2];
	struct dataset *dataset;

	if (size < HEAD)
		return 0;
	divide(data, size, parts);
	dataset = open_part(&parts[1]);
	if (dataset && data[0] & BELOW)
		dataset = put_below(dataset);
	for (int i = 0; dataset && i < (data[0] & TWICE ? 2 : 1); i++)
		dataset = put_on(dataset, &parts[0]);
	dataset_free(dataset);
	return 0;
}

/* Of one of the two. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	SCOPE_FREE uint8_t *changed = NULL;
	struct part parts[2];
	size_t len, rest;

	if (seed % 64 == 0 || size < HEAD)
		return LLVMFuzzerMutate(data, size, room);
	divide(data, size, parts);
	if (seed % 3 == 0)
		return (size_t)(parts[1].data - data) +
		       repair_mutate_pack((uint8_t *)parts[1].data, parts[1].size,
					  room - (size_t)(parts[1].data - data), seed / 3);
	rest = parts[1].size;
	len = min(room - HEAD - rest, UINT16_MAX);
	changed = malloc(len + rest + 1);
	must(changed != NULL);
	memcpy(changed, parts[0].data, parts[0].size);
	len = repair_mutate_pack(changed, parts[0].size, len, seed / 3);
	memcpy(changed + len, parts[1].data, rest);
	memcpy(data + HEAD, changed, len + rest);
	data[1] = (uint8_t)len;
	data[2] = (uint8_t)(len >> 8);
	return HEAD + len + rest;
}
