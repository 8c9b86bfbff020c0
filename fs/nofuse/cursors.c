#include "fs/nofuse/cursors.h"
#include "base/scope.h"
#include "fs/nofuse/job.h"
#include <fcntl.h>
#include <sys/random.h>

struct cursor {
	int fd; /* 0: none */
	uint32_t entry;
	uint64_t mark; /* modulo `most`, its place in the table */
};

struct cursors {
	const struct skeleton *skeleton;
	unsigned most;
	pthread_mutex_t lock;
	/* What follows is protected by lock: */
	uint64_t next; /* mark */
	struct cursor kept[];
};

/* No lock that a job sets by itself is likely to look like a mark. */
struct cursors *cursors_new(const struct skeleton *skeleton, unsigned most)
{
	struct cursors *cursors = calloc(1, sizeof(*cursors) + most * sizeof(cursors->kept[0]));

	if (!cursors)
		return NULL;
	cursors->skeleton = skeleton;
	cursors->most = most;
	pthread_mutex_init(&cursors->lock, NULL);
	(void)!getrandom(&cursors->next, sizeof(cursors->next), 0);
	cursors->next = cursors->next >> 2 | 1;
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

/* --- the table: lock held -------------------------------------------------------------------- */

static struct cursor *find(struct cursors *cursors, uint64_t mark, uint32_t entry)
{
	struct cursor *cursor = &cursors->kept[mark % cursors->most];

	return cursor->fd && cursor->mark == mark && cursor->entry == entry ? cursor : NULL;
}

/* In the place of the oldest. 0 or -errno. */
static int add(struct cursors *cursors, uint32_t entry, int flags, struct cursor **ret)
{
	SCOPE_CLOSE int fd = skeleton_open(cursors->skeleton, entry, flags);
	struct cursor *cursor = &cursors->kept[cursors->next % cursors->most];
	int r = fd < 0 ? fd : job_mark(fd, cursors->next);

	if (r < 0)
		return r;
	if (cursor->fd)
		close(cursor->fd);
	*cursor = (struct cursor){steal_fd(&fd), entry, cursors->next++};
	*ret = cursor;
	return 0;
}

/* What the caller has open becomes one that is kept. 0 or -errno. */
static int replace(struct cursors *cursors, const struct listener *listener,
		   const struct asked *asked, int fd, uint32_t entry, const struct job_place *place,
		   struct cursor **ret)
{
	int r = add(cursors, entry, place->flags & (O_NONBLOCK | O_NOATIME), ret);

	if (r == 0 && lseek((*ret)->fd, place->at, SEEK_SET) < 0)
		r = -errno;
	return r < 0 ? r
		     : listener_replace(listener, asked, (*ret)->fd, fd, place->flags & O_CLOEXEC);
}

bool cursors_give_up(struct cursors *cursors)
{
	SCOPE_LOCK(&cursors->lock);

	for (unsigned i = 0; i < cursors->most; i++) {
		struct cursor *oldest = &cursors->kept[(cursors->next + i) % cursors->most];

		if (oldest->fd) {
			close(oldest->fd);
			oldest->fd = 0;
			return true;
		}
	}
	return false;
}

/* --- opening and listing --------------------------------------------------------------------- */

int cursors_open(struct cursors *cursors, uint32_t entry, int flags)
{
	SCOPE_LOCK(&cursors->lock);
	struct cursor *cursor;
	int fd, r = add(cursors, entry, flags, &cursor);

	if (r < 0)
		return r;
	fd = fcntl(cursor->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

int64_t cursors_list(struct cursors *cursors, const struct listener *listener,
		     const struct asked *asked, int fd, uint32_t entry, cursors_list_fn *list,
		     void *context)
{
	SCOPE_LOCK(&cursors->lock);
	struct job_place found;
	struct cursor *cursor;
	uint64_t place;
	int64_t r = job_read_place((pid_t)asked->notif.pid, fd, &found);

	if (r == 0 && found.flags & O_PATH)
		r = -EBADF;
	if (r < 0)
		return r;
	cursor = find(cursors, found.mark, entry);
	if (!cursor)
		r = replace(cursors, listener, asked, fd, entry, &found, &cursor);
	if (r < 0)
		return r;
	place = (uint64_t)lseek(cursor->fd, 0, SEEK_CUR);
	r = list(context, &place);
	if (r >= 0 && lseek(cursor->fd, (off_t)place, SEEK_SET) < 0)
		return -errno;
	return r;
}
