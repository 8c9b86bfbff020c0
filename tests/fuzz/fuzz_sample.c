/* Whatever the bytes: a pickle, Arrow or msgpack is read or refused, and the image that it tells
 * lies within. */
#include "pack/foreign/lmdb/sample.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/foreign_bytes.h"

/* A tree that has no end, as a list in itself, is gone into a little. */
static void look_at(const struct pickle_value *value, unsigned depth, size_t size)
{
	int64_t number;

	pickle_number(value, &number);
	pickle_get(value, "name");
	must(value->kind != PICKLE_BYTES ||
	     (value->bytes.offset <= size && value->bytes.size <= size - value->bytes.offset));
	for (uint32_t i = 0; depth < 3 && i < 3 && pickle_at(value, i); i++)
		look_at(pickle_at(value, i), depth + 1, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pickle_value *value;
	struct foreign_bytes bytes;
	struct pickle *pickle;
	struct sample sample;
	struct err err = {0};

	foreign_bytes_init(&bytes, data, size);
	must(pickle_new(&pickle) == 0);
	if (sample_read(pickle, &bytes.source, 0, size, &sample, &err) == 0)
		must(sample.offset <= size && sample.size <= size - sample.offset);
	else
		must(err.text[0]);
	if (pickle_read(pickle, &bytes.source, 0, size, &value, &err) == 0)
		look_at(value, 0, size);
	pickle_free(pickle);
	foreign_bytes_release(&bytes);
	return 0;
}
