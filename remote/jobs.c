#include "remote/jobs.h"
#include "base/clock.h"
#include "base/scope.h"

static bool is_ahead(const struct job *job)
{
	return job->request && atomic_load(reader_ahead(job->request));
}

/* The first job that somebody waits for; if there is none, the first. Called with the lock held. */
static struct job *take_job(struct jobs *jobs)
{
	struct job **best = NULL, *job;
	uint64_t now = clock_ns(), later = UINT64_MAX;

	for (struct job **at = &jobs->first; *at; at = &(*at)->next) {
		if ((*at)->due > now && !jobs->workers.stopping) {
			later = (*at)->due < later ? (*at)->due : later;
			continue;
		}
		if (!best || !is_ahead(*at))
			best = at;
		if (!is_ahead(*at))
			break;
	}
	jobs->workers.later = later == UINT64_MAX ? 0 : later;
	if (!best)
		return NULL;
	job = *best;
	*best = job->next;
	if (jobs->last == &job->next)
		jobs->last = best;
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

bool jobs_add_later(struct jobs *jobs, struct job *job, uint64_t due)
{
	SCOPE_LOCK(&jobs->workers.lock);
	workers_begin(&jobs->workers);
	if (!jobs->workers.started)
		return false;
	job->due = due;
	job->next = NULL;
	*jobs->last = job;
	jobs->last = &job->next;
	pthread_cond_signal(&jobs->workers.changed);
	return true;
}

void jobs_add(struct jobs *jobs, struct job *job)
{
	if (!jobs_add_later(jobs, job, 0))
		job->run(job);
}

void jobs_rest(struct jobs *jobs)
{
	workers_rest(&jobs->workers);
}
