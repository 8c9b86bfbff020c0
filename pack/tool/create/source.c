#include "pack/tool/create/source.h"

#include "base/io.h"
#include "base/log.h"
#include "base/mountinfo.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/environment.h"
#include "pack/foreign/unsupported.h"
#include "pack/tool/create/decompressed.h"
#include "pack/tool/create/target.h"
#include "pack/tool/work/interrupt.h"
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LMDB_MAGIC    0xbeefc0deu /* of its first page, in the byte order of the machine */
#define LMDB_MAGIC_AT 16
#define META_MOST     (16 * MIB) /* of the text that describes an array of zarr */

struct create_flaws {
	struct foreign_watch watch; /* its context is the struct create_source */
	pthread_mutex_t lock;	    /* archives of a set are looked through side by side */
	struct buf all;		    /* a kind and two texts, each ended by NUL; by the lock */
	bool alone;		    /* the source is one file on a server */
	int broken;		    /* it has broken off: what came before is packed */
	struct err why_broken;
};

/* --- flaws ------------------------------------------------------------------------------------ */

static int note_flaw(void *context, const char *path, const char *what, enum foreign_flaw kind)
{
	struct create_flaws *flaws = ((struct create_source *)context)->flaws;

	SCOPE_LOCK(&flaws->lock);
	return buf_addf(&flaws->all, "%c%s%c%s%c", kind, path, '\0', what, '\0');
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
	const struct create_source *source = context;
	struct create_flaws *flaws = source->flaws;

	if (!source->stream)
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
	const struct create_source *source = context;

	return decompressed_part(source->pack, from, spool, ret_start, ret_len, err);
}

/* What is not wanted need not be read at all, and nobody knows how much room a set needs. */
static int copy_far(void *context, struct reader *from, const char *name, struct reader **ret,
		    struct err *err)
{
	const struct create_source *source = context;

	return source->flaws->alone && filter_wants_all(&source->options->filter)
		       ? decompressed_copy(source->pack, from, name, ret, err)
		       : 1;
}

int create_source_tell_flaws(const struct create_source *source, struct report *report)
{
	const struct buf *all = &source->flaws->all;
	const char *path = all->data, *what;
	int r = 0;

	for (; r == 0 && path < all->data + all->len; path = what + strlen(what) + 1) {
		enum foreign_flaw kind = (enum foreign_flaw) * path++;

		what = path + strlen(path) + 1;
		while (strncmp(path, "./", 2) == 0)
			path += 2;
		if (kind == FOREIGN_UNWANTED)
			report_log(report, log_notice, path, "%s; left out", what);
		else if (!filter_wants_file(&source->options->filter, path))
			continue;
		else if (kind == FOREIGN_SPECIAL)
			report_special(report, path, what);
		else
			r = report_unreadable(report, path, what);
	}
	return r;
}

int create_source_tell_broken(const struct create_source *source, struct report *report,
			      struct builder *builder)
{
	const struct create_flaws *flaws = source->flaws;
	int error = flaws ? flaws->broken : 0;

	if (error == 0)
		return 0;
	progress_clear(&report->progress);
	if (error == -ESTALE)
		builder_spoil(builder);
	return log_fail(error == -EBADMSG ? CREATE_DAMAGED : CREATE_REPORTED, "%s: %s%s",
			source->names[0], err_text(&flaws->why_broken, error),
			error == -ESTALE ? "; pack it again when nothing writes to it" : "");
}

bool create_source_is_archive(const struct create_source *source)
{
	return source->flaws && source->flaws->watch.archive;
}

void create_source_release(struct create_source *source)
{
	dataset_free(source->dataset);
	scope_close(&source->root);
	if (!source->flaws)
		return;
	buf_release(&source->flaws->all);
	pthread_mutex_destroy(&source->flaws->lock);
	free(source->flaws);
}

/* --- a folder --------------------------------------------------------------------------------- */

/* A folder with an LMDB, by the name that an environment gives it, is that LMDB alone only if it
 * has nothing else that would be packed. */
