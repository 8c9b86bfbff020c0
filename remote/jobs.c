#include "remote/jobs.h"

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

void jobs_init(struct jobs *jobs, unsigned threads)
{
	workers_init(&jobs->workers, threads, run_next, jobs);
	jobs->first = NULL;
	jobs->last = &jobs->first;
}

void jobs_release(struct jobs *jobs)
{
	workers_release(&jobs->workers);
}

void jobs_add(struct jobs *jobs, struct job *job)
{
	bool started;

	pthread_mutex_lock(&jobs->workers.lock);
	workers_begin(&jobs->workers);
	started = jobs->workers.started;
	if (started) {
		job->next = NULL;
		*jobs->last = job;
		jobs->last = &job->next;
		pthread_cond_signal(&jobs->workers.changed);
	}
	pthread_mutex_unlock(&jobs->workers.lock);
	if (!started)
		job->run(job);
}

void jobs_rest(struct jobs *jobs)
{
	workers_rest(&jobs->workers);
}
