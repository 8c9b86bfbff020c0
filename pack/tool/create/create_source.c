#include "pack/tool/create/create_source.h"

#include "base/io.h"
#include "base/log.h"
#include "base/mountinfo.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/environment.h"
#include "pack/foreign/known.h"
#include "pack/tool/create/create_flaws.h"
#include "pack/tool/create/decompressed.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LMDB_MAGIC    0xbeefc0deu /* of its first page, in the byte order of the machine */
#define LMDB_MAGIC_AT 16
#define META_MOST     (16 * MIB) /* of the text that describes an array of zarr */

/* Whether the folder has an LMDB by the name that an environment gives it. */
static bool has_lmdb(int folder)
{
	SCOPE_CLOSE int fd = openat(folder, "data.mdb", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	uint32_t magic = 0;

	return fd >= 0 && pread(fd, &magic, sizeof(magic), LMDB_MAGIC_AT) == sizeof(magic) &&
	       magic == LMDB_MAGIC;
}

/* A folder with an LMDB is that LMDB alone only if it has nothing else that would be packed. */
static bool is_environment(const struct create *create)
{
	const char *source = create->source;
	struct environment beside = {0};
	char count[SIZE_TEXT];

	if (!has_lmdb(create->root) || environment_look(create->root, &beside) < 0)
		return false;
	if (beside.images)
		log_notice(
			"%s: has a data.mdb, and is packed as the folder that it is; "
			"'%s/data.mdb' names the LMDB alone",
			source, source);
	else if (beside.others)
		log_notice(
			"%s: an LMDB environment, packed as what is in its data.mdb; %s beside "
			"it left out: '%s'%s",
			source, count_noun(beside.others, "file", count), beside.other,
			beside.others > 1 ? " and others" : "");
	return !beside.images;
}

/* The tar that a script makes of the source takes its place. Returns -ENOMSG where the source is
 * not what the script reads, which err has a sentence about; otherwise an exit status. */
static int open_by_script(struct create *create, struct decompressed *d, const char *name,
			  struct err *err)
{
	struct foreign_settings *foreign = &create->options.common.foreign;
	const struct foreign_settings asked = *foreign;
	unsigned fields = strcmp(name, "table") == 0 ? FOREIGN_TAKES_KEYS
			  : strcmp(name, "torch") == 0
				  ? FOREIGN_TAKES_IMAGE_KEY | FOREIGN_TAKES_LABEL_KEY
				  : 0;
	SCOPE(script_release) struct script script = SCRIPT_INIT;
	int r;

	if (foreign_settings_check(foreign, fields, name, err) < 0)
		return log_fail(EXIT_USAGE, "%s: %s", create->source, err->text);
	r = script_begin(&script, name, create->source, foreign, err);
	if (r < 0)
		return cmd_status(create->source, r, err);
	foreign->layout = FOREIGN_TREE;
	foreign->image_key = foreign->label_key = foreign->name_key = NULL;
	d->script = &script;
	d->stream = script.tar;
	interrupt_catch();
	r = cmd_open_pack(create->source, &create->options.common, &create->dataset, err);
	foreign->layout = asked.layout;
	foreign->image_key = asked.image_key;
	foreign->label_key = asked.label_key;
	foreign->name_key = asked.name_key;
	/* One from the terminal comes to the script as well, which then seems to crash. */
	if (r < 0 && interrupt_pending())
		return EXIT_FAILED;
	return r == -ENOMSG ? r : cmd_status(create->source, r, err);
}

static int open_container(struct create *create, struct decompressed *d)
{
	struct err err = {0};
	int r = cmd_open_pack(create->source, &create->options.common, &create->dataset, &err);

	if (r == -EINTR && interrupt_pending())
		return EXIT_FAILED;
	if (r == -ENOPKG && !create->flaws->stream) {
		log_notice("%s: %s; so pyarrow reads it", create->source, err.text);
		return open_by_script(create, d, "table", &err);
	}
	if (r == 0 && dataset_lacks_base(create->dataset)) {
		dataset_free(steal_ptr(&create->dataset));
		return cmd_open(create->source, &create->options.common, &create->dataset);
	}
	if (r != -ENOMSG || strcmp(err.text, FOREIGN_UNKNOWN) != 0)
		return cmd_status(create->source, r, &err);
	return log_fail(EXIT_FAILED,
			"%s: not a tar, plain or compressed by gzip, bzip2, xz, zstd or lz4; "
			"unpack it and pack the folder, or pipe it decompressed into 'foldpack "
			"create - PACK'",
			create->source);
}

static int open_source_file(struct create *create, struct decompressed *d)
{
	bool named = create->options.common.foreign.schema;
	char head[KNOWN_HEAD];
	ssize_t n = named ? 0 : pread(create->root, head, sizeof(head), 0);
	const char *script = n > 0 ? script_of(head, (size_t)n) : NULL;
	struct err err = {0};

	return script ? open_by_script(create, d, script, &err) : open_container(create, d);
}

static bool has_key(const char *json, const char *key)
{
	bool found = false;

	while (!found && (json = strstr(json, key))) {
		json += strlen(key);
		found = json[strspn(json, " \t\r\n")] == ':';
	}
	return found;
}

/* Whether a file of that name is there, and has all the keys, up to NULL. */
static bool has_keys(int folder, const char *name, const char *const *keys, bool *ret_there)
{
	SCOPE_CLOSE int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	SCOPE_FREE char *text = fd < 0 ? NULL : malloc(META_MOST + 1);
	ssize_t n = text ? io_read(fd, text, META_MOST) : -1;

	*ret_there = n >= 0;
	if (n >= 0)
		text[n] = '\0';
	while (n >= 0 && *keys && has_key(text, *keys))
		keys++;
	return n >= 0 && !*keys;
}

/* Whether zarr or N5 wrote it, by what stands in the files that describe their arrays. */
static bool is_zarr(const struct create *create)
{
	static const struct {
		const char *name, *keys[4];
		bool own; /* nothing else has a file of that name */
	} files[] = {
		{".zgroup", {"\"zarr_format\""}, true},
		{".zarray", {"\"zarr_format\""}, true},
		{"zarr.json", {"\"zarr_format\""}, true},
		{"attributes.json", {"\"n5\""}, false},
		{"attributes.json", {"\"dimensions\"", "\"blockSize\"", "\"dataType\""}, false},
	};
	bool found = false, there;

	for (size_t i = 0; !found && i < sizeof(files) / sizeof(*files); i++) {
		found = has_keys(create->root, files[i].name, files[i].keys, &there);
		if (there && !found && files[i].own)
			log_notice("%s: %s: no metadata of zarr; packed as the folder that it is",
				   create->source, files[i].name);
	}
	return found;
}

/* What save_to_disk of Hugging Face datasets wrote: Arrow, beside a description. */
static bool is_saved(const struct create *create)
{
	static const char *const dataset[] = {"\"_data_files\"", NULL}, *const dict[] = {
										"\"splits\"", NULL};
	bool there;

	return has_keys(create->root, "state.json", dataset, &there) ||
	       has_keys(create->root, "dataset_dict.json", dict, &there);
}

/* Through a mount, its packs are read in the order of the tree. */
static void advise_of_mount(const struct create *create, dev_t device)
{
	SCOPE_FILE FILE *table = fopen("/proc/self/mountinfo", "re");
	SCOPE_FREE char *line = NULL;
	struct mountinfo mount;
	size_t room = 0;

	while (table && mountinfo_next(table, &line, &room, &mount) == 0)
		if (mount.device == device && mountinfo_is_foldfs(&mount)) {
			log_notice(
				"%s: in a mount of %s; packing that itself reads it from front "
				"to back, and keeps its order and labels",
				create->source, mount.source);
			return;
		}
}

/* A folder is packed as it is, unless zarr, N5 or save_to_disk wrote images into it. */
static int open_source_folder(struct create *create, struct decompressed *d)
{
	const struct foreign_settings *foreign = &create->options.common.foreign;
	struct err err = {0};
	int r;

	if (is_environment(create) || (is_saved(create) && !create->options.anyway))
		return cmd_open(create->source, &create->options.common, &create->dataset);
	if (!is_zarr(create)) {
		if (foreign_asked(foreign) || foreign->empty_classes)
			log_notice(
				"%s: a folder, which stays as it is: --classes and the other "
				"options for files of other formats change nothing",
				create->source);
		return EXIT_DONE;
	}
	r = open_by_script(create, d, "zarr", &err);
	if (r != -ENOMSG)
		return r;
	log_notice("%s: %s; packed as the folder that it is", create->source, err.text);
	return EXIT_DONE;
}

static int open_stream(struct create *create, struct decompressed *d)
{
	create->flaws->stream = true;
	d->stream = create->root;
	interrupt_catch();
	return open_container(create, d);
}

/* Neither a folder nor a regular file. */
static int open_special(struct create *create, struct decompressed *d)
{
	if (!io_is_given_pipe(create->root, create->source))
		return log_fail(EXIT_FAILED,
				"%s: neither a folder nor a regular file; 'foldpack create - PACK "
				"<%s' reads a tar from it",
				create->source, create->source);
	return fcntl(create->root, F_SETFL, 0) < 0 ? (int)exit_status_of(-errno)
						   : open_stream(create, d);
}

/* Several packs, tars or files of other formats, or a URL. */
static int open_named(struct create *create)
{
	const struct cmd_common *common = &create->options.common;
	SCOPE(names_release) struct names names = {0};
	int r = cmd_names(&create->source, 1, common, &names);

	create->root = open("/dev/null", O_RDONLY | O_CLOEXEC);
	create->flaws->alone = names.count == 1;
	return r == EXIT_DONE ? cmd_open_names(&names, common, &create->dataset) : r;
}

/* `d` gets the pipe, if it is one. */
static int open_any_source(struct create *create, struct decompressed *d)
{
	const char *source = create->source;
	bool standard = strcmp(source, "-") == 0;
	struct stat st;

	if (create->source_count > 1) {
		create->root = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return cmd_open_all(create->sources, create->source_count, &create->options.common,
				    &create->dataset);
	}
	create->root = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
				: open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (create->root < 0 && errno == ENOENT)
		return open_named(create);
	if (create->root < 0 || fstat(create->root, &st) < 0)
		return log_fail(EXIT_FAILED, "%s: %s", source, strerror(errno));
	if (standard)
		return open_stream(create, d);
	if (S_ISDIR(st.st_mode)) {
		advise_of_mount(create, st.st_dev);
		return open_source_folder(create, d);
	}
	return S_ISREG(st.st_mode) ? open_source_file(create, d) : open_special(create, d);
}

int create_open_source(struct create *create)
{
	struct foreign_settings *foreign = &create->options.common.foreign;
	struct decompressed decompressed;
	int r;

	if (create_flaws_new(create) < 0)
		return log_fail(EXIT_FAILED, "%s: %s", create->source, strerror(ENOMEM));
	foreign->strip = (unsigned)create->options.strip;
	foreign->watch = &create->flaws->watch;
	decompressed_begin(&decompressed, create->pack, foreign);
	r = open_any_source(create, &decompressed);
	decompressed_end(&decompressed);
	foreign->watch = NULL;
	if (decompressed.error < 0) {
		create->flaws->broken = decompressed.error;
		create->flaws->why_broken = decompressed.err;
	}
	return r;
}
