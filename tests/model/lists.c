/* Listings, with buffers of all sizes, and with seeks to places that an earlier look gave. */
#include "base/scope.h"
#include "tests/model/model.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#define NAMES_MAX 4096
#define ROOM_MAX  32768

struct name {
	char text[256];
	uint8_t kind;
	int64_t place; /* where a listing goes on with this name */
	unsigned rank; /* in the filesystem's order */
};

struct listing {
	int fd;
	size_t room; /* bytes of a getdents64(2) */
	unsigned count;
	struct name names[NAMES_MAX];
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* Lists from here to the end. `place` is where the descriptor is. */
static bool list_rest(struct listing *listing, int64_t place, struct outcome *ret)
{
	_Alignas(struct dirent64) char room[ROOM_MAX];
	long len;

	listing->count = 0;
	while (outcome_of(ret, len = syscall(SYS_getdents64, listing->fd, room, listing->room)) &&
	       len > 0) {
		for (long at = 0; at < len && listing->count < NAMES_MAX;) {
			const struct dirent64 *entry = (const void *)(room + at);
			struct name *name = &listing->names[listing->count];

			*name = (struct name){
				.kind = entry->d_type, .place = place, .rank = listing->count++};
			memcpy(name->text, entry->d_name, strnlen(entry->d_name, 255));
			place = entry->d_off;
			at += entry->d_reclen;
		}
	}
	return ret->error == 0;
}

static void add_names(struct listing *listing, struct outcome *ret)
{
	qsort(listing->names, listing->count, sizeof(*listing->names), by_text);
	for (unsigned i = 0; i < listing->count; i++) {
		outcome_add(ret, listing->names[i].text, strlen(listing->names[i].text) + 1);
		outcome_add(ret, &listing->names[i].kind, 1);
	}
}

/* Goes on at some name: the first one to come must be that name, and the rest as before. */
static void seek_name(struct listing *listing, uint64_t chance, struct outcome *ret)
{
	struct name name;
	unsigned left;

	if (listing->count == 0)
		return;
	name = listing->names[chance % listing->count];
	left = listing->count - name.rank;
	if (!outcome_of(ret, lseek(listing->fd, name.place, SEEK_SET) < 0 ? -1 : 0) ||
	    !list_rest(listing, name.place, ret))
		return;
	outcome_add(ret, name.text, sizeof(name.text));
	if (listing->count > 0)
		outcome_add(ret, listing->names[0].text, sizeof(name.text));
	outcome_of(ret, (int64_t)listing->count - left);
}

static void list_operation(struct side *side, const struct args *args, struct outcome *ret)
{
	SCOPE_FREE struct listing *listing = malloc(sizeof(*listing));
	SCOPE_CLOSE int fd = -1;

	if (!listing)
		return;
	listing->room = args->chance[0] % 2 ? ROOM_MAX : 24 + args->chance[1] % 4096;
	tell(side, "list '%s' by %zu bytes", args->path, listing->room);
	fd = openat(side->root, args->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!outcome_of(ret, fd < 0 ? -1 : 0))
		return;
	listing->fd = fd;
	if (!list_rest(listing, 0, ret))
		return;
	add_names(listing, ret);
	seek_name(listing, args->chance[2], ret);
}

const struct operation list_operations[] = {{"list", list_operation, 5}, {0}};
