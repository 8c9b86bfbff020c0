/* What a fuzzer found in the reading of zarr: pack/tool/import/zarr_chunks.h. */
#include "base/scope.h"
#include "pack/tool/import/zarr_chunks.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Each name was its one chunk. */
static void an_array_without_dimensions_has_no_chunks(void **state)
{
	static const char text[] = "{\"shape\": [], \"chunks\": []}";
	SCOPE_CLOSE int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE(buf_release) struct buf chunks = BUF_INIT;
	struct zarr_array array;

	(void)state;
	assert_int_equal(zarr_meta_read(ZARR_2, text, strlen(text), &array, NULL), ZARR_ARRAY);
	assert_int_equal(zarr_chunks_list(folder, &array, &chunks), 0);
	assert_int_equal(chunks.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_without_dimensions_has_no_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
