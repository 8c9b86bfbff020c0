/* Back from where the present readers began, nearly every file is a new one until the epoch before
 * begins, and from there on nearly none is: AGAIN in a row that came already (or rather, that come
 * again) are the end of an older epoch, a single one is a look at a file.
 *
 *	older epoch | preview | T T T T T T T | V V V | now
 *	   <-- again, again     <-- new   new    new --
 *
 * In between lie the readers of training and of validation, each at its time: those whose times
 * overlap read side by side, and the last ones whose files come again now are meant.
 *
 * That the present readers have begun anew was noticed some files late, maybe: the last files that
 * have come already belong to them. */
#include "cache/order/history.h"
#include "base/bits.h"
#include "base/scope.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLACK	    65536 /* accesses beyond an epoch of all files */
#define FIRST_ROOM  4096
#define AGAIN	    8
#define MEMBERS	    256
#define LEAST	    8  /* files of a reader that counts, */
#define LEAST_SHARE 16 /* and this share of those that the busiest has */

struct entry {
	uint32_t reader, file;
};

struct history {
	uint64_t files;
	struct entry *entries; /* a ring, once it has grown as far as it may */
	uint64_t room, most;
	uint64_t count; /* so far */
};

int history_new(uint64_t files, struct history **ret)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history)
		return -ENOMEM;
	history->files = files;
	history->most = files + SLACK < HISTORY_MOST ? files + SLACK : HISTORY_MOST;
	*ret = history;
	return 0;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	free(history->entries);
	free(history);
}

/* Where it cannot grow it goes on with what it has. */
static void make_room(struct history *history)
{
	uint64_t room = history->room ? 2 * history->room : FIRST_ROOM;
	struct entry *entries;

	if (history->count < history->room || history->room == history->most)
		return;
	if (room > history->most)
		room = history->most;
	entries = realloc(history->entries, room * sizeof(*entries));
	if (entries)
		history->entries = entries;
	else
		room = history->most = history->room;
	history->room = room;
}

void history_saw(struct history *history, uint32_t reader, uint32_t file)
{
	make_room(history);
	if (history->room)
		history->entries[history->count++ % history->room] =
			(struct entry){.reader = reader, .file = file};
}

static uint64_t oldest(const struct history *history)
{
	return history->count > history->room ? history->count - history->room : 0;
}

static const struct entry *entry_at(const struct history *history, uint64_t at)
{
	return &history->entries[at % history->room];
}

void history_append(struct history *history, const struct history *later)
{
	for (uint64_t at = oldest(later); at < later->count; at++) {
		const struct entry *entry = entry_at(later, at);

		history_saw(history, entry->reader, entry->file);
	}
}

/* --- where the epoch lies -------------------------------------------------------------------- */

struct member {
	uint32_t id;
	uint64_t first, last;
	uint32_t count;
	uint32_t asked; /* of its files, those that are asked for now */
	bool taken;
};

struct look {
	const struct history *history;
	uint64_t first, end;
	uint8_t *asked;	 /* now; a bit for each file */
	uint8_t *marked; /* the same: seen on the way, */
	uint8_t *twice;	 /* and once more */
	uint32_t asked_count;
	struct member members[MEMBERS];
	unsigned count;
};

static void unmark(struct look *look)
{
	memset(look->marked, 0, look->history->files / 8 + 1);
}

/* Where the present readers began. */
static bool find_end(struct look *look, const struct watch_access *first)
{
	for (uint64_t at = look->history->count; at > oldest(look->history); at--) {
		const struct entry *entry = entry_at(look->history, at - 1);

		look->end = at - 1;
		if (entry->reader == first->reader && entry->file == first->file)
			return true;
	}
	return false;
}

static void find_first(struct look *look)
{
	unsigned again = 0;

	look->first = look->end;
	while (look->first > oldest(look->history) && again < AGAIN) {
		const struct entry *entry = entry_at(look->history, --look->first);

		again = bit_set(look->marked, entry->file) ? again + 1 : 0;
	}
	if (again == AGAIN)
		look->first += AGAIN;
}

static struct member *member_of(struct look *look, uint32_t id)
{
	for (unsigned i = 0; i < look->count; i++)
		if (look->members[i].id == id)
			return &look->members[i];
	return NULL;
}

static struct member *add_member(struct look *look, uint32_t id, uint64_t first)
{
	struct member *member = &look->members[look->count];

	if (look->count == MEMBERS)
		return NULL;
	look->count++;
	*member = (struct member){.id = id, .first = first};
	return member;
}

/* In the order in which they began. */
static void find_members(struct look *look)
{
	for (uint64_t at = look->first; at < look->end; at++) {
		const struct entry *entry = entry_at(look->history, at);
		struct member *member = member_of(look, entry->reader);

		if (!member)
			member = add_member(look, entry->reader, at);
		if (!member)
			continue;
		member->last = at;
		member->count++;
		member->asked += bit_get(look->asked, entry->file);
	}
}

static bool counts(const struct member *member)
{
	return member->count >= LEAST && member->asked > 0;
}

/* The members from number `from` on whose times overlap: returns the number of the next one, who
 * came later, and how many of their files are asked for. */
static unsigned group_end(const struct look *look, unsigned from, uint32_t *ret_asked)
{
	uint64_t last = UINT64_MAX;
	unsigned end;

	*ret_asked = 0;
	for (end = from; end < look->count; end++) {
		const struct member *member = &look->members[end];

		if (!counts(member))
			continue;
		if (member->first > last)
			break;
		*ret_asked += member->asked;
		if (last == UINT64_MAX || member->last > last)
			last = member->last;
	}
	return end;
}