static bool is_environment(const struct create_source *source)
{
	const char *name = source->names[0];
	SCOPE_CLOSE int fd = openat(source->root, "data.mdb", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct environment beside = {0};
	char count[SIZE_TEXT];
	uint32_t magic = 0;

	if (fd < 0 || pread(fd, &magic, sizeof(magic), LMDB_MAGIC_AT) != sizeof(magic) ||
	    magic != LMDB_MAGIC || environment_look(source->root, &beside) < 0)
		return false;
	if (beside.images)
		log_notice(
			"%s: has a data.mdb, and is packed as the folder that it is; "
			"'%s/data.mdb' names the LMDB alone",
			name, name);
	else if (beside.others)
		log_notice(
			"%s: an LMDB environment, packed as what is in its data.mdb; %s beside "
			"it left out: '%s'%s",
			name, count_noun(beside.others, "file", count), beside.other,
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
static enum writer writer_of(const struct create_source *source)
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
		if (files[i].writer == WRITER_HUGGING_FACE && source->options->anyway)
			continue;
		if (has_keys(source->root, files[i].name, files[i].keys, &there))
			return files[i].writer;
		if (there && files[i].own)
			log_notice("%s: %s: no metadata of zarr; packed as the folder that it is",
				   source->names[0], files[i].name);
	}
	return WRITER_NONE;
}

/* Through a mount, its packs are read in the order of the tree. */
static void advise_of_mount(const struct create_source *source, dev_t device)
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
				source->names[0], mount.source);
			return;
		}
}

/* --- what is opened --------------------------------------------------------------------------- */

/* The tar that a script makes of the source takes its place. Returns -ENOMSG where the source is
 * not what the script reads, which err has a sentence about; otherwise an exit status. */
static int open_by_script(struct create_source *source, struct decompressed *d, const char *name,
			  struct err *err)
{
	struct foreign_settings plain = source->options->common.foreign;
	unsigned fields = strcmp(name, "table") == 0 ? FOREIGN_TAKES_KEYS
			  : strcmp(name, "torch") == 0
				  ? FOREIGN_TAKES_IMAGE_KEY | FOREIGN_TAKES_LABEL_KEY
				  : 0;
	int r;

	if (foreign_settings_check(&plain, fields, name, err) < 0)
		return log_fail(EXIT_USAGE, "%s: %s", source->names[0], err->text);
	interrupt_catch(); /* a signal ends the script, too */
	r = decompressed_script(d, name, source->names[0], err);
	if (r < 0)
		return cmd_status(source->names[0], r, err);
	/* They are the script's, and say nothing of a tar. */
	plain.layout = FOREIGN_TREE;
	plain.image_key = plain.label_key = plain.name_key = NULL;
	r = foreign_open(source->names[0], &plain, &source->dataset, err);
	/* One that comes to the script as well seems to crash it. */
	if (r < 0 && interrupt_pending())
		return EXIT_FAILED;
	return r == -ENOMSG ? r : cmd_status(source->names[0], r, err);
}

static int open_container(struct create_source *source, struct decompressed *d)
{
	struct err err = {0};
	int r = foreign_open(source->names[0], &source->options->common.foreign, &source->dataset,
			     &err);

	if (r == -EINTR && interrupt_pending())
		return EXIT_FAILED;
	if (r == -ENOPKG && !source->stream) {
		log_notice("%s: %s; so pyarrow reads it", source->names[0], err.text);
		return open_by_script(source, d, "table", &err);
	}
	if (r == 0 && dataset_lacks_base(source->dataset)) {
		dataset_free(steal_ptr(&source->dataset));
		return cmd_open(source->names[0], &source->options->common, &source->dataset);
	}
	if (r != -ENOMSG || strcmp(err.text, FOREIGN_UNKNOWN) != 0)
		return cmd_status(source->names[0], r, &err);
	return log_fail(EXIT_FAILED,
			"%s: not a tar, plain or compressed by gzip, bzip2, xz, zstd or lz4; "
			"unpack it and pack the folder, or pipe it decompressed into 'foldpack "
			"create - PACK'",
			source->names[0]);
}

