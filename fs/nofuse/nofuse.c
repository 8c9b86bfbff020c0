#include "fs/nofuse/nofuse.h"
#include "base/clock.h"
#include "base/exit.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/math.h"
#include "base/scope.h"
#include "base/size.h"
#include "fs/life/daemon.h"
#include "fs/nofuse/calls.h"
#include "fs/nofuse/job.h"
#include "fs/nofuse/preload.h"
#include "fs/nofuse/probe.h"
#include "fs/nofuse/stats_socket.h"
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define STACK	    (2 * MIB) /* of each, whatever `ulimit -s` says: a path may lead over 40 links */
#define THREADS_MAX 64	      /* that answer; those that wait answer nobody else */
/* Each call wakes all threads that wait for one: with 16, a call cost three times the processor
 * time that it did with one. With two, two workers read 1.5 times as many files a second. */
#define TAKERS	  2
#define LEFTOVERS 5 /* seconds for processes that COMMAND leaves behind, */
#define HELD_UP	  1 /* and for threads that are where storage hangs */
/* Each has a lock, over which the kernel goes whenever the same folder is opened or closed: with
 * 4,096 of one folder, a relative path in it took 65 us instead of 15. */
#define CURSORS_MAX 256
#define IN_HAND	    16 /* descriptors for looks at paths and processes */
#define FILES_LEAST 9  /* of descriptors, with which it serves at all */
#define STORE_LEAST (32 * MIB)
#define STOP	    SIGURG /* interrupts a thread that waits */

static const struct timespec look = {.tv_nsec = CLOCK_SECOND / 10}; /* for children, so often */
static const struct timespec turn = {.tv_nsec = CLOCK_SECOND / 50}; /* a call is taken sooner */

/* A thread that answers. */
struct answerer {
	struct nofuse *nofuse;
	atomic_bool takes; /* it is its turn */
};

struct nofuse {
	struct mount *mount;
	struct skeleton skeleton;
	struct answers answers;
	struct stats_socket stats_socket;
	pid_t guard;
	struct answerer answerers[THREADS_MAX];
	pthread_t threads[THREADS_MAX + 1]; /* theirs, and one that watches */
	unsigned started;
	bool serving;
	atomic_bool stopping;
	sem_t turns;	   /* to wait for calls */
	atomic_bool taken; /* a call, since somebody looked */
};

/* Of the descriptors that are left, a quarter is for folders that the job has open. */
static uint64_t choose_folders(uint64_t left)
{
	return clamp(left / 4, 8, CURSORS_MAX);
}

/* Copies that are kept count beside the pool, and get less as that does; so do those that the job
 * holds open. An eighth of the descriptors is for copies that are made, two thirds of the rest for
 * those that are kept, and what is left for the mount and for threads. */
static struct store_limits choose_limits(const struct mount *mount, uint64_t left)
{
	struct mount_memory memory = mount_memory(mount);
	uint64_t part = memory.available / 4, making = clamp(left / 8, 2, THREADS_MAX);
	uint64_t kept = sub_sat(left, choose_folders(left) + making) / 3 * 2;
	uint64_t bytes = mount_settings(mount)->pool ? memory.budget / 4 : part;

	return (struct store_limits){.bytes = max(bytes, STORE_LEAST),
				     .files = max(kept, UINT64_C(4)),
				     .making = making,
				     .largest = max(part, STORE_LEAST),
				     .writable = limits_raise_size()};
}

static void limit_copies(void *context, uint64_t limit, uint64_t budget)
{
	store_limit(context, limit, budget);
}

int nofuse_new(struct mount *mount, struct nofuse **ret, struct err *err)
{
	const struct settings *settings = mount_settings(mount);
	struct nofuse *nofuse = calloc(1, sizeof(*nofuse));
	uint64_t files = limits_files_left(), left = sub_sat(files, IN_HAND);
	struct store_limits limits = choose_limits(mount, left);
	struct answers *answers;
	int r;

	if (!nofuse)
		return -ENOMEM;
	*ret = nofuse;
	answers = &nofuse->answers;
	nofuse->mount = mount;
	sem_init(&nofuse->turns, 0, TAKERS);
	nofuse->skeleton = SKELETON_NONE;
	nofuse->stats_socket = STATS_SOCKET_NONE;
	answers->listener = LISTENER_NONE;
	r = files < FILES_LEAST ? -EMFILE : probe_listener(err);
	if (r == 0)
		r = skeleton_make(mount_tree(mount), settings->mountpoint, settings->mkdir,
				  &nofuse->skeleton, err);
	if (r < 0)
		return r;
	answers->mount = mount;
	answers->tree = mount_tree(mount);
	answers->skeleton = &nofuse->skeleton;
	resolver_init(&answers->resolver, &nofuse->skeleton);
	job_space(getpid(), answers->space);
	answers->root = geteuid() == 0;
	answers->store = store_new(mount, &answers->resolver, &limits);
	mount_on_limit(mount, limit_copies, answers->store);
	answers->cursors = cursors_new(&nofuse->skeleton, (unsigned)choose_folders(left));
	return answers->store && answers->cursors ? 0 : -ENOMEM;
}

