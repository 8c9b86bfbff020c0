#include "fs/nofuse/resolve.h"
#include "base/scope.h"
#include "fs/nofuse/job.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define LINKS_MAX 40 /* as the kernel has it */

/* One path on its way to an entry. */
struct walk {
	const struct resolver *resolver;
	pid_t pid;
	unsigned links; /* that were followed */
};

static const struct resolved elsewhere = {0};

void resolver_init(struct resolver *resolver, const struct skeleton *skeleton)
{
	uint64_t random = 0;

	(void)!getrandom(&random, sizeof(random), 0);
	*resolver = (struct resolver){.skeleton = skeleton,
				      .tree = skeleton->tree,
				      .folder = skeleton->path,
				      .folder_len = strlen(skeleton->path)};
	snprintf(resolver->mark, sizeof(resolver->mark), "foldfs-%016llx-",
		 (unsigned long long)random);
}

void resolver_name(const struct resolver *resolver, uint32_t entry, char ret[static 64])
{
	snprintf(ret, 64, "%s%u", resolver->mark, entry);
}

/* --- what the kernel says -------------------------------------------------------------------- */

/* The path below the folder, "" for the folder itself; NULL: it is not there. */
static const char *below(const struct resolver *resolver, const char *path)
{
	if (strncmp(path, resolver->folder, resolver->folder_len) != 0)
		return NULL;
	path += resolver->folder_len;
	return *path == '/' || *path == '\0' ? path : NULL;
}

static bool is_marked(const struct resolver *resolver, const char *link, uint32_t *ret)
{
	static const char memory[] = "/memfd:";
	size_t len = strlen(resolver->mark);

	if (strncmp(link, memory, strlen(memory)) != 0)
		return false;
	link += strlen(memory);
	return strncmp(link, resolver->mark, len) == 0 && sscanf(link + len, "%u", ret) == 1 &&
	       *ret < dataset_entries(resolver->tree->dataset);
}

/* An absolute path without links, of something that is there. */
static struct resolved known(const struct resolver *resolver, const char *path)
{
	const char *rest = below(resolver, path);
	struct resolved ret = {.inside = rest != NULL};

	if (rest)
		ret.error = tree_find(resolver->tree, rest, strlen(rest), &ret.entry);
	return ret;
}

struct resolved resolve_open(const struct resolver *resolver, pid_t pid, int fd)
{
	struct resolved ret = {.inside = true};
	char link[PATH_MAX];

	if (job_link(pid, fd, link) < 0)
		return elsewhere;
	return is_marked(resolver, link, &ret.entry) ? ret : known(resolver, link);
}