/* A folder is packed as it is, unless zarr, N5 or save_to_disk wrote images into it. */
static int open_source_folder(struct create_source *source, struct decompressed *d)
{
	const struct foreign_settings *foreign = &source->options->common.foreign;
	enum writer writer = is_environment(source) ? WRITER_LMDB : writer_of(source);
	struct err err = {0};
	int r;

	if (writer == WRITER_LMDB || writer == WRITER_HUGGING_FACE)
		return cmd_open(source->names[0], &source->options->common, &source->dataset);
	if (writer == WRITER_ZARR) {
		r = open_by_script(source, d, "zarr", &err);
		if (r != -ENOMSG)
			return r;
		log_notice("%s: %s; packed as the folder that it is", source->names[0], err.text);
	} else if (foreign_asked(foreign) || foreign->empty_classes) {
		log_notice(
			"%s: a folder, which stays as it is: --classes and the other "
			"options for files of other formats change nothing",
			source->names[0]);
	}
	return EXIT_DONE;
}

/* Several packs, tars or files of other formats, or what is no file here, as a URL. */
static int open_names(struct create_source *source)
{
	const struct cmd_common *common = &source->options->common;
	SCOPE(names_release) struct names names = {0};
	int r = cmd_names(source->names, source->count, common, &names);

	source->flaws->alone = names.count == 1;
	return r == EXIT_DONE ? cmd_open_names(&names, common, &source->dataset) : r;
}

/* `d` gets the pipe, if it is one. */
static int open_any_source(struct create_source *source, struct decompressed *d)
{
	bool named = source->options->common.foreign.schema;
	struct err err = {0};
	char head[UNSUPPORTED_HEAD];
	const char *script;
	struct stat st;
	ssize_t n;

	/* All of it is read before the pack is begun, and cannot be read again. */
	if (source->stream) {
		d->stream = source->root;
		interrupt_catch();
		return open_container(source, d);
	}
	if (fstat(source->root, &st) < 0)
		return log_fail(EXIT_FAILED, "%s: %s", source->names[0], strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		advise_of_mount(source, st.st_dev);
		return open_source_folder(source, d);
	}
	if (!S_ISREG(st.st_mode))
		return open_names(source);
	n = named ? 0 : pread(source->root, head, sizeof(head), 0);
	script = n > 0 ? script_of(head, (size_t)n) : NULL;
	return script ? open_by_script(source, d, script, &err) : open_container(source, d);
}

int create_source_find(struct create_source *source)
{
	const char *name = source->names[0];
	bool standard = source->count == 1 && strcmp(name, "-") == 0;
	struct stat st;

	source->root = standard		    ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
		       : source->count == 1 ? open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
					    : -1;
	if (source->count > 1 || (source->root < 0 && errno == ENOENT && !standard)) {
		source->root = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return EXIT_DONE;
	}
	if (source->root < 0 || fstat(source->root, &st) < 0)
		return log_fail(EXIT_FAILED, "%s: %s", name, strerror(errno));
	source->stream = standard || io_is_given_pipe(source->root, name);
	if (!source->stream && !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return log_fail(EXIT_FAILED,
				"%s: neither a folder nor a regular file; 'foldpack create - PACK "
				"<%s' reads a tar from it",
				name, name);
	return source->stream && !standard && fcntl(source->root, F_SETFL, 0) < 0
		       ? (int)exit_status_of(-errno)
		       : EXIT_DONE;
}

int create_source_open(struct create_source *source)
{
	struct foreign_settings *foreign = &source->options->common.foreign;
	struct create_flaws *flaws = calloc(1, sizeof(*flaws));
	struct decompressed decompressed;
	int r;

	if (!flaws)
		return log_fail(EXIT_FAILED, "%s: %s", source->names[0], strerror(ENOMEM));
	flaws->watch.left_out = note_flaw;
	flaws->watch.tick = look_for_signal;
	flaws->watch.broken = note_broken;
	flaws->watch.unpack = unpack_part;
	flaws->watch.copy = copy_far;
	flaws->watch.context = source;
	pthread_mutex_init(&flaws->lock, NULL);
	source->flaws = flaws;
	foreign->strip = (unsigned)source->options->strip;
	foreign->watch = &flaws->watch;
	foreign->relist = true;
	decompressed_begin(&decompressed, source->pack, foreign);
	r = open_any_source(source, &decompressed);
	decompressed_end(&decompressed);
	foreign->watch = NULL;
	if (decompressed.error < 0) {
		flaws->broken = decompressed.error;
		flaws->why_broken = decompressed.err;
	}
	return r;
}
