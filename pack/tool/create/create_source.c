/* What SOURCE is, and how it is opened; what archives have and a pack cannot hold: found while they
 * are opened, told once the pack is begun. */
#include "base/io.h"
#include "base/log.h"
#include "base/mountinfo.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/environment.h"
#include "pack/foreign/unsupported.h"
#include "pack/tool/create/create_messages.h"
#include "pack/tool/create/decompressed.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LMDB_MAGIC    0xbeefc0deu /* of its first page, in the byte order of the machine */
#define LMDB_MAGIC_AT 16
#define META_MOST     (16 * MIB) /* of the text that describes an array of zarr */

struct flaw {
	enum foreign_flaw kind;
	size_t path, what; /* in the texts; each ended by NUL */
};

struct create_flaws {
	struct foreign_watch watch; /* its context is the struct create */
	pthread_mutex_t lock;	    /* archives of a set are looked through side by side */
	struct buf all, texts;	    /* by the lock */
	bool stream;		    /* the source is a pipe */
	bool alone;		    /* or one file on a server */
	int broken;		    /* it has broken off: what came before is packed */
	struct err why_broken;
};

/* --- flaws ------------------------------------------------------------------------------------ */

static int note_flaw(void *context, const char *path, const char *what, enum foreign_flaw kind)
{
	struct create_flaws *flaws = ((struct create *)context)->flaws;
	SCOPE_LOCK(&flaws->lock);
	struct flaw flaw = {.kind = kind, .path = flaws->texts.len};
	int r;

	buf_add(&flaws->texts, path, strlen(path) + 1);
	flaw.what = flaws->texts.len;
	r = buf_add(&flaws->texts, what, strlen(what) + 1);
	return r < 0 ? r : buf_add(&flaws->all, &flaw, sizeof(flaw));
}

static int look_for_signal(void *context)
{
	(void)context;
	return interrupt_pending() ? -EINTR : 0;
}

/* A file that is cut off is refused at once. What came from a pipe before it broke is packed, so
 * that a run that resumes need not do it again. */
static int note_broken(void *context, int error, const struct err *err)
{
	struct create_flaws *flaws = ((struct create *)context)->flaws;

	if (!flaws->stream)
		return error;
	if (!flaws->broken)
		flaws->why_broken = *err;
	flaws->broken = error;
	return 0;
}

/* A tar in a tar, or a member of a zip. */
static int unpack_part(void *context, const struct foreign_compressed *from, struct reader **spool,
		       uint64_t *ret_start, uint64_t *ret_len, struct err *err)
{
	const struct create *create = context;

	return decompressed_part(create->pack, from, spool, ret_start, ret_len, err);
}

/* What is not wanted need not be read at all, and nobody knows how much room a set needs. */
static int copy_far(void *context, struct reader *from, const char *name, struct reader **ret,
		    struct err *err)
{
	const struct create *create = context;

	return create->flaws->alone && filter_wants_all(&create->options.filter)
		       ? decompressed_copy(create->pack, from, name, ret, err)
		       : 1;
}

int create_tell_flaws(struct create *create)
{
	const char *texts = create->flaws->texts.data;
	const struct buf *all = &create->flaws->all;
	const struct flaw *flaws = BUF_ITEMS(all, const struct flaw);
	int r = 0;

	for (size_t i = 0; r == 0 && i < BUF_COUNT(all, *flaws); i++) {
		const char *path = texts + flaws[i].path, *what = texts + flaws[i].what;
		enum foreign_flaw kind = flaws[i].kind;

		while (strncmp(path, "./", 2) == 0)
			path += 2;
		if (kind == FOREIGN_UNWANTED)
			create_log(create, log_notice, path, "%s; left out", what);
		else if (!filter_wants_file(&create->options.filter, path))
			continue;
		else if (kind == FOREIGN_SPECIAL)
			create_special(create, path, what);
		else
			r = create_unreadable(create, path, what);
	}
	return r;
}

int create_tell_broken(struct create *create)
{
	const struct create_flaws *flaws = create->flaws;
	int error = flaws ? flaws->broken : 0;

	if (error == 0)
		return 0;
	progress_clear(&create->progress);
	if (error == -ESTALE)
		builder_spoil(create->builder);
	return log_fail(error == -EBADMSG ? CREATE_DAMAGED : CREATE_REPORTED, "%s: %s%s",
			create->source, err_text(&flaws->why_broken, error),
			error == -ESTALE ? "; pack it again when nothing writes to it" : "");
}

