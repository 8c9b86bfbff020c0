/* Whatever the bytes: the walker opens and walks to an end, or says what is damaged; each record
 * that it tells lies within the file; and what is looked for by its key is found. */
#include "base/reader_file.h"
#include "base/scope.h"
#include "pack/walker.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/repair.h"
#include <string.h>

static void must_lie_within(const struct walker_record *record, size_t size)
{
	must(record->offset <= size && record->size <= size - record->offset);
}

/* Damaged keys may be out of order: then another record is found, or none. */
static void seek(struct walker *walker, const struct walker_record *record, size_t size)
{
	SCOPE_FREE uint8_t *key = malloc(record->key_len + 1);
	struct walker_record found;
	struct err err = {0};
	size_t len = record->key_len;

	must(key);
	memcpy(key, record->key, len);
	for (int r = walker_seek(walker, key, len, &found, &err), i = 0; r == 0 && i < 2;
	     r = walker_next(walker, &found, &err), i++)
		must_lie_within(&found, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SCOPE_CLOSE int fd = fuzz_file(data, size);
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE(walker_release) struct walker *walker = NULL;
	struct walker_record record;
	struct err err = {0};
	int r;

	must(reader_file_borrow(fd, &reader) == 0);
	if (walker_new(reader, &walker, &err) < 0)
		return 0;
	r = walker_first(walker, &record, &err);
	for (; r == 0; r = walker_next(walker, &record, &err))
		must_lie_within(&record, size);
	must(r == 1 || err.text[0]);
	if (walker_first(walker, &record, &err) == 0)
		seek(walker, &record, size);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	return repair_mutate_pack(data, size, room, seed);
}