static void take_group(struct look *look, unsigned from, unsigned end)
{
	uint32_t most = 0;

	for (unsigned i = from; i < end; i++)
		if (counts(&look->members[i]) && look->members[i].count > most)
			most = look->members[i].count;
	for (unsigned i = from; i < end; i++)
		look->members[i].taken =
			counts(&look->members[i]) && look->members[i].count >= most / LEAST_SHARE;
}

/* The last group that has half of what is asked for now. */
static bool choose_group(struct look *look)
{
	unsigned from = 0, end = 0;

	for (unsigned at = 0; at < look->count;) {
		uint32_t asked;
		unsigned next = group_end(look, at, &asked);

		if (asked > 0 && asked >= look->asked_count / 2) {
			from = at;
			end = next;
		}
		at = next;
	}
	take_group(look, from, end);
	return end > from;
}

/* --- what it is ------------------------------------------------------------------------------ */

static const struct member *taken_at(struct look *look, uint64_t at)
{
	const struct member *member = member_of(look, entry_at(look->history, at)->reader);

	return member && member->taken ? member : NULL;
}

/* The last files, if they are those of readers that live on, and came already. */
static void leave_begun(struct look *look)
{
	unmark(look);
	for (uint64_t at = look->end; at-- > look->first;) {
		uint32_t file = entry_at(look->history, at)->file;

		if (taken_at(look, at) && bit_set(look->marked, file))
			bit_set(look->twice, file);
	}
	while (look->end > look->first && taken_at(look, look->end - 1) &&
	       bit_get(look->twice, entry_at(look->history, look->end - 1)->file))
		look->end--;
}

/* Calls for each access of the group, the last first; what comes again was not the epoch's. */
typedef void visit_fn(struct history_epoch *epoch, unsigned reader, uint32_t file);

static void visit(struct look *look, const uint8_t *places, visit_fn *each,
		  struct history_epoch *epoch)
{
	unmark(look);
	for (uint64_t at = look->end; at-- > look->first;) {
		uint32_t file = entry_at(look->history, at)->file;
		const struct member *member = taken_at(look, at);

		if (member && !bit_set(look->marked, file))
			each(epoch, places[member - look->members], file);
	}
}

static void count_file(struct history_epoch *epoch, unsigned reader, uint32_t file)
{
	(void)file;
	epoch->starts[reader]++;
	epoch->count++;
}

/* `starts` are the ends at first, from which readers are filled. */
static void take_file(struct history_epoch *epoch, unsigned reader, uint32_t file)
{
	epoch->files[--epoch->starts[reader]] = file;
}

static bool take_epoch(struct look *look, struct history_epoch *epoch)
{
	uint8_t places[MEMBERS] = {0};
	uint32_t end = 0;

	for (unsigned i = 0; i < look->count; i++) {
		if (!look->members[i].taken)
			continue;
		if (epoch->readers == HISTORY_READERS)
			return false;
		places[i] = (uint8_t)epoch->readers;
		epoch->ids[epoch->readers++] = look->members[i].id;
	}
	visit(look, places, count_file, epoch);
	epoch->files = malloc((epoch->count + 1) * sizeof(*epoch->files));
	if (!epoch->files)
		return false;
	for (unsigned i = 0; i < epoch->readers; i++)
		epoch->starts[i] = end += epoch->starts[i];
	visit(look, places, take_file, epoch);
	epoch->starts[epoch->readers] = epoch->count;
	return true;
}

static struct member *now_member(struct look *look, uint32_t id)
{
	struct member *member = member_of(look, id);

	return member ? member : add_member(look, id, 0);
}

static bool take_now(struct look *look, struct history_epoch *epoch)
{
	const struct history *history = look->history;

	epoch->now = malloc(WATCH_LOG * sizeof(*epoch->now));
	if (!epoch->now)
		return false;
	look->count = 0;
	for (uint64_t at = look->end; at < history->count && epoch->now_count < WATCH_LOG; at++) {
		const struct entry *entry = entry_at(history, at);
		struct member *member = now_member(look, entry->reader);
		uint32_t most = entry->reader ? WATCH_RUN : WATCH_RUN_MANY;

		if (member && member->count < most)
			epoch->now[epoch->now_count++] =
				(struct watch_access){.reader = entry->reader,
						      .file = entry->file,
						      .nth = member->count++};
	}
	return true;
}

static void ask_for(struct look *look, const struct watch_access *begun, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		look->asked_count += !bit_set(look->asked, begun[i].file);
}

static bool look_back(struct look *look, const struct watch_access *begun, unsigned count,
		      struct history_epoch *epoch)
{
	ask_for(look, begun, count);
	if (!find_end(look, &begun[0]))
		return false;
	find_first(look);
	find_members(look);
	if (!choose_group(look))
		return false;
	leave_begun(look);
	return take_epoch(look, epoch) && take_now(look, epoch);
}

bool history_epoch(const struct history *history, const struct watch_access *begun, unsigned count,
		   struct history_epoch *ret)
{
	SCOPE_FREE uint8_t *bits = calloc(3, history->files / 8 + 1);
	SCOPE_FREE struct look *look = calloc(1, sizeof(*look));
	SCOPE(history_epoch_release) struct history_epoch epoch = {0};

	if (!bits || !look || count == 0)
		return false;
	look->history = history;
	look->asked = bits;
	look->marked = bits + history->files / 8 + 1;
	look->twice = look->marked + history->files / 8 + 1;
	if (!look_back(look, begun, count, &epoch))
		return false;
	*ret = epoch;
	epoch = (struct history_epoch){0};
	return true;
}

void history_epoch_release(struct history_epoch *epoch)
{
	free(epoch->files);
	free(epoch->now);
}
