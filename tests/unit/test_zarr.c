/* What a fuzzer found in the reading of zarr: pack/tool/import/zarr_chunks.h. */
#include "base/scope.h"
#include "pack/tool/import/zarr_chunks.h"
#include "tests/unit/test.h"
#include <fcntl.h>
#include <string.h>

static void check_has_no_chunks(enum zarr_version version, const char *text)
{
	SCOPE_CLOSE int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE(buf_release) struct buf chunks = BUF_INIT;
	struct zarr_array array;

	assert_int_equal(zarr_meta_read(version, text, strlen(text), &array, NULL), ZARR_ARRAY);
	assert_int_equal(zarr_chunks_list(folder, &array, &chunks), 0);
	assert_int_equal(chunks.len, 0);
}

/* Each name was the one chunk of the former; of the latter, names were read into nowhere. */
TEST(an_array_without_dimensions_has_no_chunks)
{
	check_has_no_chunks(ZARR_2, "{\"shape\": [], \"chunks\": []}");
	check_has_no_chunks(ZARR_N5, "{\"dimensions\": [], \"blockSize\": []}");
}
