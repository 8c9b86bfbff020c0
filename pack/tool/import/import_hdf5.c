/* libhdf5 has crashed on damaged files again and again, so that it runs in a process of its own:
 *
 *	child: hdf5.c -> tar -> pipe -> import_tar.c
 *	       struct report, once it has opened the file, and at its end -> another pipe
 */
#include "pack/tool/import/import_hdf5.h"

#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/export/ustar.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MODE 0644

struct report {
	int error;
	struct err err;
};

struct import_hdf5 {
	pid_t child;
	int tar, reports; /* to be read */
};

/* --- in the child --------------------------------------------------------------------------- */

struct member_writer {
	int to;
	int64_t mtime; /* of the file: those in it have none */
	struct buf path, bytes, block;
};

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

static int write_tar(struct hdf5 *hdf5, struct member_writer *writer, struct err *err)
{
	static const char end[2 * USTAR_BLOCK];
	int r = 0;

	while (r == 0) {
		r = hdf5_next(hdf5, &writer->path, &writer->bytes, err);
		if (r == 0)
			r = write_member(writer);
	}
	return r == 1 ? io_write_full(writer->to, end, sizeof(end)) : r;
}

/* A crash is an answer, which needs no core and no sanitizer's report. */
static void crash_quietly(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
	const struct rlimit none = {0};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_DFL);
	setrlimit(RLIMIT_CORE, &none);
}

/* Never returns to what the parent cleans up. */
static void run_child(const char *path, const char *classes, int tar, int reports)
{
	struct member_writer writer = {.to = tar};
	struct report report = {0};
	struct hdf5 *hdf5 = NULL;
	struct stat st;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	crash_quietly();
	report.error = stat(path, &st) < 0 ? -errno : hdf5_open(path, classes, &hdf5, &report.err);
	if (io_write_full(reports, &report, sizeof(report)) == 0 && report.error == 0) {
		writer.mtime = st.st_mtime;
		report.error = write_tar(hdf5, &writer, &report.err);
		(void)io_write_full(reports, &report, sizeof(report));
	}
	_exit(0);
}

/* --- in the parent -------------------------------------------------------------------------- */

/* The next report: -EBADMSG where the child has ended without one. */
static int take_report(const struct import_hdf5 *import, struct err *err)
{
	struct report report;

	if (io_read(import->reports, &report, sizeof(report)) != (ssize_t)sizeof(report))
		return err_set(err, -EBADMSG, "damaged: libhdf5 crashes on it");
	if (report.error < 0)
		err_set(err, report.error, "%s", err_text(&report.err, report.error));
	return report.error;
}

static int start_child(struct import_hdf5 *import, const char *path, const char *classes)
{
	SCOPE_CLOSE int tar = -1;
	SCOPE_CLOSE int reports = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	import->tar = ends[0];
	tar = ends[1];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	import->reports = ends[0];
	reports = ends[1];
	import->child = fork();
	if (import->child == 0)
		run_child(path, classes, tar, reports);
	return import->child < 0 ? -errno : 0;
}

void import_hdf5_free(struct import_hdf5 *import)
{
	if (!import)
		return;
	scope_close(&import->tar);
	scope_close(&import->reports);
	if (import->child > 0) {
		kill(import->child, SIGKILL);
		waitpid(import->child, NULL, 0);
	}
	free(import);
}

int import_hdf5_new(const char *path, const char *classes, struct import_hdf5 **ret,
		    struct err *err)
{
	struct import_hdf5 *import = calloc(1, sizeof(*import));
	int r;

	if (!import)
		return -ENOMEM;
	*import = (struct import_hdf5){.tar = -1, .reports = -1};
	r = start_child(import, path, classes);
	if (r == 0)
		r = take_report(import, err);
	if (r < 0) {
		import_hdf5_free(import);
		return r;
	}
	*ret = import;
	return 0;
}

int import_hdf5_tar(const struct import_hdf5 *import)
{
	return import->tar;
}

int import_hdf5_error(struct import_hdf5 *import, struct err *err)
{
	return take_report(import, err);
}
