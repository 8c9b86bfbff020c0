#include "fs/nofuse/cursors.h"
#include "base/scope.h"
#include "fs/nofuse/job.h"
#include <fcntl.h>

struct cursor {
	int fd; /* 0: none */
	uint32_t entry;
	uint64_t used; /* when, counted in uses */
};

struct cursors {
	pthread_mutex_t lock;
	/* What follows is protected by lock: */
	uint64_t uses;
	unsigned most;
	struct cursor kept[];
};

struct cursors *cursors_new(unsigned most)
{
	struct cursors *cursors = calloc(1, sizeof(*cursors) + most * sizeof(cursors->kept[0]));

	if (!cursors)
		return NULL;
	cursors->most = most;
	pthread_mutex_init(&cursors->lock, NULL);
	return cursors;
}

void cursors_free(struct cursors *cursors)
{
	if (!cursors)
		return;
	for (unsigned i = 0; i < cursors->most; i++)
		if (cursors->kept[i].fd)
			close(cursors->kept[i].fd);
	pthread_mutex_destroy(&cursors->lock);
	free(cursors);
}

int cursors_keep(struct cursors *cursors, uint32_t entry, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return -errno;
	SCOPE_LOCK(&cursors->lock);
	struct cursor *oldest = &cursors->kept[0];

	for (unsigned i = 1; i < cursors->most; i++)
		if (cursors->kept[i].used < oldest->used)
			oldest = &cursors->kept[i];
	if (oldest->fd)
		close(oldest->fd);
	*oldest = (struct cursor){.fd = copy, .entry = entry, .used = ++cursors->uses};
	return 0;
}

/* Whether it is the description that the job means: then the job's moves with it. */
static bool is_same(const struct cursor *cursor, pid_t pid, int fd)
{
	off_t place = lseek(cursor->fd, 0, SEEK_CUR);
	bool same;

	if (place < 0 || job_position(pid, fd) != place)
		return false;
	(void)lseek(cursor->fd, place + 1, SEEK_SET);
	same = job_position(pid, fd) == place + 1;
	(void)lseek(cursor->fd, place, SEEK_SET);
	return same;
}

/* The newest ones first: most that are not in use any more are older. Lock held. */
static struct cursor *find(struct cursors *cursors, uint32_t entry, pid_t pid, int fd)
{
	uint64_t before = UINT64_MAX;

	for (;;) {
		struct cursor *newest = NULL;

		for (unsigned i = 0; i < cursors->most; i++) {
			struct cursor *c = &cursors->kept[i];

			if (c->fd && c->entry == entry && c->used < before &&
			    (!newest || c->used > newest->used))
				newest = c;
		}
		if (!newest || is_same(newest, pid, fd))
			return newest;
		before = newest->used;
	}
}

int cursors_list(struct cursors *cursors, uint32_t entry, pid_t pid, int fd, cursors_add_fn *add,
		 void *context)
{
	SCOPE_LOCK(&cursors->lock);
	struct cursor *cursor = find(cursors, entry, pid, fd);
	off_t place;

	if (!cursor)
		return -EBADF;
	cursor->used = ++cursors->uses;
	place = lseek(cursor->fd, 0, SEEK_CUR);
	while (add(context, (uint64_t)place))
		place++;
	return lseek(cursor->fd, place, SEEK_SET) < 0 ? -errno : 0;
}
