/* foldpack-hdf5: reads HDF5 for foldpack (report.h).
 *
 * It is a program of its own because libhdf5 has often crashed on damaged files, and brings
 * libraries that nothing else needs. */
#include "base/exit.h"
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/export/ustar.h"
#include "pack/tool/hdf5/hdf5.h"
#include "pack/tool/hdf5/report.h"
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define MODE 0644

struct member_writer {
	int to;
	int64_t mtime; /* of the file: its images have none */
	struct buf path, bytes, block;
};

static void member_writer_release(struct member_writer *writer)
{
	buf_release(&writer->path);
	buf_release(&writer->bytes);
	buf_release(&writer->block);
}

static int write_member(struct member_writer *writer)
{
	const struct ustar_member member = {.name = writer->path.data,
					    .name_len = writer->path.len,
					    .size = writer->bytes.len,
					    .mode = MODE,
					    .mtime = writer->mtime};
	int r;

	writer->block.len = 0;
	r = ustar_header(&member, &writer->block);
	if (r == 0)
		r = io_write_full(writer->to, writer->block.data, writer->block.len);
	if (r == 0)
		r = io_write_full(writer->to, writer->bytes.data, writer->bytes.len);
	writer->block.len = 0;
	if (r == 0)
		r = ustar_pad(writer->bytes.len, &writer->block);
	return r < 0 ? r : io_write_full(writer->to, writer->block.data, writer->block.len);
}

static int write_members(struct hdf5 *hdf5, int to, int64_t mtime, struct err *err)
{
	SCOPE(member_writer_release) struct member_writer writer = {.to = to, .mtime = mtime};
	int r = 0;

	while (r == 0) {
		r = hdf5_next(hdf5, &writer.path, &writer.bytes, err);
		if (r == 0)
			r = write_member(&writer);
	}
	return r == 1 ? 0 : r;
}

/* Takes what a read of the file returned. Some of what was read may be of an older file than the
 * rest, and what looks like damage may be where they meet. */
static int check_unchanged(int fd, const struct stat *before, int result, struct err *err)
{
	if (io_unchanged(fd, before) != -ESTALE)
		return result;
	return err_set(err, -ESTALE, "changed while it was being packed");
}

/* Without its end a tar is refused: foldpack then asks why. */
static int write_tar(struct hdf5 *hdf5, int fd, const struct stat *st, int to, struct err *err)
{
	static const char end[2 * USTAR_BLOCK];
	int r = write_members(hdf5, to, st->st_mtime, err);

	r = check_unchanged(fd, st, r, err);
	return r < 0 ? r : io_write_full(to, end, sizeof(end));
}

/* A crash is an answer too. It needs no core dump and no report of a sanitizer. */
static void crash_quietly(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
	const struct rlimit none = {0};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_DFL);
	setrlimit(RLIMIT_CORE, &none);
}

static int run(const char *path, int tar, int reports)
{
	struct hdf5_report report = {0};
	struct hdf5 *hdf5 = NULL;
	SCOPE_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0) {
		report.error = -errno;
	} else {
		r = hdf5_open(path, &hdf5, &report.err);
		report.error = check_unchanged(fd, &st, r, &report.err);
	}
	r = io_write_full(reports, &report, sizeof(report));
	if (r == 0 && report.error == 0) {
		report.error = write_tar(hdf5, fd, &st, tar, &report.err);
		r = io_write_full(reports, &report, sizeof(report));
	}
	hdf5_free(hdf5);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* -1: it is not one. */
static int descriptor_of_pipe(const char *text)
{
	char *end;
	long fd = strtol(text, &end, 10);
	struct stat st;

	if (*end || end == text || fd < 0 || fd > INT32_MAX || fstat((int)fd, &st) < 0)
		return -1;
	return S_ISFIFO(st.st_mode) ? (int)fd : -1;
}

int main(int argc, char **argv)
{
	bool begun = argc == 4;
	int tar = begun ? descriptor_of_pipe(argv[1]) : -1;
	int reports = begun ? descriptor_of_pipe(argv[2]) : -1;

	if (tar < 0 || reports < 0) {
		fputs(HDF5_PROGRAM ": reads HDF5 files for 'foldpack create', which starts it\n",
		      stderr);
		return EXIT_USAGE;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	crash_quietly();
	return run(argv[3], tar, reports);
}
