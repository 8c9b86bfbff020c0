#include "fs/nofuse/call.h"
#include "base/scope.h"
#include "fs/nofuse/job.h"
#include <fcntl.h>

/* No inode of a filesystem has this bit; an entry keeps its number. */
#define INODES (UINT64_C(1) << 48)

uint64_t call_argument(const struct call *call, int index)
{
	return call->asked->notif.data.args[index];
}

uint64_t call_rest(const struct call *call, int index)
{
	return call_argument(call, call->row->rest + index);
}

int call_check_access(const struct call *call, uint32_t entry, int access)
{
	struct tree_user user = {.pid = call->pid};
	int r = tree_access(call->answers->tree, entry, access, &user);

	return r == 0 || r == -EACCES || job_is_short(r) ? r : -EIO;
}

int64_t call_find_text(const struct call *call, int from, const char *text, enum follow follow,
		       struct resolved *ret)
{
	int r = 0;

	*ret = resolve(&call->answers->resolver, call->pid, from, text, follow);
	if (!ret->inside)
		return PASS;
	if (ret->searched && (!ret->error || ret->above))
		r = call_check_access(call, ret->folder, X_OK);
	if (r < 0) {
		ret->above = false;
		ret->error = r;
	}
	return ret->error;
}

/* Whether no path, or NULL, means the descriptor. From Linux 6.11 on, AT_EMPTY_PATH is for NULL,
 * too, in calls that tell attributes. */
static bool is_descriptor(const struct call *call, int from, bool null)
{
	if (null && call->row->fixed & NULL_PATH)
		return from != AT_FDCWD;
	return call->empty && (!null || call->row->known & AT_STATX_SYNC_TYPE);
}

int64_t call_find_path(const struct call *call, int fd, int path, enum follow follow,
		       struct resolved *ret)
{
	int from = fd == NO ? AT_FDCWD : (int)call_argument(call, fd), r = 0;
	bool null = path != NO && !call_argument(call, path);
	char text[PATH_MAX] = "";

	if (path == NO && from == AT_FDCWD && !call->empty)
		return PASS; /* no descriptor */
	if (path != NO && !null)
		r = job_read_text(call->pid, call_argument(call, path), text, sizeof(text));
	if (r == -ERANGE)
		return ret->error = -ENAMETOOLONG;
	if (r < 0)
		return ret->error = job_is_short(r) || r == -EFAULT ? r : 0, call_unread(r);
	if (*text)
		return call_find_text(call, from, text, follow, ret);
	if (path == NO || is_descriptor(call, from, null))
		*ret = resolve_open(&call->answers->resolver, call->pid, from);
	else
		ret->error = null ? -EFAULT : -ENOENT; /* as the kernel */
	return ret->inside ? ret->error : PASS;
}

int64_t call_find(struct call *call, enum follow follow)
{
	return call_find_path(call, call->row->fd, call->row->path, follow, &call->to);
}

int64_t call_find_at(struct call *call)
{
	return call_find(call, call->flags & AT_SYMLINK_NOFOLLOW ? FOLLOW_SLASH : FOLLOW_ALWAYS);
}

struct dataset_entry call_entry(const struct call *call)
{
	return dataset_entry(call->answers->tree->dataset, call->to.entry);
}

bool call_is_folder(const struct call *call)
{
	return call_entry(call).kind == FORMAT_DIRECTORY;
}

uint64_t call_number(const struct call *call, uint64_t ino)
{
	return ino == TREE_ROOT_INO ? call->answers->skeleton->own.inode : ino | INODES;
}

/* The caller may have gone, and its number been given to another process: of another user, where
 * root answers one that has not all its rights. Such a one is written to by what was opened before,
 * which also writes what may only be read. */
int64_t call_give(const struct call *call, uint64_t address, const void *bytes, size_t len,
		  int64_t result)
{
	bool lesser = call->answers->root && !job_is_equal(call->pid, call->answers->space);
	SCOPE_CLOSE int memory = lesser ? job_open(call->pid) : -1;
	int r = -EINTR;

	if (lesser && memory < 0)
		return job_is_short(memory) ? memory : -EFAULT;
	if (listener_waits(&call->answers->listener, call->asked))
		r = lesser ? job_write_open(memory, address, bytes, len)
			   : job_write(call->pid, address, bytes, len);
	return r < 0 ? job_is_short(r) ? r : -EFAULT : result;
}
