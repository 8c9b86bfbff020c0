/* Leaves of an LMDB, asked for before a walk enters them. */
#include "base/math.h"
#include "pack/walker_internal.h"

/* Of far files: pages between two that are read with them, and pages of one request. */
#define RUN_GAP	 4
#define RUN_MOST 256
#define COUSINS	 8 /* branch pages whose leaves are asked for ahead */

/* Has the children of a page read ahead, except those that follow one another, which the kernel
 * reads ahead by itself. Only a hint: damage is reported when they are read. */
static void ask_for_near(const struct walker *walker, const struct tree_level *level)
{
	uint32_t page = walker->info.page_size;
	uint64_t child, before = 0;
	struct err none = {0};

	for (unsigned i = 0; i < level->count; i++) {
		if (walker_child(walker, level, i, &child, &none) < 0)
			return;
		if (child != before + 1)
			reader_will_get(walker->reader, child * page, page);
		before = child;
	}
}

/* From far, those that are close together are one request. */
static void ask_for_far(const struct walker *walker, const struct tree_level *level, unsigned from)
{
	uint32_t page = walker->info.page_size;
	uint64_t child, first = 0, end = 0;
	struct err none = {0};

	for (unsigned i = from; i < level->count; i++) {
		if (walker_child(walker, level, i, &child, &none) < 0)
			break;
		if (child >= end && child <= end + RUN_GAP && child < first + RUN_MOST) {
			end = child + 1;
			continue;
		}
		if (end)
			reader_will_get(walker->reader, first * page, (end - first) * page);
		first = child;
		end = child + 1;
	}
	if (end)
		reader_will_get(walker->reader, first * page, (end - first) * page);
}

/* From far, the leaves below the next branch pages are asked for as well: else each branch page
 * would be a round trip, and one more for its leaves. The walk reads it again, and by then has it.
 */
static void ask_for_cousins(struct walker *walker, const struct tree_level *above)
{
	struct err none = {0};
	uint64_t child;

	for (; walker->scouted < min(above->count, above->next + COUSINS); walker->scouted++) {
		if (walker_child(walker, above, walker->scouted, &child, &none) < 0 ||
		    walker_load(walker, &walker->scout, child, &none) < 0)
			return;
		ask_for_far(walker, &walker->scout, 0);
		reader_will_get(walker->reader, child * walker->info.page_size,
				walker->info.page_size);
	}
}

static void ask_for_leaves_far(struct walker *walker, const struct tree_level *above)
{
	const struct tree_level *top = walker->info.depth > 2 ? above - 1 : NULL;

	if (walker->scouts != (top ? top : above)->number) {
		walker->scouts = (top ? top : above)->number;
		walker->scouted = top ? top->next : 0;
		if (top)
			ask_for_far(walker, top, top->next);
		ask_for_far(walker, above, above->next);
	}
	if (top)
		ask_for_cousins(walker, top);
}

/* Whoever opens a pack reads no more than two leaves. */
void walker_ask_ahead(struct walker *walker, const struct tree_level *above)
{
	bool begins = above->next == 4 && walker->seen > 0;

	if (!reader_hints(walker->reader).far) {
		if (begins)
			ask_for_near(walker, above);
	} else if (begins || walker->scouts) {
		ask_for_leaves_far(walker, above);
	}
}
