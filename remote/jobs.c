#include "remote/jobs.h"
#include "base/scope.h"
#include "base/workers.h"

struct jobs {
	struct workers workers;
	struct job *first, **last; /* protected by the lock of the workers */
};

/* The first job that somebody waits for; if there is none, the first. Called with the lock held. */
static struct job *take_job(struct jobs *jobs)
{
	struct job **link = &jobs->first, *job;

	while (*link && (*link)->request && atomic_load(reader_ahead((*link)->request)))
		link = &(*link)->next;
	if (!*link)
		link = &jobs->first;
	job = *link;
	if (!job)
		return NULL;
	*link = job->next;
	if (jobs->last == &job->next)
		jobs->last = link;
	return job;
}

static bool run_next(void *context)
{
	struct jobs *jobs = context;
	struct job *job = take_job(jobs);

	if (!job)
		return false;
	pthread_mutex_unlock(&jobs->workers.lock);
	job->run(job);
	pthread_mutex_lock(&jobs->workers.lock);
	return true;
}

int jobs_new(unsigned threads, struct jobs **ret)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return -ENOMEM;
	workers_init(&jobs->workers, threads, run_next, jobs);
	jobs->last = &jobs->first;
	*ret = jobs;
	return 0;
}

void jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	workers_release(&jobs->workers);
	free(jobs);
}

static bool queue_job(struct jobs *jobs, struct job *job)
{
	SCOPE_LOCK(&jobs->workers.lock);
	workers_begin(&jobs->workers);
	if (!jobs->workers.started)
		return false;
	job->next = NULL;
	*jobs->last = job;
	jobs->last = &job->next;
	pthread_cond_signal(&jobs->workers.changed);
	return true;
}

void jobs_add(struct jobs *jobs, struct job *job)
{
	if (!queue_job(jobs, job))
		job->run(job);
}

void jobs_rest(struct jobs *jobs)
{
	workers_rest(&jobs->workers);
}
