#include "base/math.h"
#include "fs/nofuse/calls.h"
#include <dirent.h>
#include <string.h>

#define LISTING_MAX 65536 /* bytes of a listing at once */

struct listing {
	const struct call *call;
	bool old; /* as getdents(2) has it: struct linux_dirent */
	size_t room, used;
	_Alignas(struct dirent) char bytes[LISTING_MAX];
};

/* As the kernel has it: struct linux_dirent64, or the old one, where the type is the last byte.
 * Returns false if it does not fit. */
static bool add_record(struct listing *listing, const struct dataset_child *child, uint64_t place)
{
	char *at = listing->bytes + listing->used;
	struct dirent *record = (void *)at;
	size_t head =
		listing->old ? offsetof(struct dirent, d_type) : offsetof(struct dirent, d_name);
	size_t len = (head + child->name_len + 1 + listing->old + 7) & ~(size_t)7;

	if (listing->used + len > listing->room)
		return false;
	memset(record, 0, len);
	record->d_ino =
		call_number(listing->call, tree_ino(listing->call->answers->tree, child->inode));
	record->d_off = (off_t)place + 1;
	record->d_reclen = (unsigned short)len;
	memcpy(at + head, child->name, child->name_len);
	at[listing->old ? len - 1 : offsetof(struct dirent, d_type)] =
		(char)IFTODT(tree_type(child->kind));
	listing->used += len;
	return true;
}

static int64_t give_listing(void *context, uint64_t *place)
{
	struct listing *listing = context;
	const struct call *call = listing->call;
	struct dataset_child child;

	while (tree_child(call->answers->tree, call->to.entry, *place, &child) &&
	       add_record(listing, &child, *place))
		++*place;
	if (listing->used == 0)
		return tree_child(call->answers->tree, call->to.entry, *place, &child) ? -EINVAL
										       : 0;
	return call_give(call, call_rest(call, 0), listing->bytes, listing->used,
			 (int64_t)listing->used);
}

int64_t answer_getdents(struct call *call)
{
	struct listing listing;
	int64_t r = call_find(call, FOLLOW_ALWAYS);

	if (r || !call_is_folder(call))
		return r ? r : PASS;
	mount_count(call->answers->mount, REQUEST_READDIR);
	listing.call = call;
	listing.old = call->row->fixed;
	listing.room = min((size_t)(unsigned)call_rest(call, 1), sizeof(listing.bytes));
	listing.used = 0;
	return cursors_list(call->answers->cursors, &call->answers->listener, call->asked,
			    (int)call_argument(call, 0), call->to.entry, give_listing, &listing);
}
