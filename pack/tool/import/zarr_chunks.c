#include "pack/tool/import/zarr_chunks.h"

#include "base/libc.h"
#include "base/scope.h"
#include "base/search.h"
#include "pack/foreign/text.h"
#include <fcntl.h>
#include <string.h>

/* --- folders ---------------------------------------------------------------------------------- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int zarr_list(int folder, struct dirent ***ret)
{
	int count = scandirat(folder, ".", ret, NULL, by_name);

	return count < 0 ? -errno : count;
}

void zarr_list_free(struct dirent **list, int count)
{
	for (int i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Takes the numbers in a name, from the i-th on: one, or all if they are in one name. Returns how
 * many there are now; 0: it is not the name of a chunk, nor on the way to one. */
static unsigned take_name(const struct zarr_array *array, const char *name, unsigned i,
			  uint64_t at[ZARR_RANK])
{
	struct foreign_text rest = {name, strlen(name)};
	unsigned end = array->nested ? i + 1 : array->rank;

	for (; i < end; i++) {
		unsigned dimension = zarr_dimension(array, i);
		size_t digits = foreign_text_number(rest, &at[dimension]);

		if (digits == 0 || (digits > 1 && *rest.data == '0') ||
		    at[dimension] >= zarr_chunks_along(array, dimension))
			return 0;
		rest.data += digits;
		rest.len -= digits;
		if (i + 1 < end && (rest.len == 0 || *rest.data++ != '.' || rest.len-- == 0))
			return 0;
	}
	return rest.len == 0 ? i : 0;
}

/* --- listing ---------------------------------------------------------------------------------- */

static int add_number(const struct zarr_array *array, const uint64_t at[ZARR_RANK], struct buf *ret)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < array->rank; i++)
		number = number * zarr_chunks_along(array, i) + at[i];
	return buf_add(ret, &number, sizeof(number));
}

static int list_below(int folder, const struct zarr_array *array, unsigned taken,
		      uint64_t at[ZARR_RANK], struct buf *ret);

static int list_folder(int above, const char *name, const struct zarr_array *array, unsigned taken,
		       uint64_t at[ZARR_RANK], struct buf *ret)
{
	SCOPE_CLOSE int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		return list_below(fd, array, taken, at, ret);
	return errno == ENOTDIR || errno == ELOOP || errno == ENOENT ? 0 : -errno;
}

/* `taken` numbers are in the path of the folder. */
static int list_below(int folder, const struct zarr_array *array, unsigned taken,
		      uint64_t at[ZARR_RANK], struct buf *ret)
{
	struct dirent **list = NULL;
	int count = zarr_list(folder, &list), r = count < 0 ? count : 0;

	for (int i = 0; r == 0 && i < count; i++) {
		const char *name = list[i]->d_name;
		unsigned now;

		if (array->below_c && !array->nested)
			name += strncmp(name, "c.", 2) == 0 ? 2 : strlen(name);
		now = take_name(array, name, taken, at);
		if (now && now == array->rank)
			r = add_number(array, at, ret);
		else if (now)
			r = list_folder(folder, name, array, now, at, ret);
	}
	zarr_list_free(list, count);
	return r;
}

int zarr_chunks_list(int folder, const struct zarr_array *array, struct buf *ret)
{
	uint64_t at[ZARR_RANK] = {0};
	int r = 0;

	if (array->rank && array->below_c && array->nested)
		r = list_folder(folder, "c", array, 0, at, ret);
	else if (array->rank)
		r = list_below(folder, array, 0, at, ret);
	buf_sort(ret, sizeof(uint64_t), search_compare64);
	return r;
}
