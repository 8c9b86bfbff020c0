#include "fs/nofuse/resolve.h"
#include "base/scope.h"
#include "fs/nofuse/job.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/random.h>
#include <sys/vfs.h>

#define LINKS_MAX 40	    /* as the kernel has it */
#define PROC_ROOT 1	    /* the inode of /proc itself */
#define MEMORY	  "/memfd:" /* what links to files in memory begin with */
#define FOLDER	  (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* One path on its way: where it is, and what is still to go. */
struct walk {
	const struct resolver *resolver;
	pid_t pid;
	enum follow follow;
	unsigned links;	  /* that were followed */
	bool inside;	  /* then `entry` is where; else `at` */
	uint32_t entry;	  /* a folder */
	int at;		  /* a folder that is open */
	const char *rest; /* what is still to go */
	char *room;	  /* two of PATH_MAX, for paths that links become part of */
	struct resolved ret;
};

static const struct resolved elsewhere = {0};

/* The next name of the rest. */
struct part {
	const char *name;
	size_t len;
	bool last, slash; /* which is behind the last one */
};

void resolver_init(struct resolver *resolver, const struct skeleton *skeleton)
{
	uint64_t random = 0;

	(void)!getrandom(&random, sizeof(random), 0);
	*resolver = (struct resolver){.skeleton = skeleton, .tree = skeleton->tree};
	snprintf(resolver->mark, sizeof(resolver->mark), MEMORY "foldfs-%016llx-",
		 (unsigned long long)random);
}

void resolver_name(const struct resolver *resolver, uint32_t entry, char ret[static 64])
{
	snprintf(ret, 64, "%s%u", resolver->mark + strlen(MEMORY), entry);
}

/* --- the end of the way: these return false, as there is nothing to go ----------------------- */

/* The kernel knows. */
static bool pass(struct walk *walk)
{
	walk->ret.inside = false;
	return false;
}

static bool end(struct walk *walk, int error)
{
	walk->ret.inside = true;
	walk->ret.entry = walk->entry;
	walk->ret.error = error;
	return false;
}

/* What cannot be looked at is not of the pack, unless it is foldfs that is short of something. */
static bool fail(struct walk *walk, int error)
{
	return job_is_short(error) ? end(walk, error) : pass(walk);
}

/* At a folder. */
static bool arrive(struct walk *walk, const struct part *part)
{
	return !part->last || (walk->inside ? end(walk, 0) : pass(walk));
}

static bool follows(const struct walk *walk, const struct part *part)
{
	return !part->last || walk->follow == FOLLOW_ALWAYS ||
	       (walk->follow == FOLLOW_SLASH && part->slash);
}

/* --- into the pack, and out of it ------------------------------------------------------------ */

/* Whether a file in memory is one of the pack. */
static bool is_marked(const struct resolver *resolver, const char *link, uint32_t *ret)
{
	size_t len = strlen(resolver->mark);

	return strncmp(link, resolver->mark, len) == 0 && sscanf(link + len, "%u", ret) == 1 &&
	       *ret < dataset_entries(resolver->tree->dataset);
}

/* What of a path is below the folder of the pack, "" for that itself; NULL: it is not there. */
static const char *below(const char *top, const char *path)
{
	size_t len = strlen(top);

	return len && strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0')
		       ? path + len
		       : NULL;
}

/* Where the folder of the pack is: it may have moved. */
static void find_top(char ret[static PATH_MAX])
{
	if (!getcwd(ret, PATH_MAX))
		*ret = '\0';
}

/* Which folder of the pack a folder is: by its inode, also at another path than that which foldfs
 * knows. Where a filesystem numbers anew what nobody uses, and for what others have put there, by
 * the path that the kernel has for it, of that process. */
