#include "fs/options.h"
#include "base/scope.h"
#include "base/size.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const char *const on_off[] = {"on", "off", NULL};
static const char *const caches[] = {"auto", "kernel", "pool", NULL};
static const char *const policies[] = {"auto", "lru", "pin", NULL};
static const char *const missing[] = {"refuse", "ok", NULL};
static const char *const ios[] = {"auto", "direct", "buffered", NULL};

static const struct opt options[] = {
	OPT_GROUP("what is mounted"),
	OPT_STRING(0, "subdir", "PATH", struct settings, subdir, "mount this folder of the pack"),
	OPT_LIST(0, "select", "GLOB|@FILE", struct settings, select,
		 "mount only what matches, folders with all that is in them; @FILE has one GLOB a "
		 "line (repeatable)"),
	OPT_CHOICE(0, "missing", missing, struct settings, missing,
		   "whether packs of a set, such as x-00003-of-00015, may be missing"),
	OPT_CHOICE(0, "verify", on_off, struct settings, verify,
		   "check all that is read from the pack against its checksums"),
	OPT_GROUP("memory"),
	OPT_SIZE(0, "pool", "SIZE", struct settings, pool,
		 "memory for data (default: a quarter of what is available to this job, and no "
		 "more than the pack can use)"),
	OPT_CHOICE(0, "cache", caches, struct settings, cache,
		   "what keeps the data that was read: the kernel's page cache, the pool, or both"),
	OPT_CHOICE(0, "policy", policies, struct settings, policy, "what leaves the pool first"),
	OPT_GROUP("reading, and reading ahead"),
	OPT_CHOICE(0, "io", ios, struct settings, io, "how the pack is read"),
	OPT_SIZE(0, "readahead", "SIZE", struct settings, readahead,
		 "how far to read ahead of a sequential reader (default: 8M; 0: nothing is read "
		 "ahead)"),
	OPT_FLAG(0, "preload", struct settings, preload,
		 "read the pack into the pool at once, as far as it fits"),
	OPT_CHOICE(0, "oracle", on_off, struct settings, oracle,
		   "find the shuffled order of a training job, and read ahead in it"),
	OPT_NUMBER(0, "oracle-cpu", "N", struct settings, oracle_cpu,
		   "processors that the search for it may use while they are idle (default: 1)"),
	OPT_STRING(0, "order", "FILE", struct settings, order,
		   "read ahead in the order of the paths in FILE, one a line"),
	OPT_NUMBER(0, "io-timeout", "SEC", struct settings, io_timeout,
		   "give up reads that storage has not answered for SEC seconds (default: never)"),
	OPT_STRING(0, "cache-dir", "DIR[,SIZE]", struct settings, cache_dir,
		   "keep what is read from a far or slow pack on a local disk, in at most SIZE"),
	OPT_FLAG(0, "prefetch", struct settings, prefetch,
		 "fetch the whole pack into the disk cache from the start"),
	OPT_GROUP("the mount"),
	{.kind = OPT_KIND_FLAG,
	 .letter = 'f',
	 .letter_only = true,
	 .offset = offsetof(struct settings, foreground),
	 .help = "stay in the foreground"},
	{.kind = OPT_KIND_FLAG,
	 .letter = 'd',
	 .letter_only = true,
	 .name = "debug",
	 .offset = offsetof(struct settings, debug),
	 .help = "show every request of the kernel; implies -f"},
	OPT_FLAG('q', "quiet", struct settings, quiet, "do not say what was mounted, and how"),
	OPT_FLAG('v', "verbose", struct settings, verbose, "say more"),
	OPT_STRING(0, "log", "FILE", struct settings, log, "append messages to FILE, too"),
	OPT_FLAG(0, "no-fuse", struct settings, no_fuse,
		 "do without a mount and /dev/fuse: only COMMAND, and what it starts, see the "
		 "files"),
	OPT_FLAG(0, "mkdir", struct settings, mkdir,
		 "create MOUNTPOINT where it is missing, and remove it again at unmount"),
	OPT_NUMBER(0, "uid", "N", struct settings, uid,
		   "owner of all files (default: the user who mounts)"),
	OPT_NUMBER(0, "gid", "N", struct settings, gid, "group of all files"),
	OPT_OCTAL(0, "umask", "MASK", struct settings, umask,
		  "modes are 666 for files and 777 for folders without these bits (default: "
		  "the modes in the pack, readable for the owner)"),
	OPT_FLAG(0, "allow_other", struct settings, allow_other, "let other users in"),
	OPT_FLAG(0, "noexec", struct settings, noexec, "nothing in the mount can be executed"),
	OPT_CHOICE(0, "sandbox", on_off, struct settings, sandbox,
		   "give up what the daemon does not need once the mount is made"),
	OPT_NUMBER(0, "timeout", "SEC", struct settings, timeout,
		   "unmount when unused for SEC seconds (root only)"),
	OPT_NUMBER(0, "grace", "SEC", struct settings, grace,
		   "after SIGTERM, serve on for up to SEC seconds while in use (default: 60)"),
	OPT_NUMBER(0, "threads", "N", struct settings, threads,
		   "threads that answer the kernel (default: one for each processor, 2 to 8)"),
	REMOTE_OPTIONS(struct settings, remote),
	FOREIGN_OPTIONS(struct settings, foreign),
	OPT_END,
};

