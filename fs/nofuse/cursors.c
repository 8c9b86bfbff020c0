#include "fs/nofuse/cursors.h"
#include "base/clock.h"
#include "base/scope.h"
#include <fcntl.h>

#define PATIENCE (10 * CLOCK_SECOND)  /* without one that is closed */
#define TICK	 (CLOCK_SECOND / 100) /* between two looks at the processes */

struct cursor {
	int fd;	       /* 0: none */
	bool in_hand;  /* the job does not have it yet */
	bool in_use;   /* as far as the processes have been looked at */
	uint64_t mark; /* its place in the table, and how many were opened before */
};

struct cursors {
	const struct skeleton *skeleton;
	unsigned most;
	pthread_mutex_t lock;
	/* What follows is protected by lock: */
	uint64_t opened;
	uint64_t looked; /* at the processes: when */
	struct cursor kept[];
};

struct cursors *cursors_new(const struct skeleton *skeleton, unsigned most)
{
	struct cursors *cursors = calloc(1, sizeof(*cursors) + most * sizeof(cursors->kept[0]));

	if (!cursors)
		return NULL;
	cursors->skeleton = skeleton;
	cursors->most = most;
	pthread_mutex_init(&cursors->lock, NULL);
	return cursors;
}

static void drop(struct cursor *cursor)
{
	if (cursor->fd)
		close(cursor->fd);
	*cursor = (struct cursor){0};
}

void cursors_free(struct cursors *cursors)
{
	if (!cursors)
		return;
	for (unsigned i = 0; i < cursors->most; i++)
		drop(&cursors->kept[i]);
	pthread_mutex_destroy(&cursors->lock);
	free(cursors);
}

/* --- the table: lock held -------------------------------------------------------------------- */

static struct cursor *find(struct cursors *cursors, uint64_t mark)
{
	struct cursor *cursor = &cursors->kept[mark % cursors->most];

	return cursor->fd && cursor->mark == mark ? cursor : NULL;
}

/* 1, 0, or -errno. */
static int is_of_job(pid_t pid)
{
	while (pid > 1 && pid != getpid())
		pid = job_parent(pid);
	return job_is_short(pid) ? pid : pid == getpid();
}

/* What a process has open is in use. 0 or -errno: that could not be seen. */
static int look_at(struct cursors *cursors, pid_t pid)
{
	char path[64];
	SCOPE_DIR DIR *dir = NULL;
	const struct dirent *entry;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		return job_is_short(-errno) ? -errno : 0;
	while (!job_is_short(r) && (entry = readdir(dir))) {
		uint64_t mark;
		struct cursor *cursor;

		r = job_read_mark(pid, (int)strtol(entry->d_name, NULL, 10), &mark);
		cursor = r < 0 ? NULL : find(cursors, mark);
		if (cursor)
			cursor->in_use = true;
	}
	return job_is_short(r) ? r : 0;
}

static int look_at_all(struct cursors *cursors)
{
	SCOPE_DIR DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int r = dir ? 0 : -errno;

	while (r >= 0 && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		r = pid > 1 && pid != getpid() ? is_of_job(pid) : 0;
		if (r > 0)
			r = look_at(cursors, pid);
	}
	return r;
}

static struct cursor *find_free(struct cursors *cursors)
{
	for (unsigned i = 0; i < cursors->most; i++)
		if (!cursors->kept[i].fd)
			return &cursors->kept[i];
	return NULL;
}

/* Drops what no process of the job has open: nobody is told when a description is closed. */
static void drop_closed(struct cursors *cursors)
{
	if (clock_ns() - cursors->looked < TICK)
		return;
	for (unsigned i = 0; i < cursors->most; i++)
		cursors->kept[i].in_use = cursors->kept[i].in_hand;
	if (look_at_all(cursors) == 0)
		for (unsigned i = 0; i < cursors->most; i++)
			if (!cursors->kept[i].in_use)
				drop(&cursors->kept[i]);
	cursors->looked = clock_ns();
}

/* Lock held, which it drops while it waits. NULL: none is closed. */
static struct cursor *wait_for_free(struct cursors *cursors, struct opener *opener)
{
	const struct timespec tick = {.tv_nsec = TICK};
	uint64_t opened = 0, since = 0;
	struct cursor *cursor;

	while (!(cursor = find_free(cursors))) {
		uint64_t now = clock_ns();

		drop_closed(cursors);
		if ((cursor = find_free(cursors)))
			return cursor;
		if (opened != cursors->opened)
			since = now;
		opened = cursors->opened;
		if (now - since >= PATIENCE)
			return NULL;
		pthread_mutex_unlock(&cursors->lock);
		opener_waits(opener);
		nanosleep(&tick, NULL);
		pthread_mutex_lock(&cursors->lock);
	}
	return cursor;
}

/* --- opening --------------------------------------------------------------------------------- */

int cursors_open(struct cursors *cursors, uint32_t entry, int flags, struct opener *opener,
		 uint64_t *ret_mark)
{
	SCOPE_LOCK(&cursors->lock);
	struct cursor *cursor = wait_for_free(cursors, opener);
	uint64_t mark;
	SCOPE_CLOSE int fd = -1;
	int r;

	if (!cursor)
		return -ENFILE;
	mark = ++cursors->opened * cursors->most + (uint64_t)(cursor - cursors->kept);
	fd = skeleton_open(cursors->skeleton, entry, flags);
	r = fd < 0 ? fd : job_mark(fd, mark);
	if (r < 0)
		return r;
	*cursor = (struct cursor){.fd = steal_fd(&fd), .in_hand = true, .mark = mark};
	*ret_mark = mark;
	return cursor->fd;
}

void cursors_given(struct cursors *cursors, uint64_t mark)
{
	SCOPE_LOCK(&cursors->lock);
	struct cursor *cursor = find(cursors, mark);

	if (cursor)
		cursor->in_hand = false;
}

int64_t cursors_list(struct cursors *cursors, pid_t pid, int fd, cursors_list_fn *list,
		     void *context)
{
	SCOPE_LOCK(&cursors->lock);
	struct cursor *cursor;
	uint64_t mark, place;
	int64_t r = job_read_mark(pid, fd, &mark);

	if (job_is_short((int)r))
		return r;
	cursor = r < 0 ? NULL : find(cursors, mark);
	if (!cursor)
		return -EBADF;
	place = (uint64_t)lseek(cursor->fd, 0, SEEK_CUR);
	r = list(context, &place);
	if (r >= 0 && lseek(cursor->fd, (off_t)place, SEEK_SET) < 0)
		return -errno;
	return r;
}