static struct resolved known(const struct resolver *resolver, const struct statx_file *file,
			     pid_t pid, int fd)
{
	struct resolved ret = {0};
	char top[PATH_MAX], path[PATH_MAX];
	const char *rest;
	int r;

	if (file->type != S_IFDIR || file->device != resolver->skeleton->own.device)
		return ret;
	r = skeleton_find(resolver->skeleton, file, &ret.entry);
	ret.inside = r == 0 || job_is_short(r);
	ret.error = ret.inside ? r : 0;
	if (ret.inside || job_link(pid, fd, path) < 0)
		return ret;
	find_top(top);
	rest = below(top, path);
	ret.inside = rest;
	if (rest)
		ret.error = tree_find(resolver->tree, rest, strlen(rest), &ret.entry);
	return ret;
}

static void leave(struct walk *walk, int at)
{
	scope_close(&walk->at);
	walk->at = at;
	walk->inside = false;
}

static void enter(struct walk *walk, uint32_t entry)
{
	leave(walk, -1);
	walk->inside = walk->ret.crossed = true;
	walk->entry = entry;
}

/* To a folder that is open; wherever it is. 0, or why the pack has none where this one is. */
static int go_to(struct walk *walk, int at)
{
	struct resolved there = {0};
	struct statx_file file;

	if (statx_file(at, "", &file) == 0)
		there = known(walk->resolver, &file, getpid(), at);
	leave(walk, at);
	if (there.inside)
		enter(walk, there.entry);
	return there.error;
}

/* The same, if it could be opened. */
static bool jump(struct walk *walk, int at, const struct part *part)
{
	int r;

	if (at < 0)
		return fail(walk, -errno);
	r = go_to(walk, at);
	return r ? end(walk, r) : arrive(walk, part);
}

/* --- names ----------------------------------------------------------------------------------- */

static bool take_part(struct walk *walk, struct part *ret)
{
	const char *name = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(name, "/");
	const char *next = name + len + strspn(name + len, "/");

	walk->rest = name + len;
	*ret = (struct part){name, len, *next == '\0', next > name + len};
	return len > 0;
}

static bool is_dots(const struct part *part)
{
	return part->len && part->len <= 2 && memcmp(part->name, "..", part->len) == 0;
}

/* The rest is to begin with what a link says. */
static bool follow_link(struct walk *walk, const char *target, size_t len)
{
	size_t left = strlen(walk->rest) + 1;
	int root = -1;

	if (++walk->links > LINKS_MAX)
		return walk->inside ? end(walk, -ELOOP) : pass(walk);
	if (len + left > 2 * PATH_MAX)
		return pass(walk);
	memmove(walk->room + len, walk->rest, left);
	memcpy(walk->room, target, len);
	walk->rest = walk->room;
	if (*target != '/')
		return true;
	root = open("/", FOLDER);
	if (root < 0)
		return fail(walk, -errno);
	leave(walk, root);
	return true;
}

static bool step_inside(struct walk *walk, const struct part *part)
{
	const struct tree *tree = walk->resolver->tree;
	uint32_t folder = walk->entry;
	struct dataset_entry e;
	int r;

	walk->ret.searched = true;
	walk->ret.folder = folder;
	if (is_dots(part) && part->len == 2 && folder == tree->root)
		return jump(walk, openat(walk->resolver->skeleton->folder, "..", FOLDER), part);
	if (is_dots(part)) {
		if (part->len == 2)
			walk->entry = dataset_entry(tree->dataset, folder).parent;
		return arrive(walk, part);
	}
	r = part->len > FORMAT_NAME_MAX
		    ? -ENAMETOOLONG
		    : dataset_lookup(tree->dataset, folder, part->name, part->len, &walk->entry);
	walk->ret.above = r < 0 && r != -ENOTDIR && part->last;
	if (r < 0)
		return end(walk, r);
	e = dataset_entry(tree->dataset, walk->entry);
	if (e.kind == FORMAT_SYMLINK && follows(walk, part)) {
		size_t len;
		const char *target = dataset_target(tree->dataset, walk->entry, &len);

		walk->entry = folder;
		return follow_link(walk, target, len);
	}
	if (e.kind != FORMAT_DIRECTORY &&
	    (!part->last || (part->slash && walk->follow != FOLLOW_NEVER)))
		return end(walk, -ENOTDIR);
	return arrive(walk, part);
}

static bool is_in_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static bool is_proc(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == PROC_ROOT;
}