#define NONE(word)                                    \
	{                                             \
		.kind = OPT_KIND_NONE, .name = (word) \
	}
#define REFUSED(word, why)                                              \
	{                                                               \
		.kind = OPT_KIND_REFUSED, .name = (word), .help = (why) \
	}
#define FOR_MOUNTS	   "is for mounts that are there: mount(8) does that without foldfs"
#define CLEAR(word, field) OPT_ROW(OPT_KIND_CLEAR, 0, word, NULL, struct settings, field, NULL)
#define FLAG(word, field)  OPT_FLAG(0, word, struct settings, field, NULL)
#define TEXT(word, field)  OPT_STRING(0, word, "TEXT", struct settings, field, NULL)

/* What fstab(5) has for all filesystems, and mount(8) passes on. Of what changes nothing, the time
 * of access is not kept, nothing is written, and the rest is for those who read fstab. */
static const struct opt mount_words[] = {
	FLAG("rw", rw),
	CLEAR("ro", rw),
	FLAG("suid", suid),
	CLEAR("nosuid", suid),
	FLAG("dev", dev),
	CLEAR("nodev", dev),
	CLEAR("exec", noexec),
	REFUSED("remount", "a mount keeps its options; unmount it, and mount it with others"),
	REFUSED("bind", FOR_MOUNTS),
	REFUSED("rbind", FOR_MOUNTS),
	REFUSED("move", FOR_MOUNTS),
	REFUSED("shared", FOR_MOUNTS),
	REFUSED("rshared", FOR_MOUNTS),
	REFUSED("slave", FOR_MOUNTS),
	REFUSED("rslave", FOR_MOUNTS),
	REFUSED("private", FOR_MOUNTS),
	REFUSED("rprivate", FOR_MOUNTS),
	REFUSED("unbindable", FOR_MOUNTS),
	REFUSED("runbindable", FOR_MOUNTS),
	REFUSED("nosymfollow",
		"libfuse cannot do that; as root, 'mount -o "
		"remount,bind,ro,nosuid,nodev,nosymfollow MOUNTPOINT' can, once it is mounted"),
	REFUSED("allow_root",
		"who lets root in lets all others in, too, by allow_other; or read "
		"as the user who mounts"),
	REFUSED("fsname",
		"a mount has the name of its pack, which tells it from others; leave "
		"this out"),
	REFUSED("subtype", "is foldfs, always; leave this out"),
	REFUSED("max_read", "foldfs and the kernel agree on that; leave this out"),
	REFUSED("auto_unmount",
		"a mount whose daemon was killed stays until fusermount3 -u, or the "
		"next one there; leave this out"),
	NONE("symfollow"),
	TEXT("context", context),
	TEXT("fscontext", fscontext),
	TEXT("defcontext", defcontext),
	TEXT("rootcontext", rootcontext),
	NONE("seclabel"),
	NONE("default_permissions"),
	NONE("defaults"),
	NONE("atime"),
	NONE("noatime"),
	NONE("diratime"),
	NONE("nodiratime"),
	NONE("relatime"),
	NONE("norelatime"),
	NONE("strictatime"),
	NONE("nostrictatime"),
	NONE("lazytime"),
	NONE("nolazytime"),
	NONE("sync"),
	NONE("async"),
	NONE("dirsync"),
	NONE("iversion"),
	NONE("noiversion"),
	NONE("mand"),
	NONE("nomand"),
	NONE("silent"),
	NONE("loud"),
	NONE("auto"),
	NONE("noauto"),
	NONE("user"),
	NONE("nouser"),
	NONE("users"),
	NONE("nousers"),
	NONE("owner"),
	NONE("noowner"),
	NONE("group"),
	NONE("nogroup"),
	NONE("nofail"),
	NONE("_netdev"),
	NONE("loop"),
	NONE("comment"),
	NONE("helper"),
	NONE("uhelper"),
	OPT_END,
};