bool create_is_archive(const struct create *create)
{
	return create->flaws && create->flaws->watch.archive;
}

void create_flaws_free(struct create *create)
{
	if (!create->flaws)
		return;
	buf_release(&create->flaws->all);
	buf_release(&create->flaws->texts);
	pthread_mutex_destroy(&create->flaws->lock);
	free(create->flaws);
}

/* --- a folder --------------------------------------------------------------------------------- */

/* A folder with an LMDB, by the name that an environment gives it, is that LMDB alone only if it
 * has nothing else that would be packed. */
static bool is_environment(const struct create *create)
{
	const char *source = create->source;
	SCOPE_CLOSE int fd = openat(create->root, "data.mdb", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct environment beside = {0};
	char count[SIZE_TEXT];
	uint32_t magic = 0;

	if (fd < 0 || pread(fd, &magic, sizeof(magic), LMDB_MAGIC_AT) != sizeof(magic) ||
	    magic != LMDB_MAGIC || environment_look(create->root, &beside) < 0)
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

/* Whether a file of that name is there, and has all the keys, up to NULL. */
static bool has_keys(int folder, const char *name, const char *const *keys, bool *ret_there)
{
	SCOPE_CLOSE int fd = openat(folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	SCOPE_FREE char *text = fd < 0 ? NULL : malloc(META_MOST + 1);
	ssize_t n = text ? io_read(fd, text, META_MOST) : -1;

	*ret_there = n >= 0;
	if (n < 0)
		return false;
	text[n] = '\0';
	for (; *keys; keys++) {
		const char *at = text;
		bool found = false;

		while (!found && (at = strstr(at, *keys))) {
			at += strlen(*keys);
			found = at[strspn(at, " \t\r\n")] == ':';
		}
		if (!found)
			return false;
	}
	return true;
}

/* Who wrote a folder that is more than its files. */
enum writer { WRITER_NONE, WRITER_LMDB, WRITER_ZARR, WRITER_HUGGING_FACE };

/* By what stands in the files that describe it. */
static enum writer writer_of(const struct create *create)
{
	static const struct {
		const char *name, *keys[4];
		enum writer writer;
		bool own; /* nothing else has a file of that name */
	} files[] = {
		/* save_to_disk of Hugging Face datasets writes Arrow, beside a description. */
		{"state.json", {"\"_data_files\""}, WRITER_HUGGING_FACE, false},
		{"dataset_dict.json", {"\"splits\""}, WRITER_HUGGING_FACE, false},
		{".zgroup", {"\"zarr_format\""}, WRITER_ZARR, true},
		{".zarray", {"\"zarr_format\""}, WRITER_ZARR, true},
		{"zarr.json", {"\"zarr_format\""}, WRITER_ZARR, true},
		/* N5 */
		{"attributes.json", {"\"n5\""}, WRITER_ZARR, false},
		{"attributes.json",
		 {"\"dimensions\"", "\"blockSize\"", "\"dataType\""},
		 WRITER_ZARR,
		 false},
	};
	bool there;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (files[i].writer == WRITER_HUGGING_FACE && create->options.anyway)
			continue;
		if (has_keys(create->root, files[i].name, files[i].keys, &there))
			return files[i].writer;
		if (there && files[i].own)
			log_notice("%s: %s: no metadata of zarr; packed as the folder that it is",
				   create->source, files[i].name);
	}
	return WRITER_NONE;
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

/* --- what is opened --------------------------------------------------------------------------- */

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
	int r;

	if (foreign_settings_check(foreign, fields, name, err) < 0)
		return log_fail(EXIT_USAGE, "%s: %s", create->source, err->text);
	r = decompressed_script(d, name, create->source, err);
	if (r < 0)
		return cmd_status(create->source, r, err);
	/* They are the script's, and say nothing of a tar. */
	foreign->layout = FOREIGN_TREE;
	foreign->image_key = foreign->label_key = foreign->name_key = NULL;
	interrupt_catch();
	r = foreign_open(create->source, foreign, &create->dataset, err);
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
	int r = foreign_open(create->source, &create->options.common.foreign, &create->dataset,
			     &err);

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

/* A folder is packed as it is, unless zarr, N5 or save_to_disk wrote images into it. */
static int open_source_folder(struct create *create, struct decompressed *d)
{
	const struct foreign_settings *foreign = &create->options.common.foreign;
	enum writer writer = is_environment(create) ? WRITER_LMDB : writer_of(create);
	struct err err = {0};
	int r;

	if (writer == WRITER_LMDB || writer == WRITER_HUGGING_FACE)
		return cmd_open(create->source, &create->options.common, &create->dataset);
	if (writer == WRITER_ZARR) {
		r = open_by_script(create, d, "zarr", &err);
		if (r != -ENOMSG)
			return r;
		log_notice("%s: %s; packed as the folder that it is", create->source, err.text);
	} else if (foreign_asked(foreign) || foreign->empty_classes) {
		log_notice(
			"%s: a folder, which stays as it is: --classes and the other "
			"options for files of other formats change nothing",
			create->source);
	}
	return EXIT_DONE;
}

static int open_stream(struct create *create, struct decompressed *d)
{
	create->flaws->stream = true;
	d->stream = create->root;
	interrupt_catch();
	return open_container(create, d);
}

/* Several packs, tars or files of other formats, or what is no file here, as a URL. */
static int open_names(struct create *create)
{
	const struct cmd_common *common = &create->options.common;
	SCOPE(names_release) struct names names = {0};
	int r = cmd_names(create->sources, create->source_count, common, &names);

	create->root = open("/dev/null", O_RDONLY | O_CLOEXEC);
	create->flaws->alone = names.count == 1;
	return r == EXIT_DONE ? cmd_open_names(&names, common, &create->dataset) : r;
}

/* `d` gets the pipe, if it is one. */
static int open_any_source(struct create *create, struct decompressed *d)
{
	const char *source = create->source;
	bool standard = strcmp(source, "-") == 0;
	struct err err = {0};
	char head[UNSUPPORTED_HEAD];
	const char *script;
	struct stat st;
	ssize_t n;

	if (create->source_count > 1)
		return open_names(create);
	create->root = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
				: open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (create->root < 0 && errno == ENOENT)
		return open_names(create);
	if (create->root < 0 || fstat(create->root, &st) < 0)
		return log_fail(EXIT_FAILED, "%s: %s", source, strerror(errno));
	if (standard)
		return open_stream(create, d);
	if (S_ISDIR(st.st_mode)) {
		advise_of_mount(create, st.st_dev);
		return open_source_folder(create, d);
	}
	if (S_ISREG(st.st_mode)) {
		bool named = create->options.common.foreign.schema;

		n = named ? 0 : pread(create->root, head, sizeof(head), 0);
		script = n > 0 ? script_of(head, (size_t)n) : NULL;
		return script ? open_by_script(create, d, script, &err) : open_container(create, d);
	}
	if (!io_is_given_pipe(create->root, source))
		return log_fail(EXIT_FAILED,
				"%s: neither a folder nor a regular file; 'foldpack create - PACK "
				"<%s' reads a tar from it",
				source, source);
	return fcntl(create->root, F_SETFL, 0) < 0 ? (int)exit_status_of(-errno)
						   : open_stream(create, d);
}

int create_open_source(struct create *create)
{
	struct foreign_settings *foreign = &create->options.common.foreign;
	struct create_flaws *flaws = calloc(1, sizeof(*flaws));
	struct decompressed decompressed;
	int r;

	if (!flaws)
		return log_fail(EXIT_FAILED, "%s: %s", create->source, strerror(ENOMEM));
	flaws->watch.left_out = note_flaw;
	flaws->watch.tick = look_for_signal;
	flaws->watch.broken = note_broken;
	flaws->watch.unpack = unpack_part;
	flaws->watch.copy = copy_far;
	flaws->watch.context = create;
	pthread_mutex_init(&flaws->lock, NULL);
	create->flaws = flaws;
	foreign->strip = (unsigned)create->options.strip;
	foreign->watch = &flaws->watch;
	foreign->relist = true;
	decompressed_begin(&decompressed, create->pack, foreign);
	r = open_any_source(create, &decompressed);
	decompressed_end(&decompressed);
	foreign->watch = NULL;
	if (decompressed.error < 0) {
		flaws->broken = decompressed.error;
		flaws->why_broken = decompressed.err;
	}
	return r;
}
