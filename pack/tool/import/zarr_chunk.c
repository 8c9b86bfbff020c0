#include "pack/tool/import/zarr_chunk.h"

#include "base/be.h"
#include "base/io.h"
#include "base/scope.h"
#include "pack/foreign/tree.h"
#include "pack/tool/import/source.h"
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#define HEAD_MOST (8 + 4 * ZARR_RANK) /* bytes in front of a chunk */
#define SNIFFED	  16		      /* bytes by which an image is known */

int zarr_chunk_path(const char *folder, const struct zarr_array *array, uint64_t number,
		    struct buf *ret)
{
	const char *separator = array->nested ? "/" : ".";
	uint64_t at[ZARR_RANK];
	int r;

	ret->len = 0;
	r = buf_addf(ret, "%s%s%s%s", folder, *folder ? "/" : "", array->below_c ? "c" : "",
		     array->below_c ? separator : "");
	for (unsigned i = array->rank; i-- > 0; number /= zarr_chunks_along(array, i))
		at[i] = number % zarr_chunks_along(array, i);
	for (unsigned i = 0; r == 0 && i < array->rank; i++)
		r = buf_addf(ret, "%s%" PRIu64, i > 0 ? separator : "",
			     at[zarr_dimension(array, i)]);
	return r;
}

int zarr_read_file(int folder, const char *path, uint64_t most, struct buf *ret, struct err *err)
{
	SCOPE_CLOSE int fd = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > most)
		return -EFBIG;
	r = buf_reserve(ret, (size_t)st.st_size + 1);
	if (r == 0)
		r = io_pread_full(fd, ret->data + ret->len, (size_t)st.st_size, 0);
	if (r == 0 || r == -ENODATA)
		r = io_unchanged(fd, &st);
	if (r == 0)
		ret->len += (size_t)st.st_size;
	return r == -ESTALE ? err_set(err, r, "%s", source_error_text(r)) : r;
}

int zarr_chunk_head(const struct zarr_array *array, const uint8_t *head, size_t len,
		    size_t *ret_skip, uint64_t *ret_values)
{
	uint32_t begin = len >= 4 ? be_get32(head) : UINT32_MAX; /* mode, number of dimensions */
	size_t skip = 4 + 4 * (size_t)array->rank + (begin >> 16 == 1 ? 4 : 0);
	uint64_t values = 1;

	if (array->version != ZARR_N5) {
		*ret_skip = 0;
		return 0;
	}
	if (begin >> 16 > 1 || (begin & 0xffff) != array->rank || len < skip)
		return -EBADMSG;
	for (unsigned i = 0; i < array->rank; i++)
		if (__builtin_mul_overflow(values, (uint64_t)be_get32(head + 4 + 4 * i), &values))
			return -EBADMSG;
	*ret_skip = skip;
	*ret_values = values;
	return 0;
}

const char *zarr_image_open(int folder, const struct zarr_array *array, const char *path,
			    struct zarr_image *ret)
{
	uint8_t head[HEAD_MOST + SNIFFED];
	uint64_t values;
	ssize_t n;

	scope_close(&ret->fd);
	ret->fd = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (ret->fd < 0 || fstat(ret->fd, &ret->st) < 0)
		return errno == ELOOP ? "is a symbolic link" : strerror(errno);
	if (!S_ISREG(ret->st.st_mode))
		return "is no regular file";
	n = io_pread(ret->fd, head, sizeof(head), 0);
	if (n < 0)
		return strerror((int)-n);
	if (zarr_chunk_head(array, head, (size_t)n, &ret->offset, &values) < 0)
		return "has a damaged header";
	ret->suffix = foreign_suffix(head + ret->offset, (size_t)n - ret->offset);
	ret->size = (uint64_t)ret->st.st_size - ret->offset;
	return ret->suffix ? NULL : "holds no image of a known kind";
}
