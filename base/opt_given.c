#include "base/opt.h"
#include <inttypes.h>
#include <string.h>

/* The value of a number or a choice, as it may be given again. */
static const char *text_of(const struct opt *row, const void *field, char buf[static 24])
{
	switch (row->kind) {
	case OPT_KIND_STRING:
		return *(const char *const *)field;
	case OPT_KIND_CHOICE:
		return row->choices[*(const int *)field];
	case OPT_KIND_OCTAL:
		snprintf(buf, 24, "%" PRIo64, *(const uint64_t *)field);
		return buf;
	case OPT_KIND_SIZE:
	case OPT_KIND_NUMBER:
		snprintf(buf, 24, "%" PRIu64, *(const uint64_t *)field);
		return buf;
	default:
		return NULL;
	}
}

static bool is_same(const struct opt *row, const void *field, const void *other)
{
	switch (row->kind) {
	case OPT_KIND_FLAG:
		return *(const bool *)field == *(const bool *)other;
	case OPT_KIND_STRING:
		return *(const char *const *)field == *(const char *const *)other;
	case OPT_KIND_CHOICE:
		return *(const int *)field == *(const int *)other;
	default:
		return *(const uint64_t *)field == *(const uint64_t *)other;
	}
}

void opt_given(const struct opt *table, const void *settings, const void *defaults,
	       void (*each)(void *context, const char *name, const char *value), void *context)
{
	for (const struct opt *row = table; row->kind != OPT_KIND_END; row++) {
		const void *field = (const char *)settings + row->offset;
		const struct opt_list *list = field;
		char buf[24];

		if (!row->name)
			continue;
		if (row->kind == OPT_KIND_LIST)
			for (size_t i = 0; i < list->count; i++)
				each(context, row->name, list->items[i]);
		else if (!is_same(row, field, (const char *)defaults + row->offset))
			each(context, row->name, text_of(row, field, buf));
	}
}
