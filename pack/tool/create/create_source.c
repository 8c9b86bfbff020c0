#include "pack/tool/create/create_source.h"

#include "base/log.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/foreign/compressed.h"
#include "pack/tool/create/decompressed.h"
#include "pack/tool/image/image.h"
#include "pack/tool/import/import_hdf5.h"
#include "pack/tool/import/tar.h"
#include "pack/tool/import/zarr_stream.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define LMDB_MAGIC    0xbeefc0deu /* of its first page, in the byte order of the machine */
#define LMDB_MAGIC_AT 16
#define ZIP_LOCAL     30 /* bytes in front of the name of its first file */

/* Whether a compressed file is a tar. A damaged file counts too: reading it as a tar gives the best
 * message. */
static bool decompresses_to_tar(int fd)
{
	struct tar *tar = NULL;
	int r = tar_new(fd, TAR_FLAT, &tar, NULL);

	tar_free(tar);
	return lseek(fd, 0, SEEK_SET) < 0 || r != -EINVAL;
}

/* Whether a file is a tar that says so, or a compressed tar. */
static bool looks_like_tar(int fd, bool compressed_only)
{
	char head[262] = "";
	ssize_t n = pread(fd, head, sizeof(head), 0);
	size_t len = n > 0 ? (size_t)n : 0;

	if (compression_of(head, len))
		return decompresses_to_tar(fd);
	return !compressed_only && len == sizeof(head) && memcmp(head + 257, "ustar", 5) == 0;
}

/* Whether the folder has an LMDB by the name that an environment gives it. */
static bool has_lmdb(int folder)
{
	SCOPE_CLOSE int fd = openat(folder, "data.mdb", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	uint32_t magic = 0;

	return fd >= 0 && pread(fd, &magic, sizeof(magic), LMDB_MAGIC_AT) == sizeof(magic) &&
	       magic == LMDB_MAGIC;
}

/* What an environment has, or an exporter leaves beside it to be read with it. */
static bool is_of_environment(const char *name)
{
	static const char *const names[] = {".", "..", "data.mdb", "lock.mdb", "meta_info.txt"};
	bool found = false;

	for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++)
		found = strcmp(name, names[i]) == 0;
	return found;
}

struct beside {
	bool folder;   /* there is an image, or a folder: something that a user would pack */
	size_t others; /* files that are neither */
	char first[NAME_MAX + 1]; /* of these */
};

static void look_at_name(int folder, const struct dirent *entry, struct beside *ret)
{
	struct stat st;

	if (is_of_environment(entry->d_name) || fstatat(folder, entry->d_name, &st, 0) < 0)
		return;
	if (S_ISDIR(st.st_mode) ||
	    image_named(entry->d_name, strlen(entry->d_name)) != IMAGE_UNKNOWN)
		ret->folder = true;
	else if (ret->others++ == 0)
		snprintf(ret->first, sizeof(ret->first), "%s", entry->d_name);
}

/* Returns 0 or -errno. */
static int look_beside(int folder, struct beside *ret)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	SCOPE_DIR DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!stream)
		return -errno;
	while ((entry = readdir(stream)))
		look_at_name(folder, entry, ret);
	return 0;
}

/* A folder with an LMDB is that LMDB alone only if it has nothing else that would be packed. */
static bool is_environment(const struct create *create)
{
	const char *source = create->source;
	struct beside beside = {0};
	char count[SIZE_TEXT];

	if (!has_lmdb(create->root) || look_beside(create->root, &beside) < 0)
		return false;
	if (beside.folder)
		log_notice(
			"%s: has a data.mdb, and is packed as the folder that it is; "
			"'%s/data.mdb' names the LMDB alone",
			source, source);
	else if (beside.others)
		log_notice(
			"%s: an LMDB environment, packed as what is in its data.mdb; %s beside "
			"it left out: '%s'%s",
			source, count_noun(beside.others, "file", count), beside.first,
			beside.others > 1 ? " and others" : "");
	return !beside.folder;
}

/* Whether the options ask to read it as a mount would. */
static bool wants_dataset(const struct create *create)
{
	const struct foreign_settings *foreign = &create->options.common.foreign;

	return foreign->schema || foreign->names;
}

/* The tar that is made of the file takes its place. */
static int open_hdf5(struct create *create)
{
	struct err err = {0};
	int r = import_hdf5_new(create->source, &create->hdf5, &err);

	create->tar = true;
	return cmd_status(create->source, r, &err);
}

/* Whether it is a zip, but not one of torch.save(), which begins with its pickle. */
static bool is_zip(int fd)
{
	static const char pickle[] = "/data.pkl";
	char head[ZIP_LOCAL + 256] = "";
	ssize_t n = pread(fd, head, sizeof(head) - 1, 0);
	size_t len = (size_t)(uint8_t)head[26] | (size_t)(uint8_t)head[27] << 8;

	if (n < ZIP_LOCAL || memcmp(head, "PK\3\4", 4) != 0)
		return false;
	return len < strlen(pickle) || len > (size_t)n - ZIP_LOCAL ||
	       memcmp(head + ZIP_LOCAL + len - strlen(pickle), pickle, strlen(pickle)) != 0;
}