static const struct settings defaults = {.readahead = 8 * MIB,
					 .grace = 60,
					 .oracle_cpu = 1,
					 .uid = UINT64_MAX,
					 .gid = UINT64_MAX,
					 .umask = UINT64_MAX,
					 .remote = REMOTE_DEFAULTS};

static const struct opt_command command = {
	.name = "foldfs",
	.synopsis =
		"[options] PACK.. MOUNTPOINT\n[options] PACK.. MOUNTPOINT -- COMMAND [ARG..]\n"
		"--no-fuse [options] PACK.. DIR -- COMMAND [ARG..]",
	.summary = "Mounts a pack as the folder that it was made from; several, as one folder.",
	.examples =
		"foldfs train.lmdb mnt\n"
		"foldfs --mkdir s3://bucket/train.lmdb mnt -- python train.py",
	.table = options,
	.mount_style = true,
	.words = mount_words,
	.stop_at_dashes = true,
	.help_word = true,
};

const struct opt_command *settings_command(void)
{
	return &command;
}

struct listener {
	void (*each)(void *context, const char *name, const char *value);
	void *context;
};

/* An endpoint may have a password in it. */
static void pass_given(void *context, const char *name, const char *value)
{
	static const char *const others[] = {"debug", "quiet",	"verbose", "log",
					     "mkdir", "subdir", "endpoint"};
	const struct listener *listener = context;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(name, others[i]) == 0)
			return;
	listener->each(listener->context, name, value);
}

void settings_given(const struct settings *settings,
		    void (*each)(void *context, const char *name, const char *value), void *context)
{
	struct listener listener = {each, context};

	opt_given(options, settings, &defaults, pass_given, &listener);
}

bool settings_are_handed_over(const struct settings *settings)
{
	return strncmp(settings->mountpoint, "/dev/fd/", 8) == 0;
}

/* Whether it is a folder that is not an LMDB environment, which has its file inside. */
static bool is_folder(const char *path)
{
	SCOPE_FREE char *data = NULL;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	return asprintf(&data, "%s/data.mdb", path) < 0 || stat(data, &st) < 0;
}

/* Not of what stands for several packs, or is not of this machine. */
static bool is_missing(const char *pack)
{
	struct stat st;

	return !strpbrk(pack, "*?[{@:") && stat(pack, &st) < 0 && errno == ENOENT;
}

/* Recognises arguments in the wrong order. */
static int check_order(const struct settings *settings, struct err *err)
{
	struct stat st;

	for (size_t i = 0; i < settings->pack_count; i++) {
		const char *pack = settings->packs[i];

		if (i > 0 && settings->mkdir && is_missing(pack))
			return err_set(err, -EINVAL,
				       "'%s' is missing: MOUNTPOINT is the last of the arguments, "
				       "and a COMMAND goes after '--'",
				       pack);
		if (!is_folder(pack))
			continue;
		if (settings->pack_count > 1)
			return err_set(err, -EINVAL,
				       "'%s' is a folder: MOUNTPOINT is the last of the arguments, "
				       "and a COMMAND goes after '--'",
				       pack);
		if (stat(settings->mountpoint, &st) == 0 && S_ISREG(st.st_mode))
			return err_set(err, -EINVAL,
				       "'%s' is a folder and '%s' is a file: PACK comes first",
				       pack, settings->mountpoint);
	}
	if (settings->pack_count > 1 && stat(settings->mountpoint, &st) == 0 && S_ISREG(st.st_mode))
		return err_set(err, -EINVAL,
			       "'%s' is a file: MOUNTPOINT is the last of the arguments, and a "
			       "COMMAND goes after '--'",
			       settings->mountpoint);
	return 0;
}