/* At the link of an open file of the pack. */
static bool end_at_file(struct walk *walk, const struct part *part)
{
	if (follows(walk, part))
		return end(walk, part->last && !part->slash ? 0 : -ENOTDIR);
	walk->ret.by_link = true;
	walk->ret.entry = walk->entry;
	return pass(walk);
}

/* Whom /proc/self means: a process, whatever its threads have of their own. The length, or -errno.
 */
static int name_self(const struct walk *walk, const char *name, char *ret, size_t room)
{
	pid_t leader = job_leader(walk->pid);

	if (leader < 0)
		return leader;
	if (strcmp(name, "self") == 0)
		return snprintf(ret, room, "%d", leader);
	return snprintf(ret, room, "%d/task/%d", leader, walk->pid);
}

/* Some links of /proc are more than their text; and for foldfs, /proc/self is another one. */
static bool step_link(struct walk *walk, int link, const char *name, const struct part *part)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(link, "", target, sizeof(target) - 1);
	bool in_proc = is_in_proc(link), is_more = in_proc && !is_proc(walk->at);

	if (len <= 0 && !is_more)
		return pass(walk);
	target[len < 0 ? 0 : len] = '\0'; /* it may be too long for a text */
	if (is_more && is_marked(walk->resolver, target, &walk->entry))
		return end_at_file(walk, part);
	if (!follows(walk, part))
		return pass(walk);
	if (is_more)
		return jump(walk, openat(walk->at, name, FOLDER), part);
	if (in_proc && (strcmp(name, "self") == 0 || strcmp(name, "thread-self") == 0))
		len = name_self(walk, name, target, sizeof(target));
	if (len < 0)
		return fail(walk, (int)len);
	return follow_link(walk, target, (size_t)len);
}

static bool step_outside(struct walk *walk, const struct part *part)
{
	char name[NAME_MAX + 1];
	SCOPE_CLOSE int fd = -1;
	struct statx_file file;
	uint32_t entry;
	int r;

	if (part->len > NAME_MAX)
		return pass(walk);
	memcpy(name, part->name, part->len);
	name[part->len] = '\0';
	r = statx_file(walk->at, name, &file);
	if (r < 0)
		return fail(walk, r);
	if (file.type != S_IFLNK && file.type != S_IFDIR)
		return pass(walk);
	walk->ret.searched = false;
	r = skeleton_find(walk->resolver->skeleton, &file, &entry);
	if (r == 0) {
		enter(walk, entry);
		return arrive(walk, part);
	}
	if (job_is_short(r))
		return end(walk, r);
	if (part->last && file.type == S_IFDIR)
		return pass(walk);
	fd = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail(walk, -errno);
	if (file.type == S_IFLNK)
		return step_link(walk, fd, name, part);
	leave(walk, steal_fd(&fd));
	return arrive(walk, part);
}

static struct resolved go(struct walk *walk)
{
	struct part part;
	bool more;

	do {
		if (!take_part(walk, &part))
			more = arrive(walk, &part);
		else
			more = walk->inside ? step_inside(walk, &part) : step_outside(walk, &part);
	} while (more);
	if (is_dots(&part))
		walk->ret.last = part.len == 2 ? RESOLVED_DOTS : RESOLVED_DOT;
	scope_close(&walk->at);
	return walk->ret;
}

/* --- paths ----------------------------------------------------------------------------------- */

/* Whether a path of the kernel's ends with this one, in which no link is then, or only such ones as
 * lead foldfs to where they lead the job: not /proc/self. */
static bool ends_with(const char *path, const char *end)
{
	size_t len = strlen(path), end_len = strlen(end);

	return end_len <= len && strcmp(path + len - end_len, end) == 0 &&
	       (*end == '/' || end_len == len || path[len - end_len - 1] == '/');
}

/* Goes to the last name at once, where no link is before it, as in most paths. Returns as go_to().
 */
