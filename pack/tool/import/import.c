#include "pack/tool/import/import.h"

#include "base/math.h"
#include "base/scope.h"
#include "pack/tool/work/interrupt.h"

int import_read_large(struct import *import, struct item *item,
		      int (*use)(void *context, const void *data, size_t len), void *context)
{
	SCOPE_FREE char *piece = malloc(FORMAT_EXTENT);
	struct builder_source from;
	int r = piece ? import->ops->open(import, item, &from) : -ENOMEM;

	if (r < 0)
		return r;
	for (uint64_t left = item->size, len; r == 0 && left; left -= len) {
		len = min(left, (uint64_t)FORMAT_EXTENT);
		r = interrupt_pending() ? -EINTR : from.read(from.context, piece, len);
		if (r == 0)
			r = use(context, piece, len);
	}
	if (import->ops->close)
		import->ops->close(import, item);
	if (r == -EINTR)
		item->error = r;
	return r;
}