/* What is of a mount only. */
static int check_no_fuse(const struct settings *settings, struct err *err)
{
	const struct {
		bool given;
		const char *name;
	} others[] = {{settings->allow_other, "allow_other"},
		      {settings->debug, "debug"},
		      {settings->timeout, "timeout"},
		      {settings->cache == SETTING_CACHE_KERNEL, "cache=kernel"},
		      {settings->context || settings->fscontext || settings->defcontext ||
			       settings->rootcontext,
		       "context"}};

	if (!settings->no_fuse)
		return 0;
	if (!settings->command)
		return err_set(
			err, -EINVAL,
			"'--no-fuse' needs a COMMAND after '--': nobody else sees the files");
	if (settings_are_handed_over(settings))
		return err_set(err, -EINVAL, "'--no-fuse' needs a folder, not a mount");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].given)
			return err_set(err, -EINVAL,
				       "'--no-fuse' and '-o %s' do not go together: that is for "
				       "mounts",
				       others[i].name);
	return 0;
}

static int check_settings(const struct settings *settings, struct err *err)
{
	if (settings->command && !settings->command[0])
		return err_set(err, -EINVAL, "no COMMAND after '--'");
	if (settings->pool && settings->pool < 8 * MIB)
		return err_set(err, -EINVAL, "'--pool': at least 8M");
	if (settings->threads > 64)
		return err_set(err, -EINVAL, "'--threads': at most 64");
	if (settings->oracle_cpu == 0)
		return err_set(err, -EINVAL,
			       "'--oracle-cpu': at least 1; '--oracle=off' turns the oracle off");
	if (settings->oracle_cpu > 1024)
		return err_set(err, -EINVAL, "'--oracle-cpu': at most 1024");
	if (settings->order && settings->readahead == 0)
		return err_set(err, -EINVAL, "'--order' and '--readahead=0' do not go together");
	if (settings->cache_dir && settings->verify)
		return err_set(
			err, -EINVAL,
			"'--cache-dir' and '--verify=off' do not go together: only checksums "
			"say whether what is on the disk is right");
	if (settings->prefetch && !settings->cache_dir)
		return err_set(err, -EINVAL,
			       "'--prefetch' needs '--cache-dir'; '--preload' reads "
			       "into memory");
	if (settings->umask != UINT64_MAX && settings->umask > 0777)
		return err_set(err, -EINVAL, "'--umask': at most 777");
	if ((settings->uid != UINT64_MAX && settings->uid >= UINT32_MAX) ||
	    (settings->gid != UINT64_MAX && settings->gid >= UINT32_MAX))
		return err_set(err, -EINVAL, "'--uid' and '--gid': at most %u", UINT32_MAX - 1);
	if (settings->timeout > INT32_MAX || settings->grace > INT32_MAX ||
	    settings->io_timeout > INT32_MAX)
		return err_set(err, -EINVAL,
			       "'--timeout', '--grace' and '--io-timeout': at most %d", INT32_MAX);
	return check_no_fuse(settings, err);
}

int settings_parse(struct settings *settings, int argc, char **argv, enum opt_want *ret_want,
		   struct err *err)
{
	struct opt_result result;
	int r;

	*settings = defaults;
	r = opt_parse(&command, settings, argc, argv, &result, err);
	if (r < 0)
		return r;
	*ret_want = result.want;
	if (result.want != OPT_RUN)
		return 0;
	if (result.nargs < 2)
		return err_set(err, -EINVAL, "PACK and MOUNTPOINT are needed");
	settings->packs = result.args;
	settings->pack_count = (size_t)result.nargs - 1;
	settings->mountpoint = result.args[result.nargs - 1];
	settings->command = result.command;
	r = check_order(settings, err);
	return r < 0 ? r : check_settings(settings, err);
}
