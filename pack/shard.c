#include "pack/shard.h"
#include "pack/options.h"
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

void shard_write(const struct shard *shard, char ret[SHARD_TEXT])
{
	snprintf(ret, SHARD_TEXT, "%" PRIu32 "-of-%" PRIu32 " %016" PRIx64 "-%016" PRIx64,
		 shard->number, shard->of, shard->before, shard->after);
}

void shard_read(const char *options, size_t len, struct shard *ret)
{
	const char *value = options_find(options, len, "shard", &len);
	char text[SHARD_TEXT];

	snprintf(text, sizeof(text), "%.*s", value && len < SHARD_TEXT ? (int)len : 0,
		 value ? value : "");
	if (sscanf(text, "%" SCNu32 "-of-%" SCNu32 " %" SCNx64 "-%" SCNx64, &ret->number, &ret->of,
		   &ret->before, &ret->after) != 4 ||
	    ret->number >= ret->of)
		*ret = (struct shard){0};
}

static bool follows(const struct shard *a, const struct shard *b)
{
	return b->of == a->of && b->number == a->number + 1 && b->before == a->after;
}

int shards_check(const struct shard *shards, size_t count, size_t which, struct err *err)
{
	const struct shard *one = &shards[which];
	bool before = one->number == 0, after = one->number + 1 >= one->of;

	/* Shards of one set mostly follow each other, so this looks at the one before first. */
	for (size_t i = 0; i < count && !(before && after); i++) {
		const struct shard *other = &shards[(which + count - 1 + i) % count];

		before |= follows(other, one);
		after |= follows(one, other);
	}
	if (before && after)
		return 0;
	return err_set(err, -ENOENT,
		       "shard %" PRIu32 " of %" PRIu32
		       " is not here, or was made from the folder in another state",
		       before ? one->number + 1 : one->number - 1, one->of);
}
