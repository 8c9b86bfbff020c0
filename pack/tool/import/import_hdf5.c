#include "pack/tool/import/import_hdf5.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/scope.h"
#include "pack/tool/hdf5/report.h"
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#define NOT_STARTED 127 /* exit status if the loader did not find a library */

static const char magic[] = "\x89HDF\r\n\x1a\n";

struct import_hdf5 {
	pid_t child;
	int tar, reports; /* to be read */
};

bool import_hdf5_is(int fd)
{
	char head[sizeof(magic) - 1];

	return io_pread_full(fd, head, sizeof(head), 0) == 0 &&
	       memcmp(head, magic, sizeof(head)) == 0;
}

/* --- what the program says ------------------------------------------------------------------ */

static int why_it_ended(struct import_hdf5 *import, struct err *err)
{
	int status = 0;

	waitpid(import->child, &status, 0);
	import->child = -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED)
		return err_set(err, -ELIBACC,
			       HDF5_PROGRAM ", which reads HDF5, does not start: install libhdf5");
	return err_set(err, -EBADMSG, "damaged: libhdf5 crashes on it");
}

/* The next report; where the program has ended without one, why. */
static int take_report(struct import_hdf5 *import, struct err *err)
{
	struct hdf5_report report;

	if (io_read(import->reports, &report, sizeof(report)) != (ssize_t)sizeof(report))
		return why_it_ended(import, err);
	if (report.error < 0)
		err_set(err, report.error, "%s", err_text(&report.err, report.error));
	return report.error;
}

/* --- the program ---------------------------------------------------------------------------- */

/* Looks beside this program, where it is built, and where it is installed. */
static int spawn_program(const char *const *argv, const posix_spawn_file_actions_t *actions,
			 pid_t *ret)
{
	static const char *const places[] = {"", "../libexec/foldfs/"};
	SCOPE(buf_release) struct buf path = BUF_INIT;
	char self[PATH_MAX] = "";
	const char *slash;
	int r = ENOENT;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -errno;
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && r == ENOENT && i < sizeof(places) / sizeof(*places); i++) {
		path.len = 0;
		if (buf_addf(&path, "%.*s%s" HDF5_PROGRAM, (int)(slash + 1 - self), self,
			     places[i]) < 0)
			return -ENOMEM;
		r = posix_spawn(ret, path.data, actions, NULL, (char *const *)argv, environ);
	}
	return -r;
}

/* The program gets the descriptors under the same numbers. */
static int start_with(struct import_hdf5 *import, const char *const *argv, int tar, int reports)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, tar, tar);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, reports, reports);
	r = r ? -r : spawn_program(argv, &actions, &import->child);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static int start(struct import_hdf5 *import, const char *path, struct err *err)
{
	SCOPE_CLOSE int tar = -1;
	SCOPE_CLOSE int reports = -1;
	char numbers[2][16];
	const char *const argv[] = {HDF5_PROGRAM, numbers[0], numbers[1], path, NULL};
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	import->tar = ends[0];
	tar = ends[1];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	import->reports = ends[0];
	reports = ends[1];
	snprintf(numbers[0], sizeof(numbers[0]), "%d", tar);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", reports);
	r = start_with(import, argv, tar, reports);
	if (r == -ENOENT)
		return err_set(err, -EOPNOTSUPP,
			       "HDF5, which takes " HDF5_PROGRAM
			       ", and that is not installed: "
			       "install it and libhdf5, or libhdf5-dev, and build foldfs again");
	return r < 0 ? err_set(err, r, HDF5_PROGRAM ": %s", strerror(-r)) : 0;
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

int import_hdf5_new(const char *path, struct import_hdf5 **ret, struct err *err)
{
	struct import_hdf5 *import = calloc(1, sizeof(*import));
	int r;

	if (!import)
		return -ENOMEM;
	*import = (struct import_hdf5){.child = -1, .tar = -1, .reports = -1};
	r = start(import, path, err);
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

/* A program that still writes its tar has no report yet, and waits for somebody to read. */
int import_hdf5_error(struct import_hdf5 *import, struct err *err)
{
	struct pollfd tar = {.fd = import->tar};

	poll(&tar, 1, 0);
	return tar.revents & POLLHUP ? take_report(import, err) : 0;
}