/* Old zips have times without a zone. A pack must be the same wherever it is made, and the same as
 * that of a zip whose files are stored. */
static int open_zip(struct create *create)
{
	setenv("TZ", "UTC0", 1);
	tzset();
	create->tar = create->zip = true;
	return EXIT_DONE;
}

/* A file of no known format is taken for a tar, and refused as one. */
static int open_file(struct create *create)
{
	struct err err = {0};
	int r = -EINVAL;

	if (import_hdf5_is(create->root))
		return open_hdf5(create);
	create->tar = looks_like_tar(create->root, false) && !wants_dataset(create);
	if (create->tar)
		return EXIT_DONE;
	r = cmd_open_pack(create->source, &create->options.common, &create->dataset, &err);
	if (r == -EOPNOTSUPP && !wants_dataset(create) && is_zip(create->root))
		return open_zip(create);
	create->tar = r == -EINVAL && !wants_dataset(create);
	if (r == 0 || create->tar)
		return EXIT_DONE;
	return cmd_status(create->source, r, &err);
}

/* Whether any of several files is a compressed tar, so that they cannot be opened as datasets. */
static bool any_is_compressed_tar(const struct names *names)
{
	bool found = false;

	for (size_t i = 0; !found && i < names->count; i++) {
		SCOPE_CLOSE int fd = open(names->all[i].name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		found = fd >= 0 && looks_like_tar(fd, true);
	}
	return found;
}

/* Checks that each of several tars can be read, as far as that is known before its turn. */
static int name_tars(struct create *create)
{
	create->several = calloc(create->tars.count + 1, sizeof(*create->several));
	if (!create->several)
		return (int)exit_status_of(-ENOMEM);
	for (size_t i = 0; i < create->tars.count; i++) {
		const struct name *tar = &create->tars.all[i];

		create->several[i] = tar->name;
		if (*tar->below)
			return log_fail(
				EXIT_FAILED,
				"%s: a compressed tar cannot go below a folder; decompress it",
				tar->name);
		if (access(tar->name, R_OK) < 0)
			return log_fail(EXIT_FAILED, "%s: %s", tar->name, strerror(errno));
	}
	return EXIT_DONE;
}

/* Opens words that name several tars, if some of these are compressed. Returns an exit status;
 * create->tar says whether it is so. */
static int open_tars(struct create *create)
{
	char *words[] = {create->source, NULL};
	int r;

	if (strstr(create->source, "://") || wants_dataset(create))
		return EXIT_DONE;
	r = cmd_names(words, &create->options.common, &create->tars);
	if (r != EXIT_DONE || create->tars.count < 2 || !any_is_compressed_tar(&create->tars))
		return r;
	create->tar = true;
	r = name_tars(create);
	if (r == EXIT_DONE)
		create->root = open(create->several[0], O_RDONLY | O_CLOEXEC);
	return r;
}

/* Opens what is not a path: several packs, tars or files of other formats, or a URL. */
static int open_words(struct create *create)
{
	int r = open_tars(create);

	if (r != EXIT_DONE || create->tar)
		return r;
	create->root = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return cmd_open(create->source, &create->options.common, &create->dataset);
}

/* A folder is packed as it is, unless zarr or N5 wrote images into it. */
static int open_folder(struct create *create)
{
	struct err err = {0};
	int r;

	if (is_environment(create))
		return cmd_open(create->source, &create->options.common, &create->dataset);
	r = zarr_stream_new(create->root, &create->options.common.foreign, create->source,
			    &create->zarr, &err);
	create->tar = create->zarr != NULL;
	if (r == -ENOMSG && err.text[0])
		log_notice("%s: %s; packed as the folder that it is", create->source, err.text);
	if (r == 0 || r == -ENOMSG)
		return EXIT_DONE;
	return cmd_status(create->source, r, &err);
}

/* Whether it is the end of a pipeline, which somebody writes to, as a shell makes for <(COMMAND). A
 * named pipe may have no writer, ever. */
static bool is_pipeline(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
}

/* Neither a folder nor a regular file. */
static int open_special(struct create *create)
{
	if (!is_pipeline(create->root))
		return log_fail(EXIT_FAILED,
				"%s: neither a folder nor a regular file; 'foldpack create - PACK "
				"<%s' reads a tar from it",
				create->source, create->source);
	create->tar = true;
	return fcntl(create->root, F_SETFL, 0) < 0 ? (int)exit_status_of(-errno) : EXIT_DONE;
}

static int open_any_source(struct create *create)
{
	const char *source = create->source;
	struct stat st;

	create->root = open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (create->root < 0 && errno == ENOENT)
		return open_words(create);
	if (create->root < 0 || fstat(create->root, &st) < 0)
		return log_fail(EXIT_FAILED, "%s: %s", source, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return open_folder(create);
	return S_ISREG(st.st_mode) ? open_file(create) : open_special(create);
}

int create_open_source(struct create *create)
{
	struct decompressed decompressed;
	int r;

	decompressed_begin(&decompressed, create->pack, &create->options.common.foreign);
	r = open_any_source(create);
	decompressed_end(&decompressed);
	return r;
}