/* What was made is removed where no server has been started, which could not. */
void nofuse_free(struct nofuse *nofuse)
{
	if (!nofuse)
		return;
	if (!nofuse->guard)
		skeleton_remove(&nofuse->skeleton);
	store_free(nofuse->answers.store);
	cursors_free(nofuse->answers.cursors);
	scope_close(&nofuse->answers.listener.fd);
	skeleton_release(&nofuse->skeleton);
	sem_destroy(&nofuse->turns);
	free(nofuse);
}

const char *nofuse_path(const struct nofuse *nofuse)
{
	return nofuse->skeleton.path;
}

/* --- processes ------------------------------------------------------------------------------- */

static void kill_children(void)
{
	SCOPE_DIR DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (job_parent(pid) == getpid())
			kill(pid, SIGKILL);
	}
}

/* Whether there is none left; takes those that have ended. Other threads wait for their own. */
static bool reap(void)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG | __WNOTHREAD);
	while (pid > 0);
	return pid < 0;
}

/* Children of a process that ends become this one's: so all of them come to an end. One that cannot
 * be seen now, as descriptors are short, may be later; one that storage holds may take long. */
static void end_children(const sigset_t *signals)
{
	while (!reap()) {
		kill_children();
		sigtimedwait(signals, NULL, &look);
	}
}

static _Noreturn void guard(struct nofuse *nofuse, pid_t server, const sigset_t *signals)
{
	int how = daemon_lead(server, signals);

	end_children(signals);
	skeleton_remove(&nofuse->skeleton);
	if (WIFEXITED(how))
		_exit(WEXITSTATUS(how));
	log_error("%s: its server was killed by signal %d, and the command with it",
		  nofuse->skeleton.path, WTERMSIG(how));
	_exit(EXIT_FAILED);
}

int nofuse_guard(struct nofuse *nofuse, const sigset_t *signals)
{
	pid_t own = getpid(), pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0)
		guard(nofuse, pid, signals);
	nofuse->guard = own;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, NOFUSE_ALONE);
	if (nofuse_is_alone(nofuse))
		_exit(EXIT_FAILED);
	return 0;
}

bool nofuse_is_alone(const struct nofuse *nofuse)
{
	return nofuse && getppid() != nofuse->guard;
}

/* Before anybody answers; nothing here may need an answer. */
void nofuse_join(int gate, void *context)
{
	const struct nofuse *nofuse = context;
	uint32_t calls[CALLS_MAX];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (listener_install(calls, calls_listed(calls), preload_set(&nofuse->skeleton), gate) < 0)
		_exit(EXIT_FAILURE);
}

int nofuse_attach(struct nofuse *nofuse, int gate, struct err *err)
{
	int r = listener_receive(gate, &nofuse->answers.listener);

	if (r < 0)
		return err_set(err, r, "cannot listen to the calls of the command: %s",
			       strerror(-r));
	r = stats_socket_listen(&nofuse->stats_socket, &nofuse->skeleton);
	if (r < 0)
		log_notice("%s: foldstat will not find it from outside: %s", nofuse->skeleton.path,
			   strerror(-r));
	return fchdir(nofuse->skeleton.folder) < 0 ? -errno : 0; /* see resolve.h */
}

/* --- answering ------------------------------------------------------------------------------- */

/* It is going to wait: another one takes calls meanwhile. */
static void give_turn(void *context)
{
	struct answerer *answerer = context;

	if (atomic_exchange(&answerer->takes, false))
		sem_post(&answerer->nofuse->turns);
}