/* Opens a folder for a look at where it is. -errno. */
static int open_folder(int from, const char *path, char ret_path[static PATH_MAX])
{
	int fd = openat(from, path, O_PATH | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = job_link(getpid(), fd, ret_path);
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

/* The process itself is another one for foldfs, whose /proc/self is its own. */
static int open_own_folder(const struct walk *walk, int from, const char *path,
			   char ret_path[static PATH_MAX])
{
	char own[32], other[PATH_MAX];
	int len = snprintf(own, sizeof(own), "/proc/%d", getpid());
	int fd = open_folder(from, path, ret_path);

	if (fd < 0 || strncmp(ret_path, own, (size_t)len) != 0 ||
	    (ret_path[len] != '/' && ret_path[len] != '\0'))
		return fd;
	close(fd);
	if (snprintf(other, sizeof(other), "/proc/%d%s", walk->pid, ret_path + len) >= PATH_MAX)
		return -ENAMETOOLONG;
	return open_folder(AT_FDCWD, other, ret_path);
}

/* --- paths ----------------------------------------------------------------------------------- */

struct split {
	char above[PATH_MAX]; /* a path, never empty */
	const char *name;     /* NULL: `above` is all of it */
	size_t name_len;
	size_t begin; /* where the last part begins, and ends */
	size_t end;
	struct resolved ret; /* `last` and `slash` */
};

static bool is_dots(const char *name, size_t len)
{
	return len <= 2 && memcmp(name, "..", len) == 0;
}

static void take_above(struct split *split, const char *path, size_t len)
{
	while (len > 1 && path[len - 1] == '/')
		len--;
	snprintf(split->above, sizeof(split->above), "%.*s", len ? (int)len : 1, len ? path : ".");
}

/* "a/b/c/" is c in a/b; what ends with "." or ".." is a folder that the kernel finds. */
static void split_path(const char *path, struct split *ret)
{
	size_t len = strlen(path), begin;

	*ret = (struct split){.ret = {.slash = len > 0 && path[len - 1] == '/'}};
	while (len > 0 && path[len - 1] == '/')
		len--;
	for (begin = len; begin > 0 && path[begin - 1] != '/';)
		begin--;
	ret->begin = begin;
	ret->end = len;
	if (is_dots(path + begin, len - begin)) {
		ret->ret.last = len - begin == 2 ? RESOLVED_DOTS : RESOLVED_DOT;
		take_above(ret, path, len ? len : strlen(path));
		return;
	}
	take_above(ret, path, begin);
	ret->name = path + begin;
	ret->name_len = len - begin;
}

static struct resolved walk_path(struct walk *walk, int from, const char *path, enum follow follow);

/* What a link of the folder `from` leads to. */
static struct resolved follow_link(struct walk *walk, int from, const char *target, size_t len,
				   const struct split *split)
{
	char path[PATH_MAX];
	struct resolved ret = {.inside = true, .error = -ELOOP};

	if (++walk->links > LINKS_MAX)
		return ret;
	if (snprintf(path, sizeof(path), "%.*s%s", (int)len, target, split->ret.slash ? "/" : "") >=
	    PATH_MAX)
		return elsewhere;
	ret = walk_path(walk, from, path, FOLLOW_ALWAYS);
	ret.last = split->ret.last;
	return ret;
}

static bool follows(const struct resolved *resolved, enum follow follow)
{
	return follow == FOLLOW_ALWAYS || (follow == FOLLOW_SLASH && resolved->slash);
}

/* A name in a folder of the pack. */
static struct resolved in_pack(struct walk *walk, int folder, const char *path,
			       const struct split *split, enum follow follow)
{
	const struct tree *tree = walk->resolver->tree;
	struct resolved ret = split->ret, above = known(walk->resolver, path);
	struct dataset_entry e;

	ret.inside = true;
	ret.entry = above.entry;
	ret.error = above.error;
	if (ret.error || !split->name)
		return ret;
	ret.error = split->name_len > FORMAT_NAME_MAX
			    ? -ENAMETOOLONG
			    : dataset_lookup(tree->dataset, above.entry, split->name,
					     split->name_len, &ret.entry);
	ret.above = ret.error != 0;
	if (ret.error)
		return ret;
	e = dataset_entry(tree->dataset, ret.entry);
	if (e.kind == FORMAT_SYMLINK && follows(&ret, follow)) {
		size_t len;
		const char *target = dataset_target(tree->dataset, ret.entry, &len);

		return follow_link(walk, folder, target, len, split);
	}
	if (ret.slash && follow != FOLLOW_NEVER && e.kind != FORMAT_DIRECTORY)
		ret.error = -ENOTDIR;
	return ret;
}

/* Whether a name in another folder is that of the folder of the pack. */
static bool is_root(const struct resolver *resolver, const char *path, const struct split *split)
{
	const char *own = resolver->folder;
	size_t len = strcmp(path, "/") == 0 ? 0 : strlen(path);

	return split->name && len + 1 + split->name_len == resolver->folder_len &&
	       memcmp(own, path, len) == 0 && own[len] == '/' &&
	       memcmp(own + len + 1, split->name, split->name_len) == 0;
}

/* A name in another folder. The links of /proc are more than their text, which counts only where
 * it says that they lead to the pack. */
static struct resolved in_other(struct walk *walk, int folder, const char *path,
				const struct split *split, enum follow follow)
{
	bool magic = strncmp(path, "/proc/", 6) == 0;
	char name[NAME_MAX + 1], target[PATH_MAX];
	struct resolved ret = split->ret;
	ssize_t len;

	if (is_root(walk->resolver, path, split)) {
		ret.inside = true;
		ret.entry = walk->resolver->tree->root;
		return ret;
	}
	if (!split->name || split->name_len > NAME_MAX || !(follows(&ret, follow) || magic))
		return elsewhere;
	memcpy(name, split->name, split->name_len);
	name[split->name_len] = '\0';
	len = readlinkat(folder, name, target, sizeof(target) - 1);
	if (len <= 0)
		return elsewhere;
	target[len] = '\0';
	if (!magic)
		return follow_link(walk, folder, target, (size_t)len, split);
	if (is_marked(walk->resolver, target, &ret.entry)) {
		ret.inside = follows(&ret, follow);
		ret.by_link = !ret.inside;
		ret.error = ret.slash ? -ENOTDIR : 0;
		return ret;
	}
	return follows(&ret, follow) && below(walk->resolver, target)
		       ? known(walk->resolver, target)
		       : elsewhere;
}

static bool is_short_of(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

static struct resolved unknown(int error)
{
	return is_short_of(error) ? (struct resolved){.inside = true, .error = error} : elsewhere;
}

/* The kernel may not find the folder above: it is a file of the pack, or missing, in it or not. */
static struct resolved walk_path(struct walk *walk, int from, const char *path, enum follow follow)
{
	char text[PATH_MAX], found[PATH_MAX];
	struct split split;
	struct resolved ret;
	SCOPE_CLOSE int folder = -1;
	bool missing = false;

	snprintf(text, sizeof(text), "%s", path);
	split_path(text, &split);
	while ((folder = open_own_folder(walk, from, split.above, found)) == -ENOENT ||
	       folder == -ENOTDIR) {
		if (split.begin == 0)
			return elsewhere;
		text[split.begin == 1 ? 1 : split.begin - 1] = '\0';
		split_path(text, &split);
		missing = true;
		follow = FOLLOW_ALWAYS;
	}
	if (folder < 0)
		return unknown(folder);
	ret = below(walk->resolver, found) ? in_pack(walk, folder, found, &split, follow)
					   : in_other(walk, folder, found, &split, follow);
	if (!missing)
		return ret;
	ret.above = false;
	if (ret.inside && ret.error == 0)
		ret.error = dataset_entry(walk->resolver->tree->dataset, ret.entry).kind ==
					    FORMAT_DIRECTORY
				    ? -ENOENT
				    : -ENOTDIR;
	return ret;
}

/* An absolute path that leads through folders of the pack only, without "..": most paths. */
static bool is_plain(const struct resolver *resolver, const char *path, enum follow follow,
		     struct resolved *ret)
{
	const char *rest = below(resolver, path);
	size_t len = rest ? strlen(rest) : 0;

	if (!rest || strstr(rest, "/..") || (len > 0 && rest[len - 1] == '/') ||
	    (len > 1 && strcmp(rest + len - 2, "/.") == 0))
		return false;
	*ret = (struct resolved){.inside = true};
	if (tree_find(resolver->tree, rest, len, &ret->entry) < 0)
		return false;
	return follow != FOLLOW_ALWAYS ||
	       dataset_entry(resolver->tree->dataset, ret->entry).kind != FORMAT_SYMLINK;
}

/* /proc/self is found here, where a link of it would lead astray. */
static const char *name_process(pid_t pid, const char *path, char room[static PATH_MAX])
{
	static const struct {
		const char *name, *rest;
	} names[] = {{"/proc/self", ""}, {"/proc/thread-self", ""}, {"/dev/fd", "/fd"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t len = strlen(names[i].name);

		if (strncmp(path, names[i].name, len) == 0 && path[len] == '/' &&
		    snprintf(room, PATH_MAX, "/proc/%d%s%s", pid, names[i].rest, path + len) <
			    PATH_MAX)
			return room;
	}
	return path;
}

/* What is there, and is neither a link nor a folder of the skeleton: most paths that are not of the
 * pack. */
static bool is_other(const struct resolver *resolver, const char *path)
{
	struct stat st;

	if (fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		return false;
	return S_ISDIR(st.st_mode) ? !skeleton_may_have(resolver->skeleton, &st)
				   : !S_ISLNK(st.st_mode);
}

static struct resolved resolve_absolute(const struct resolver *resolver, pid_t pid,
					const char *path, enum follow follow)
{
	struct walk walk = {.resolver = resolver, .pid = pid};
	char room[PATH_MAX];
	struct resolved ret;

	if (is_plain(resolver, path, follow, &ret))
		return ret;
	path = name_process(pid, path, room);
	return is_other(resolver, path) ? elsewhere : walk_path(&walk, AT_FDCWD, path, follow);
}

struct resolved resolve(const struct resolver *resolver, pid_t pid, int fd, const char *path,
			enum follow follow)
{
	struct walk walk = {.resolver = resolver, .pid = pid};
	char base[JOB_NAME], whole[PATH_MAX];
	SCOPE_CLOSE int from = -1;

	if (*path == '/')
		return resolve_absolute(resolver, pid, path, follow);
	job_name(pid, fd, base);
	if (snprintf(whole, sizeof(whole), "%s/%s", base, path) < PATH_MAX &&
	    is_other(resolver, whole))
		return elsewhere;
	from = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return from < 0 ? unknown(-errno) : walk_path(&walk, from, path, follow);
}
