#include "fs/options.h"
#include "base/name.h"
#include "base/scope.h"
#include "base/size.h"
#include <errno.h>
#include <libgen.h>
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
	OPT_LIST(
		0, "select", "GLOB|@FILE", struct settings, select,
		"mount only what matches, folders with all that is in them; @FILE has one GLOB per "
		"line (repeatable)"),
	OPT_CHOICE(0, "missing", missing, struct settings, missing,
		   "whether packs of a set, such as x-00003-of-00015, may be missing"),
	OPT_CHOICE(0, "verify", on_off, struct settings, verify,
		   "compare all that is read from the pack with its checksums"),
	OPT_GROUP("memory"),
	OPT_SIZE(0, "pool", "SIZE", struct settings, pool,
		 "memory for data (default: a quarter of what is available to this job, and no "
		 "more than the pack can use)"),
	OPT_CHOICE(0, "cache", caches, struct settings, cache,
		   "what keeps the data that was read: the kernel's page cache, the pool, or both"),
	OPT_CHOICE(0, "policy", policies, struct settings, policy,
		   "which data the pool drops first"),
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
		   "processors that the search for the order may use while they are idle (default: "
		   "1)"),
	OPT_STRING(0, "order", "FILE", struct settings, order,
		   "read ahead in the order of the paths in FILE, one per line"),
	OPT_NUMBER(0, "io-timeout", "SEC", struct settings, io_timeout,
		   "give up reads that storage has not answered for SEC seconds (default: never)"),
	OPT_STRING(0, "cache-dir", "DIR[,SIZE]", struct settings, cache_dir,
		   "keep what is read from a remote or slow pack on a local disk, in at most SIZE"),
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
	 .help = "log every request of the kernel; implies -f"},
	OPT_FLAG('q', "quiet", struct settings, quiet, "do not report what was mounted"),
	OPT_FLAG('v', "verbose", struct settings, verbose, "log more"),
	OPT_STRING(0, "log", "FILE", struct settings, log, "append messages to FILE, too"),
	OPT_FLAG(0, "no-fuse", struct settings, no_fuse,
		 "do without a mount and /dev/fuse: only COMMAND, and what it starts, see the "
		 "files"),
	OPT_FLAG(0, "mkdir", struct settings, mkdir,
		 "create MOUNTPOINT if it is missing, and remove it again at unmount"),
	OPT_NUMBER(0, "uid", "N", struct settings, uid,
		   "owner of all files (default: the user who mounts)"),
	OPT_NUMBER(0, "gid", "N", struct settings, gid, "group of all files"),
	OPT_OCTAL(0, "umask", "MASK", struct settings, umask,
		  "modes are 666 for files and 777 for folders without these bits (default: "
		  "the modes in the pack, readable for the owner)"),
	OPT_FLAG(0, "allow_other", struct settings, allow_other, "let other users use the mount"),
	OPT_FLAG(0, "noexec", struct settings, noexec, "nothing in the mount can be executed"),
	OPT_CHOICE(0, "sandbox", on_off, struct settings, sandbox,
		   "give up what the daemon does not need once the mount is made"),
	OPT_NUMBER(0, "timeout", "SEC", struct settings, timeout,
		   "unmount when unused for SEC seconds (root only)"),
	OPT_NUMBER(0, "grace", "SEC", struct settings, grace,
		   "after SIGTERM, serve on for up to SEC seconds while in use (default: 60)"),
	OPT_NUMBER(0, "threads", "N", struct settings, threads,
		   "threads that answer the kernel (default: one per processor, 2 to 8)"),
	REMOTE_OPTIONS(struct settings, remote),
	FOREIGN_OPTIONS(struct settings, foreign),
	OPT_END,
};

#define NONE(names)                                    \
	{                                              \
		.kind = OPT_KIND_NONE, .name = (names) \
	}
#define REFUSED(names, why)                                              \
	{                                                                \
		.kind = OPT_KIND_REFUSED, .name = (names), .help = (why) \
	}
#define CLEAR(word, field) OPT_ROW(OPT_KIND_CLEAR, 0, word, NULL, struct settings, field, NULL)
#define FLAG(word, field)  OPT_FLAG(0, word, struct settings, field, NULL)
#define TEXT(word, field)  OPT_STRING(0, word, "TEXT", struct settings, field, NULL)

