#include "remote/jobs.h"
#include "base/scope.h"

struct jobs {
	unsigned most, started; /* started: protected by lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;	   /* a job was added, or stopping */
	struct job *first, **last; /* protected by lock */
	bool stopping;		   /* protected by lock */
	pthread_t threads[];
};

int jobs_new(unsigned threads, struct jobs **ret)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs) + threads * sizeof(jobs->threads[0]));

	if (!jobs)
		return -ENOMEM;
	jobs->most = threads;
	jobs->last = &jobs->first;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->wake, NULL);
	*ret = jobs;
	return 0;
}

void jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	jobs_rest(jobs);
	pthread_cond_destroy(&jobs->wake);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
}

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

static void *jobs_thread(void *arg)
{
	struct jobs *jobs = arg;

	SCOPE_LOCK(&jobs->lock);
	for (;;) {
		struct job *job = take_job(jobs);

		if (job) {
			pthread_mutex_unlock(&jobs->lock);
			job->run(job);
			pthread_mutex_lock(&jobs->lock);
		} else if (jobs->stopping) {
			return NULL;
		} else {
			pthread_cond_wait(&jobs->wake, &jobs->lock);
		}
	}
}

/* Called with the lock held. Returns whether there is any thread. */
static bool start_threads(struct jobs *jobs)
{
	while (jobs->started < jobs->most &&
	       pthread_create(&jobs->threads[jobs->started], NULL, jobs_thread, jobs) == 0)
		jobs->started++;
	return jobs->started > 0;
}

static bool queue_job(struct jobs *jobs, struct job *job)
{
	SCOPE_LOCK(&jobs->lock);
	if (!start_threads(jobs))
		return false;
	job->next = NULL;
	*jobs->last = job;
	jobs->last = &job->next;
	pthread_cond_signal(&jobs->wake);
	return true;
}

void jobs_add(struct jobs *jobs, struct job *job)
{
	if (!queue_job(jobs, job))
		job->run(job);
}

void jobs_rest(struct jobs *jobs)
{
	pthread_mutex_lock(&jobs->lock);
	jobs->stopping = true;
	pthread_cond_broadcast(&jobs->wake);
	pthread_mutex_unlock(&jobs->lock);
	while (jobs->started)
		pthread_join(jobs->threads[--jobs->started], NULL);
	jobs->stopping = false;
}
