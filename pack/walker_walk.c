/* The walk through an LMDB: over the pages and nodes of walker.c, from the root to each leaf. */
#include "pack/walker_internal.h"
#include <errno.h>
#include <inttypes.h>

/* Loads the page at `depth`: the root, or the next child of the page above. */
static int level_enter(struct walker *walker, unsigned depth, struct err *err)
{
	struct tree_level *above = depth > 0 ? &walker->levels[depth - 1] : NULL;
	uint64_t number = walker->info.root;
	int r = above ? walker_child(walker, above, above->next, &number, err) : 0;

	if (r < 0)
		return r;
	if (above && depth + 1 == walker->info.depth && (above->next == 0 || above->next == 4))
		walker_ask_ahead(walker, above);
	if (above)
		above->next++;
	return walker_load(walker, &walker->levels[depth], number, err);
}

/* Enters the pages from `depth` down to a leaf and takes its next record. */
static int walk_on(struct walker *walker, unsigned depth, struct walker_record *ret,
		   struct err *err)
{
	int r = 0;

	for (; r == 0 && depth < walker->info.depth; depth++)
		r = level_enter(walker, depth, err);
	if (r == 0)
		r = walker_take(walker, &walker->levels[depth - 1], ret, err);
	walker->walking = r == 0;
	return r;
}

static void walk_begin(struct walker *walker, bool whole)
{
	walker->walking = false;
	walker->scouts = 0;
	walker->whole = whole;
	walker->seen = walker->big = 0;
	walker->key_len = 0;
}

int walker_first(struct walker *walker, struct walker_record *ret, struct err *err)
{
	walk_begin(walker, true);
	if (walker->info.depth == 0)
		return 1;
	return walk_on(walker, 0, ret, err);
}

int walker_next(struct walker *walker, struct walker_record *ret, struct err *err)
{
	unsigned depth = walker->info.depth;

	if (!walker->walking)
		return 1;
	while (depth > 0 && walker->levels[depth - 1].next == walker->levels[depth - 1].count)
		depth--;
	if (depth == 0) {
		walker->walking = false;
		if (walker->whole && walker->seen != walker->info.entries)
			return err_set(err, -EBADMSG,
				       "%" PRIu64 " entries, %" PRIu64 " expected by the meta page",
				       walker->seen, walker->info.entries);
		return 1;
	}
	return walk_on(walker, depth, ret, err);
}

int walker_seek(struct walker *walker, const void *key, size_t key_len, struct walker_record *ret,
		struct err *err)
{
	int r = 0;

	walk_begin(walker, false);
	for (unsigned depth = 0; r == 0 && depth < walker->info.depth; depth++) {
		r = level_enter(walker, depth, err);
		if (r == 0)
			r = walker_aim(walker, &walker->levels[depth], key, key_len, err);
	}
	walker->walking = r == 0;
	return r < 0 ? r : walker_next(walker, ret, err);
}
