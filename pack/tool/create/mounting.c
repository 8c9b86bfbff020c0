#include "pack/tool/create/mounting.h"

#include "base/io.h"
#include "base/scope.h"
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

extern char **environ;

/* The program's path, or just its name where it is not beside this one. */
static void find(const char *name, char ret[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	if (len > 0) {
		ret[len] = '\0';
		slash = strrchr(ret, '/');
		snprintf(slash + 1, PATH_MAX - (size_t)(slash + 1 - ret), "%s", name);
		if (access(ret, X_OK) == 0)
			return;
	}
	snprintf(ret, PATH_MAX, "%s", name);
}

/* Runs a program with what it says going to `out`. Its wait status, or -errno. */
static int spawn(char *const argv[], int out)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status, error;

	error = posix_spawn_file_actions_init(&actions);
	if (error)
		return -error;
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		return -error;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

/* The last line of what a program said. */
static int said(int fd, struct err *err)
{
	char text[4096];
	ssize_t n = io_pread(fd, text, sizeof(text) - 1, 0);
	char *line;

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	line = strncmp(text, "foldfs: ", 8) == 0 ? text + 8 : text;
	return err_set(err, -EIO, "%s", *line ? line : "foldfs failed and said nothing");
}

int mounting_begin(const char *pack, const char *point, struct err *err)
{
	SCOPE_CLOSE int out = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char program[PATH_MAX];
	char *argv[] = {program, (char *)(uintptr_t)pack, (char *)(uintptr_t)point, NULL};
	int status;

	if (out < 0)
		return err_set(err, -errno, "/tmp: %s", strerror(errno));
	find("foldfs", program);
	status = spawn(argv, out);
	if (status < 0)
		return err_set(err, status, "%s: %s", program, strerror(-status));
	return status == 0 ? 0 : said(out, err);
}

void mounting_end(const char *point)
{
	SCOPE_CLOSE int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char *argv[] = {(char[]){"fusermount3"}, (char[]){"-u"}, (char *)(uintptr_t)point, NULL};

	if (umount2(point, UMOUNT_NOFOLLOW) < 0 && nowhere >= 0)
		spawn(argv, nowhere);
}
