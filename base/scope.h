/* Scope guards: what a scope takes is released on every way out.
 *
 *	SCOPE_FREE char *line = NULL;          free(3)
 *	SCOPE_CLOSE int fd = open(...);        close(2) where fd >= 0, errno kept
 *	SCOPE_FILE FILE *file = fopen(...);    fclose(3) of a file that was read, the same
 *	SCOPE_DIR DIR *dir = opendir(...);     closedir(3), the same
 *	SCOPE_LOCK(&pool->lock);               unlocked at the end of the scope
 *
 * steal_ptr() and steal_fd() take a pointer or descriptor out of its guard. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SCOPE(release)	  __attribute__((cleanup(release)))
#define SCOPE_FREE	  SCOPE(scope_free)
#define SCOPE_CLOSE	  SCOPE(scope_close)
#define SCOPE_FILE	  SCOPE(scope_file)
#define SCOPE_DIR	  SCOPE(scope_dir)
#define SCOPE_JOIN_(a, b) a##b
#define SCOPE_JOIN(a, b)  SCOPE_JOIN_(a, b)
#define SCOPE_LOCK(mutex)                                  \
	pthread_mutex_t *SCOPE_JOIN(scope_lock_, __LINE__) \
		__attribute__((cleanup(scope_unlock), unused)) = scope_lock(mutex)

static inline void scope_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void scope_close(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void scope_file(FILE **file)
{
	int saved = errno;

	if (*file)
		fclose(*file);
	errno = saved;
}

static inline void scope_dir(DIR **dir)
{
	int saved = errno;

	if (*dir)
		closedir(*dir);
	errno = saved;
}

static inline pthread_mutex_t *scope_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline void scope_unlock(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

static inline void *steal_ptr_(void *pointer)
{
	void *stolen = *(void **)pointer;

	*(void **)pointer = NULL;
	return stolen;
}

/* The value of the guarded pointer, which is left NULL. */
#define steal_ptr(pointer) ((__typeof__(*(pointer)))steal_ptr_(pointer))

/* The value of the guarded descriptor, which is left -1. */
static inline int steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}