static void *answer_calls(void *arg)
{
	struct answerer *answerer = arg;
	struct nofuse *nofuse = answerer->nofuse;
	struct asked asked;

	while (!atomic_load(&nofuse->stopping)) {
		int r;

		if (!atomic_load(&answerer->takes)) {
			if (sem_wait(&nofuse->turns) < 0)
				continue; /* interrupted */
			atomic_store(&answerer->takes, true);
		}
		r = listener_take(&nofuse->answers.listener, &asked);
		atomic_store(&nofuse->taken, true);
		if (r == 0)
			calls_answer(&nofuse->answers, &asked, give_turn, answerer);
		else if (r != -EINTR)
			return NULL;
	}
	return NULL;
}

/* Where nobody takes a call, all whose turn it is are held up, as by storage that hangs: then it is
 * the turn of others. Without calls, it sleeps. */
static void *watch_turns(void *arg)
{
	struct nofuse *nofuse = arg;
	struct pollfd calls = {.fd = nofuse->answers.listener.fd, .events = POLLIN};

	while (!atomic_load(&nofuse->stopping) && !(calls.revents & POLLHUP)) {
		atomic_store(&nofuse->taken, false);
		if (poll(&calls, 1, -1) < 0)
			continue; /* interrupted */
		nanosleep(&turn, NULL);
		for (unsigned i = 0; i < THREADS_MAX && !atomic_load(&nofuse->taken); i++)
			give_turn(&nofuse->answerers[i]);
	}
	return NULL;
}

static void on_stop(int number)
{
	(void)number;
}

static int start_thread(struct nofuse *nofuse, void *run(void *), void *arg)
{
	pthread_attr_t attributes;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	r = -pthread_create(&nofuse->threads[nofuse->started], &attributes, run, arg);
	pthread_attr_destroy(&attributes);
	nofuse->started += r == 0;
	return r;
}

int nofuse_serve(struct nofuse *nofuse, struct err *err)
{
	const struct sigaction interrupt = {.sa_handler = on_stop};
	uint64_t wanted = mount_settings(nofuse->mount)->threads;
	int r = mount_start(nofuse->mount, NULL);

	nofuse->serving = true;
	if (r == 0)
		r = stats_socket_serve(&nofuse->stats_socket, nofuse->mount);
	sigaction(STOP, &interrupt, NULL);
	wanted = wanted ? wanted : THREADS_MAX;
	while (r == 0 && nofuse->started < wanted) {
		struct answerer *answerer = &nofuse->answerers[nofuse->started];

		answerer->nofuse = nofuse;
		r = start_thread(nofuse, answer_calls, answerer);
	}
	if (r == 0)
		r = start_thread(nofuse, watch_turns, nofuse);
	return r < 0 && nofuse->started == 0 ? err_set(err, r, "%s", err_text(NULL, r)) : 0;
}

/* Those that began to wait just after they were interrupted are interrupted again. Storage that
 * hangs lets none go but at the end of the process. */
static void stop_threads(struct nofuse *nofuse)
{
	const struct timespec tick = {.tv_nsec = CLOCK_SECOND / 1000};
	uint64_t until = clock_ns() + HELD_UP * CLOCK_SECOND;

	atomic_store(&nofuse->stopping, true);
	while (nofuse->started && clock_ns() < until) {
		for (unsigned i = 0; i < nofuse->started; i++)
			pthread_kill(nofuse->threads[i], STOP);
		cache_give_up(mount_cache(nofuse->mount), 0);
		nanosleep(&tick, NULL);
		while (nofuse->started &&
		       pthread_tryjoin_np(nofuse->threads[nofuse->started - 1], NULL) == 0)
			nofuse->started--;
	}
}

static void wait_for_leftovers(const struct nofuse *nofuse, const sigset_t *signals)
{
	uint64_t began = clock_ns();
	bool logged = false;

	while (!reap() && !nofuse_is_alone(nofuse)) {
		int signo = sigtimedwait(signals, NULL, &look);
		int waited = (int)((clock_ns() - began) / CLOCK_SECOND);

		if (waited >= LEFTOVERS || (signo > 0 && signo != SIGCHLD))
			break;
		if (waited && !logged)
			log_notice("%s: processes that COMMAND left behind have %d s to end",
				   nofuse->skeleton.path, LEFTOVERS - waited);
		logged = waited;
	}
}

void nofuse_end(struct nofuse *nofuse, const sigset_t *signals)
{
	wait_for_leftovers(nofuse, signals);
	end_children(signals);
	stats_socket_end(&nofuse->stats_socket, STOP);
	stop_threads(nofuse);
	if (nofuse->serving && nofuse_has_ended(nofuse))
		mount_stop(nofuse->mount);
	nofuse->serving = false;
}

bool nofuse_has_ended(const struct nofuse *nofuse)
{
	return !nofuse || !nofuse->started;
}
