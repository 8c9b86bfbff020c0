#include "tests/fuzz/repair.h"
#include "base/le.h"
#include "pack/format.h"
#include <string.h>
#include <xxhash.h>

/* See pack/walker.h. */
#define PAGE	      4096
#define PAGE_HEADER   16
#define PAGE_FLAGS    10
#define PAGE_LOWER    12
#define META_BYTES    152
#define NODE_HEADER   8
#define FLAG_LEAF     (2 | 1) /* or a branch */
#define FLAG_OVERFLOW 4
#define FLAG_META     8

#define SUPER_SECTIONS 152
#define SECTION_BYTES  40
#define SUPER_FIELDS   (SUPER_SECTIONS + SECTION_BYTES * SECTION_COUNT)

/* --- packs ------------------------------------------------------------------------------------ */

void repair_super(uint8_t *super)
{
	le_put64(super + FORMAT_SUPER_BYTES - 8, XXH3_64bits(super, FORMAT_SUPER_BYTES - 8));
}

/* The first thing that looks like one. */
static uint8_t *find_super(uint8_t *data, size_t size)
{
	uint8_t *super = size ? memmem(data, size, "foldfs\r\n", 8) : NULL;

	return super && (size_t)(data + size - super) >= FORMAT_SUPER_BYTES ? super : NULL;
}

static void repair_sections(uint8_t *data, size_t size, uint8_t *super)
{
	for (unsigned i = 0; i < SECTION_COUNT; i++) {
		uint8_t *ref = super + SUPER_SECTIONS + SECTION_BYTES * i;
		uint64_t offset = le_get64(ref), bytes = le_get64(ref + 8);

		if (offset <= size && bytes <= size - offset)
			le_put64(ref + 24, XXH3_64bits(data + offset, bytes));
	}
}

/* What follows the first page of an overflow are contents. */
static void repair_pages(uint8_t *data, size_t size)
{
	size_t pages = size / PAGE, count;

	for (size_t number = 0; number < pages; number += count) {
		uint8_t *page = data + number * PAGE;

		le_put64(page, number);
		count = le_get16(page + PAGE_FLAGS) & FLAG_OVERFLOW ? le_get32(page + PAGE_LOWER)
								    : 1;
		if (count == 0)
			count = 1;
	}
}

void repair_index(uint8_t *data, size_t size)
{
	uint8_t *super = find_super(data, size);

	if (!super)
		return;
	repair_sections(data, size, super);
	repair_super(super);
}

void repair_pack(uint8_t *data, size_t size)
{
	repair_pages(data, size);
	repair_index(data, size);
}

/* --- the mutator ------------------------------------------------------------------------------ */

struct place {
	size_t at, len;
};

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

/* Of a page: what a meta page says; the header and the offsets of nodes; or a node and its key. */
static struct place in_page(const uint8_t *data, size_t at, unsigned seed)
{
	const uint8_t *page = data + at;
	unsigned flags = le_get16(page + PAGE_FLAGS), lower = le_get16(page + PAGE_LOWER), node;

	if (flags & FLAG_META)
		return (struct place){at + PAGE_HEADER, META_BYTES - PAGE_HEADER};
	if (!(flags & FLAG_LEAF) || lower <= PAGE_HEADER || lower > PAGE || seed % 3 == 0)
		return (struct place){at + PAGE_FLAGS, PAGE_HEADER - PAGE_FLAGS};
	if (seed % 3 == 1)
		return (struct place){at + PAGE_HEADER, lower - PAGE_HEADER};
	node = le_get16(page + PAGE_HEADER + 2 * (seed / 3 % ((lower - PAGE_HEADER + 1) / 2)));
	return (struct place){at + node, node + NODE_HEADER <= PAGE
						 ? NODE_HEADER + le_get16(page + node + 6)
						 : NODE_HEADER};
}

static struct place in_section(const uint8_t *super, unsigned seed)
{
	const uint8_t *ref = super + SUPER_SECTIONS + SECTION_BYTES * (seed % SECTION_COUNT);

	return (struct place){le_get64(ref), le_get64(ref + 8)};
}

static struct place choose(uint8_t *data, size_t size, unsigned seed)
{
	uint8_t *super = find_super(data, size);
	unsigned kind = seed % 8, rest = seed / 8;

	if (super && kind == 0)
		return (struct place){(size_t)(super - data), SUPER_FIELDS};
	if (super && kind <= 4)
		return in_section(super, rest);
	if (size >= PAGE && kind <= 6)
		return in_page(data, rest % (size / PAGE) * PAGE, rest / 16);
	return (struct place){0, size};
}

size_t repair_mutate_pack(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	struct place place = choose(data, size, seed);

	if (place.len == size || place.at >= size || place.len > size - place.at || place.len == 0)
		size = LLVMFuzzerMutate(data, size, room);
	else
		LLVMFuzzerMutate(data + place.at, place.len, place.len);
	if (seed / 1024 % 8 != 0)
		repair_pack(data, size);
	return size;
}
