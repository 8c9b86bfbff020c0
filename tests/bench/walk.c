/* walk: lists a whole tree as find does, without a look at the files, and says how long that
 * took, as one line of JSON. Only where the filesystem does not tell the kinds of entries by
 * d_type is each one asked for by fstatat. */
#include "base/exit.h"
#include "base/log.h"
#include "base/scope.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct count {
	uint64_t files, directories;
};

static double now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool is_directory(int at, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(at, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static void close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int walk(int at, const char *name, struct count *count)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir SCOPE(close_dir) = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int error = 0;

	if (!dir)
		error = -errno;
	while (!error && (errno = 0, entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (is_directory(fd, entry)) {
			count->directories++;
			error = walk(fd, entry->d_name, count);
		} else {
			count->files++;
		}
	}
	return error ? error : -errno;
}

int main(int argc, char **argv)
{
	struct count count = {0};
	double began = now();
	int error;

	log_init("walk", LOG_LEVEL_NORMAL);
	if (argc != 2) {
		log_error("usage: walk DIR");
		return EXIT_USAGE;
	}
	error = walk(AT_FDCWD, argv[1], &count);
	if (error) {
		log_error("%s: %s", argv[1], strerror(-error));
		return EXIT_FAILED;
	}
	printf("{\"files\": %" PRIu64 ", \"directories\": %" PRIu64 ", \"wall_s\": %.6f}\n",
	       count.files, count.directories, now() - began);
	return EXIT_DONE;
}