/* What fstab(5) has for all filesystems, and mount(8) passes on. */
static const struct opt mount_words[] = {
	FLAG("rw", rw),
	CLEAR("ro", rw),
	FLAG("suid", suid),
	CLEAR("nosuid", suid),
	FLAG("dev", dev),
	CLEAR("nodev", dev),
	CLEAR("exec", noexec),
	REFUSED("remount", "a mount keeps its options; unmount it, and mount it with others"),
	REFUSED("bind|rbind|move|shared|rshared|slave|rslave|private|rprivate|unbindable|"
		"runbindable",
		"changes an existing mount: mount(8) does that without foldfs"),
	REFUSED("nosymfollow",
		"libfuse cannot do that; as root, 'mount -o "
		"remount,bind,ro,nosuid,nodev,nosymfollow MOUNTPOINT' can, once it is mounted"),
	REFUSED("allow_root",
		"use allow_other, which lets in root and all others; or read as the "
		"user who mounts"),
	REFUSED("fsname", "foldfs names the mount after its pack; leave this out"),
	REFUSED("subtype", "is foldfs, always; leave this out"),
	REFUSED("max_read", "foldfs and the kernel agree on that; leave this out"),
	REFUSED("auto_unmount",
		"a mount whose daemon was killed stays until fusermount3 -u, or the "
		"next one there; leave this out"),
	TEXT("context", contexts[0]),
	TEXT("fscontext", contexts[1]),
	TEXT("defcontext", contexts[2]),
	TEXT("rootcontext", contexts[3]),
	/* The time of access is not kept, and nothing is written. */
	NONE("atime|noatime|diratime|nodiratime|relatime|norelatime|strictatime|nostrictatime|"
	     "lazytime|nolazytime|sync|async|dirsync|iversion|noiversion|mand|nomand"),
	NONE("symfollow|seclabel|default_permissions|defaults|silent|loud"),
	/* For those who read fstab. */
	NONE("auto|noauto|user|nouser|users|nousers|owner|noowner|group|nogroup|nofail|_netdev|"
	     "loop|comment|helper|uhelper"),
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

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Not of what stands for several packs, or is not of this machine. */
static bool is_missing(const char *pack)
{
	struct stat st;

	return !strpbrk(pack, "*?[{@:") && stat(pack, &st) < 0 && errno == ENOENT;
}

/* Whether MOUNTPOINT, which need not be there yet, is the folder or in it. */
static bool is_inside(const char *mountpoint, const char *folder)
{
	SCOPE_FREE char *outer = realpath(folder, NULL);
	SCOPE_FREE char *inner = realpath(mountpoint, NULL);
	SCOPE_FREE char *above = inner ? NULL : strdup(mountpoint);
	size_t len = outer ? strlen(outer) : 0;

	if (above)
		inner = realpath(dirname(above), NULL);
	return len && inner && strncmp(inner, outer, len) == 0 &&
	       (inner[len] == '/' || inner[len] == '\0' || len == 1);
}

/* Recognises arguments in the wrong order. */
static int check_order(const struct settings *settings, struct err *err)
{
	bool several =
		settings->pack_count > 1 && !settings->mkdir && !is_folder(settings->mountpoint);
	const char *word = NULL, *what = NULL;

	for (size_t i = 0; i < settings->pack_count && !what; i++) {
		word = name_of_word(settings->packs[i]);
		if (i > 0 && settings->mkdir && is_missing(word))
			what = "missing";
		else if (is_folder(word) && several)
			what = "a folder";
		else if (is_folder(word) && is_file(settings->mountpoint))
			return err_set(err, -EINVAL,
				       "'%s' is a folder and '%s' is a file: PACK comes first",
				       word, settings->mountpoint);
		else if (is_folder(word) && is_inside(settings->mountpoint, word))
			return err_set(err, -EINVAL,
				       "'%s' is in '%s', which is to be mounted there: MOUNTPOINT "
				       "must be outside of it",
				       settings->mountpoint, word);
	}
	if (!what && several && is_file(settings->mountpoint)) {
		word = settings->mountpoint;
		what = "a file";
	}
	return what ? err_set(err, -EINVAL,
			      "'%s' is %s: MOUNTPOINT is the last of the arguments, and a "
			      "COMMAND goes after '--'",
			      word, what)
		    : 0;
}

bool settings_have_context(const struct settings *settings)
{
	return settings->contexts[0] || settings->contexts[1] || settings->contexts[2] ||
	       settings->contexts[3];
}

#define MOUNTS_ONLY(option) "'--no-fuse' and '-o " option "' do not go together: that is for mounts"

static int check_settings(const struct settings *s, struct err *err)
{
	bool far_uid = s->uid != UINT64_MAX && s->uid >= UINT32_MAX;
	bool far_gid = s->gid != UINT64_MAX && s->gid >= UINT32_MAX;
	const struct {
		bool wrong;
		const char *why;
	} rules[] = {
		{s->command && !s->command[0], "no COMMAND after '--'"},
		{s->pool && s->pool < 8 * MIB, "'--pool': at least 8M"},
		{s->threads > SETTING_THREADS_MAX, "'--threads': at most 64"},
		{s->oracle_cpu == 0,
		 "'--oracle-cpu': at least 1; '--oracle=off' turns the oracle off"},
		{s->oracle_cpu > 1024, "'--oracle-cpu': at most 1024"},
		{s->order && s->readahead == 0, "'--order' and '--readahead=0' do not go together"},
		{s->cache_dir && s->verify,
		 "'--cache-dir' and '--verify=off' do not go together: only checksums say "
		 "whether what is on the disk is right"},
		{s->prefetch && !s->cache_dir,
		 "'--prefetch' needs '--cache-dir'; '--preload' reads into memory"},
		{s->umask != UINT64_MAX && s->umask > 0777, "'--umask': at most 777"},
		{far_uid || far_gid, "'--uid' and '--gid': at most 4294967294"},
		{s->timeout > INT32_MAX || s->grace > INT32_MAX || s->io_timeout > INT32_MAX,
		 "'--timeout', '--grace' and '--io-timeout': at most 2147483647"},
		{s->no_fuse && !s->command,
		 "'--no-fuse' needs a COMMAND after '--': nobody else sees the files"},
		{s->no_fuse && settings_are_handed_over(s),
		 "'--no-fuse' needs a folder, not a mount"},
		{s->no_fuse && s->allow_other, MOUNTS_ONLY("allow_other")},
		{s->no_fuse && s->debug, MOUNTS_ONLY("debug")},
		{s->no_fuse && s->timeout, MOUNTS_ONLY("timeout")},
		{s->no_fuse && s->cache == SETTING_CACHE_KERNEL, MOUNTS_ONLY("cache=kernel")},
		{s->no_fuse && settings_have_context(s), MOUNTS_ONLY("context")},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].wrong)
			return err_set(err, -EINVAL, "%s", rules[i].why);
	return 0;
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