static int go_straight(struct walk *walk)
{
	const char *slash = strrchr(walk->rest, '/');
	char above[PATH_MAX], found[PATH_MAX];
	SCOPE_CLOSE int fd = -1;

	if (!slash || slash == walk->rest || !slash[1])
		return 0;
	snprintf(above, sizeof(above), "%.*s", (int)(slash - walk->rest), walk->rest);
	fd = openat(walk->at, above, FOLDER);
	if (fd < 0 || job_link(getpid(), fd, found) < 0 || !ends_with(found, above))
		return 0;
	walk->rest = slash;
	return go_to(walk, steal_fd(&fd));
}

static struct resolved failed(int error)
{
	return (struct resolved){.inside = true, .error = error};
}

static struct resolved resolve_absolute(struct walk *walk)
{
	char top[PATH_MAX];
	const char *rest;
	int r;

	find_top(top);
	rest = below(top, walk->rest);
	if (rest) {
		enter(walk, walk->resolver->tree->root);
		walk->rest = rest;
		return go(walk);
	}
	r = go_straight(walk);
	if (r)
		return failed(r);
	if (!walk->inside && walk->at < 0)
		leave(walk, open("/", FOLDER));
	return go(walk);
}

/* As statx_file(), of a folder that a job has open, or works in. */
static int statx_job(pid_t pid, int fd, struct statx_file *ret)
{
	char name[JOB_NAME], path[JOB_NAME + 2];

	job_name(pid, fd, name);
	snprintf(path, sizeof(path), "%s/.", name);
	return statx_file(AT_FDCWD, path, ret);
}

/* Which of the pack's that is. */
static int look_at(const struct resolver *resolver, pid_t pid, int fd, struct resolved *ret)
{
	struct statx_file file;
	int r = statx_job(pid, fd, &file);

	if (r == 0)
		*ret = known(resolver, &file, pid, fd);
	return r;
}

static struct resolved resolve_relative(struct walk *walk, int fd)
{
	char base[JOB_NAME];
	struct resolved from = {0};
	int at, r = look_at(walk->resolver, walk->pid, fd, &from);

	if (from.error)
		return from;
	if (from.inside) {
		enter(walk, from.entry);
		return go(walk);
	}
	job_name(walk->pid, fd, base);
	at = open(base, FOLDER);
	r = at < 0 ? -errno : 0;
	if (job_is_short(r))
		return failed(r);
	if (r) {
		from = resolve_open(walk->resolver, walk->pid, fd);
		from.error = r == -ENOENT ? -EBADF : r;
		return from;
	}
	leave(walk, at);
	r = go_straight(walk);
	return r ? failed(r) : go(walk);
}

struct resolved resolve(const struct resolver *resolver, pid_t pid, int fd, const char *path,
			enum follow follow)
{
	char room[2 * PATH_MAX];
	size_t len = strlen(path);
	struct walk walk = {.resolver = resolver,
			    .pid = pid,
			    .follow = follow,
			    .at = -1,
			    .rest = path,
			    .room = room,
			    .ret.slash = len && path[len - 1] == '/'};

	return *path == '/' ? resolve_absolute(&walk) : resolve_relative(&walk, fd);
}

struct resolved resolve_open(const struct resolver *resolver, pid_t pid, int fd)
{
	char link[PATH_MAX];
	struct resolved ret = {.inside = true};
	int r;

	if (job_link(pid, fd, link) == 0 && is_marked(resolver, link, &ret.entry))
		return ret;
	r = look_at(resolver, pid, fd, &ret);
	return r == 0 ? ret : job_is_short(r) ? failed(r) : elsewhere;
}

bool resolve_is_above(const struct resolver *resolver, pid_t pid, int fd)
{
	struct statx_file wanted, here = {0}, below;
	SCOPE_CLOSE int at = open(".", FOLDER);

	if (statx_job(pid, fd, &wanted) < 0)
		return false;
	do {
		SCOPE_CLOSE int before = at;

		below = here;
		at = openat(before, "..", FOLDER);
		if (statx_file(at, "", &here) < 0)
			return true;
		if (statx_is_same(&here, &wanted))
			return true;
	} while (!statx_is_same(&here, &below));
	return resolve_open(resolver, pid, fd).inside;
}
