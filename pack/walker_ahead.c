/* Asks for leaves of an LMDB before a walk enters them. */
#include "base/math.h"
#include "pack/walker_internal.h"

/* For remote files: a gap of this many pages is read with its neighbours; pages of one request. */
#define RUN_GAP	 4
#define RUN_MOST 256
#define COUSINS	 8 /* branch pages whose leaves are asked for ahead */

/* On remote storage, children that are close together are one request. */
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

/* On far storage this also asks for the leaves below the next branch pages. Otherwise each branch
 * page would be one round trip, and its leaves another. The walk reads the branch page again, and
 * has it by then. */
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

/* Opening a pack reads at most two leaves. */
void walker_ask_ahead(struct walker *walker, const struct tree_level *above)
{
	bool begins = above->next == 4 && walker->seen > 0;
	uint32_t page = walker->info.page_size;
	uint64_t child, before = 0;
	struct err none = {0};

	if (!reader_hints(walker->reader).remote) {
		/* All children, except those that follow one another: the kernel reads these ahead
		 * by itself. Only a hint: damage is reported when a page is read. */
		for (unsigned i = 0; begins && i < above->count; i++) {
			if (walker_child(walker, above, i, &child, &none) < 0)
				return;
			if (child != before + 1)
				reader_will_get(walker->reader, child * page, page);
			before = child;
		}
	} else if (begins || walker->scouts) {
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
}
