#include "base/reader.h"
#include <errno.h>

int reader_get_full(struct reader *reader, void *buf, size_t len, uint64_t offset)
{
	ssize_t n = reader_get(reader, buf, len, offset);

	if (n < 0)
		return (int)n;
	return (size_t)n < len ? -ENODATA : 0;
}
