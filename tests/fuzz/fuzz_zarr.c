/* Whatever the bytes: the metadata of an array is read or refused, and so are the labels in a chunk
 * of it. The first byte says which metadata; a NUL ends that, and the chunk follows. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/import/zarr_chunks.h"
#include "pack/tool/import/zarr_labels.h"
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#define CHUNK_MOST ((uint64_t)1 << 20) /* values */

static char place[] = "/dev/shm/fuzz_zarr.XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void remove_place(void)
{
	nftw(place, remove_one, 4, FTW_DEPTH | FTW_PHYS);
}

/* A folder of its own, with the one for chunks of zarr 3. */
static int make_root(void)
{
	int root = mkdtemp(place) ? open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (root < 0 || mkdirat(root, "c", 0755) < 0 || atexit(remove_place) != 0)
		abort();
	return root;
}

static void write_chunk(int root, const char *path, const uint8_t *data, size_t size)
{
	SCOPE_CLOSE int fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || io_write_full(fd, data, size) < 0)
		abort();
}

static void read_labels(int root, struct zarr_found *found, const char *path, const uint8_t *data,
			size_t size)
{
	const struct zarr_found images = {.array = {.rank = 1}, .labels = found};
	struct zarr_labels labels = {.root = root, .images = &images};
	struct err err = {0};
	int64_t label;

	write_chunk(root, path, data, size);
	zarr_label(&labels, 0, &label, &err);
	zarr_label(&labels, found->array.chunk[0] - 1, &label, &err);
	zarr_labels_release(&labels);
}

static void look_at(int root, struct zarr_found *found, const uint8_t *data, size_t size)
{
	const struct zarr_array *array = &found->array;
	SCOPE(buf_release) struct buf path = BUF_INIT, chunks = BUF_INIT;
	uint64_t values = 0, count = 1;
	size_t skip;

	for (unsigned i = 0; i < array->rank; i++)
		count *= zarr_chunks_along(array, i);
	if (array->rank > ZARR_RANK ||
	    (zarr_chunk_head(array, data, size, &skip, &values) == 0 && skip > size))
		abort();
	zarr_chunks_list(root, array, &chunks);
	if (chunks.len / sizeof(uint64_t) > count)
		abort();
	if (count == 0 || zarr_chunk_path("", array, 0, &path) < 0)
		return;
	if (array->rank == 1 && array->width && array->chunks == ZARR_VALUES &&
	    array->chunk[0] <= CHUNK_MOST)
		read_labels(root, found, path.data, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int root = -1;
	const uint8_t *end = size ? memchr(data + 1, 0, size - 1) : NULL;
	struct zarr_found found = {.path = (char[]){""}};
	struct err err = {0};

	if (root < 0)
		root = make_root();
	if (end && zarr_meta_read(data[0] % ZARR_VERSIONS, (const char *)data + 1,
				  (size_t)(end - data - 1), &found.array, &err) == ZARR_ARRAY)
		look_at(root, &found, end + 1, (size_t)(data + size - end - 1));
	return 0;
}
