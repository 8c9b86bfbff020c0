#include "base/math.h"
#include "fs/nofuse/call.h"
#include "fs/nofuse/job.h"
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static int64_t refuse(struct call *call, int error)
{
	int64_t r = call_find_at(call);

	return r ? r : error;
}

/* A folder is the kernel's. */
static int64_t refuse_file(struct call *call, int error)
{
	int64_t r = call_find_at(call);

	return r ? r : call_is_folder(call) ? PASS : error;
}

int64_t refuse_change(struct call *call)
{
	return refuse(call, -EROFS);
}

/* Where neither time is to change, the kernel does not even look at the path. */
int64_t refuse_times(struct call *call)
{
	struct timespec times[2] = {0};
	int r = call_rest(call, 0) ? job_read(call->pid, call_rest(call, 0), times, sizeof(times))
				   : 0;

	if (r < 0)
		return call_unread(r);
	return times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT
		       ? PASS
		       : refuse_change(call);
}

int64_t refuse_execution(struct call *call)
{
	return refuse(call, -EACCES);
}

int64_t refuse_watch(struct call *call)
{
	return refuse_file(call, -EOPNOTSUPP);
}

int64_t enter_folder(struct call *call)
{
	return refuse_file(call, -ENOTDIR);
}

int64_t refuse_truncate(struct call *call)
{
	int64_t r = call_find_at(call);

	if (r)
		return r;
	if ((int64_t)call_rest(call, 0) < 0)
		return -EINVAL;
	return call_is_folder(call) ? -EISDIR : -EROFS;
}

/* Of a call that would change a folder: what is wrong with the path up to that, or 0. */
static int64_t wrong_above(int64_t r, const struct resolved *to)
{
	return to->above ? 0 : r;
}

/* A name is to be made, and was looked for. */
static int64_t refuse_new(int64_t r, const struct resolved *to, bool folder)
{
	if (r == PASS)
		return to->error ? to->error : PASS;
	if (wrong_above(r, to) || r == -ENAMETOOLONG)
		return r;
	if (r == -ENOENT)
		return to->slash && !folder ? -ENOENT : -EROFS;
	return -EEXIST;
}

int64_t refuse_making(struct call *call)
{
	return refuse_new(call_find(call, FOLLOW_NEVER), &call->to, call->row->fixed);
}

/* The kernel takes the target first, and finds what is wrong with it. */
int64_t refuse_symlink(struct call *call)
{
	char target[PATH_MAX];
	int r = job_read_text(call->pid, call_argument(call, 0), target, sizeof(target));

	if (r < 0)
		return call_unread(r);
	return *target ? refuse_making(call) : PASS;
}

/* A local socket makes its name. */
int64_t refuse_socket(struct call *call)
{
	struct sockaddr_un name = {0};
	char path[sizeof(name.sun_path) + 1] = "";
	size_t len = min((uint32_t)call_rest(call, 1), sizeof(name));
	int64_t r = job_read(call->pid, call_rest(call, 0), &name, len);

	if (r < 0)
		return call_unread((int)r);
	if (name.sun_family != AF_UNIX || !*name.sun_path)
		return PASS;
	memcpy(path, name.sun_path, sizeof(name.sun_path));
	r = refuse_new(call_find_text(call, AT_FDCWD, path, FOLLOW_NEVER, &call->to), &call->to,
		       false);
	return r == -EEXIST ? -EADDRINUSE : r;
}

/* The folder of the pack itself, by its name in the folder that it is in. */
static bool is_top(const struct resolved *to)
{
	return to->inside && !to->error && !to->searched;
}

/* The kernel finds that nothing may be written before it looks for the name. */
int64_t refuse_removal(struct call *call)
{
	bool folder = call->flags & AT_REMOVEDIR;
	int64_t r = call_find(call, FOLLOW_NEVER);

	if (wrong_above(r, &call->to))
		return r;
	if (is_top(&call->to))
		return folder ? -EBUSY : -EISDIR;
	if (call->to.last == RESOLVED_NAME)
		return -EROFS;
	return !folder ? -EISDIR : call->to.last == RESOLVED_DOT ? -EINVAL : -ENOTEMPTY;
}

int64_t refuse_rename(struct call *call)
{
	bool at = call->row->fd != NO;
	struct resolved to = {0};
	int64_t first = call_find(call, FOLLOW_NEVER);
	int64_t second = call_find_path(call, at ? 2 : NO, at ? 3 : 1, FOLLOW_NEVER, &to);

	if (first == PASS && second == PASS)
		return PASS;
	if (wrong_above(call->to.error, &call->to))
		return call->to.error;
	if (wrong_above(to.error, &to))
		return to.error;
	if (is_top(&call->to) || is_top(&to))
		return -EBUSY;
	if (first == PASS || second == PASS)
		return -EXDEV;
	if (call->to.last != RESOLVED_NAME)
		return -EBUSY;
	if (to.last != RESOLVED_NAME)
		return at && call_argument(call, 4) & 1 ? -EEXIST : -EBUSY; /* RENAME_NOREPLACE */
	return -EROFS;
}

int64_t refuse_link(struct call *call)
{
	bool at = call->row->fd != NO;
	struct resolved to = {0};
	int64_t r = call_find(call, call->flags & AT_SYMLINK_FOLLOW ? FOLLOW_ALWAYS : FOLLOW_SLASH);
	int64_t second;

	if (call->to.error)
		return r;
	second = call_find_path(call, at ? 2 : NO, at ? 3 : 1, FOLLOW_NEVER, &to);
	second = refuse_new(second, &to, false);
	return second == PASS && r == 0 ? -EXDEV : second;
}
