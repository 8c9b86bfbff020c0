#include "fs/nofuse/call.h"
#include <fcntl.h>

/* Would change what a path names. */
int64_t refuse_change(const struct answers *answers, struct call *call)
{
	int64_t r = call_find_at(answers, call);

	return r ? r : -EROFS;
}

int64_t refuse_truncate(const struct answers *answers, struct call *call)
{
	int64_t r = call_find_at(answers, call);

	if (r)
		return r;
	if ((int64_t)call_rest(call, 0) < 0)
		return -EINVAL;
	return call_is_folder(answers, call) ? -EISDIR : -EROFS;
}

/* Of a call that would change a folder: what is wrong with the path up to that, or 0. */
static int64_t wrong_above(int64_t r, const struct resolved *to)
{
	return to->above ? 0 : r;
}

/* A name is to be made: the second path of calls that have two. */
static int64_t refuse_new(const struct answers *answers, const struct call *call, int fd, int path,
			  bool folder)
{
	struct resolved to = {0};
	int64_t r = call_find_path(answers, call, fd, path, FOLLOW_NEVER, &to);

	if (r == PASS)
		return to.error ? to.error : PASS;
	if (wrong_above(r, &to) || r == -ENAMETOOLONG)
		return r;
	if (r == -ENOENT)
		return to.slash && !folder ? -ENOENT : -EROFS;
	return -EEXIST;
}

int64_t refuse_making(const struct answers *answers, struct call *call)
{
	return refuse_new(answers, call, call->row->fd, call->row->path, call->row->fixed);
}

/* The kernel finds that nothing may be written before it looks for the name. */
int64_t refuse_removal(const struct answers *answers, struct call *call)
{
	bool folder = call->flags & AT_REMOVEDIR;
	int64_t r = call_find(answers, call, FOLLOW_NEVER);

	if (wrong_above(r, &call->to))
		return r;
	if (call->to.last == RESOLVED_NAME)
		return -EROFS;
	return !folder ? -EISDIR : call->to.last == RESOLVED_DOT ? -EINVAL : -ENOTEMPTY;
}

int64_t refuse_rename(const struct answers *answers, struct call *call)
{
	bool at = call->row->fd != NO;
	struct resolved to = {0};
	int64_t first = call_find(answers, call, FOLLOW_NEVER);
	int64_t second = call_find_path(answers, call, at ? 2 : NO, at ? 3 : 1, FOLLOW_NEVER, &to);

	if (first == PASS && second == PASS)
		return PASS;
	if (wrong_above(call->to.error, &call->to))
		return call->to.error;
	if (wrong_above(to.error, &to))
		return to.error;
	if (first == PASS || second == PASS)
		return -EXDEV;
	if (call->to.last != RESOLVED_NAME)
		return -EBUSY;
	if (to.last != RESOLVED_NAME)
		return at && call_argument(call, 4) & 1 ? -EEXIST : -EBUSY; /* RENAME_NOREPLACE */
	return -EROFS;
}

int64_t refuse_link(const struct answers *answers, struct call *call)
{
	bool at = call->row->fd != NO;
	int64_t r = call_find(answers, call,
			      call->flags & AT_SYMLINK_FOLLOW ? FOLLOW_ALWAYS : FOLLOW_SLASH);
	int64_t second;

	if (call->to.error)
		return r;
	second = refuse_new(answers, call, at ? 2 : NO, at ? 3 : 1, false);
	return second == PASS && r == 0 ? -EXDEV : second;
}

int64_t refuse_execution(const struct answers *answers, struct call *call)
{
	int64_t r = call_find_at(answers, call);

	return r ? r : -EACCES;
}

/* A folder is the kernel's. */
int64_t enter_folder(const struct answers *answers, struct call *call)
{
	int64_t r = call_find(answers, call, FOLLOW_ALWAYS);

	return r || !call_is_folder(answers, call) ? r ? r : -ENOTDIR : PASS;
}

int64_t refuse_old_listing(const struct answers *answers, struct call *call)
{
	int64_t r = call_find(answers, call, FOLLOW_ALWAYS);

	return r == 0 ? -ENOSYS : r;
}

int64_t refuse_watch(const struct answers *answers, struct call *call)
{
	int64_t r = call_find(answers, call, FOLLOW_ALWAYS);

	return r == 0 && !call_is_folder(answers, call) ? -EOPNOTSUPP : r == 0 ? PASS : r;
}
