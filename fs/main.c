/* foldfs: from the command line to a mount and back, in the order that forking, namespaces and
 * threads require:
 *
 *	options -> pack and cache (no threads) -> mount point -> fork -> mount
 *	        -> fork helper and COMMAND -> sandbox -> serve (threads)
 *	        -> say so -> signals until the end */
#include "base/clock.h"
#include "base/exit.h"
#include "base/io.h"
#include "base/libc.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/math.h"
#include "base/name.h"
#include "base/scope.h"
#include "base/signals.h"
#include "fs/announce.h"
#include "fs/life/command.h"
#include "fs/life/daemon.h"
#include "fs/life/mountpoint.h"
#include "fs/nofuse/nofuse.h"
#include "fs/session.h"
#include "fs/stall.h"
#include "fs/version.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LEFTOVERS 5 /* seconds that processes may use the mount after COMMAND has ended */
#define QUIET	  (2 * CLOCK_SECOND) /* without a request: the mount is not used */

struct program {
	struct settings settings;
	struct mount *mount;
	struct session *session;
	struct nofuse *nofuse; /* in place of the session and a mount; NULL: none */
	struct mountpoint mountpoint;
	struct daemon daemon;
	struct limits limits; /* as COMMAND gets them */
	sigset_t signals;
	struct stall stall;
	uint64_t seconds; /* of waiting for the end */
	struct {
		uint64_t until, used; /* ns; until 0: there was no SIGTERM */
		uint64_t uses;	      /* so far, when it was `used` last */
	} grace;
	struct command command;
	int status; /* exit status: that of COMMAND, if there is one */
};

static int complain(const char *path, const struct err *err, int error)
{
	if (path)
		log_error("%s: %s", path, err_text(err, error));
	else
		log_error("%s", err_text(err, error));
	return (int)exit_status_of(error);
}

/* --- starting -------------------------------------------------------------------------------- */

static int open_log(const char *path)
{
	int fd;

	if (!io_is_text(path)) /* a pack, where a word slipped */
		return log_fail(-EEXIST, "%s: no text that '--log' could append to", path);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	if (fd < 0)
		return log_fail(-errno, "%s: %m", path);
	log_to_file(fd);
	return 0;
}

/* Whether this process would end by a signal that somebody sends to all of a job. */
static bool would_end(int signo)
{
	const int others[] = {SIGKILL,	SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGURG,
			      SIGWINCH, SIGILL,	 SIGTRAP, SIGBUS,  SIGFPE,  SIGSEGV, SIGSYS};
	struct sigaction action;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (signo == others[i])
			return false;
	return sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_DFL;
}

/* The main thread takes all signals that would end it by sigtimedwait(), but those of its own
 * faults. Signals that were ignored when foldfs started, as by nohup(1), stay ignored by it and the
 * command; except for those that say that the command or the session has ended. */
static void block_signals(struct program *program)
{
	int taken[NSIG];
	size_t count = 0;

	signal(SESSION_ENDED, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	for (int signo = 1; signo < NSIG; signo++)
		if (would_end(signo)) /* SIGCHLD is taken, too */
			taken[count++] = signo;
	program->signals = signals_block(taken, count);
}

/* If there is a command, a private namespace is as good as the common one. Root of a container may
 * need it too, because it may lack privileges. */
static int mount_somewhere(struct program *program, struct err *err)
{
	struct mountpoint *mountpoint = &program->mountpoint;
	int r = session_mount(program->session, mountpoint->path, mountpoint->folder, err);
	struct err first = *err;

	if (r == 0 || !program->settings.command)
		return r;
	log_detail("%s: %s; trying a private namespace", mountpoint->path, first.text);
	r = mountpoint_go_private(mountpoint, err);
	if (r < 0)
		return err_set(err, r, "%s; and %s", first.text, err_text(err, r));
	r = session_mount(program->session, mountpoint->path, mountpoint->folder, err);
	/* Other jobs may have mounted there in their own namespaces, and would lose their mounts
	 * with the folder. */
	if (r == 0)
		mountpoint->created = false;
	return r;
}

/* --- until the end --------------------------------------------------------------------------- */

/* The seconds after which it is to be called again. */
static uint64_t watch_storage(struct program *program)
{
	return stall_watch(&program->stall, mount_cache(program->mount),
			   program->settings.io_timeout, mount_label(program->mount)->path);
}

/* Waits for a signal. Returns it, or 0 if something has to be looked at: an idle mount is seldom
 * woken. */
static int next_signal(struct program *program, siginfo_t *info)
{
	uint64_t timeout = program->settings.timeout, rest = watch_storage(program);
	struct timespec time = {0};
	int signo;

	if (program->grace.until)
		rest = 1;
	else if (timeout)
		rest = min(rest, timeout - program->seconds % timeout);
	time.tv_sec = (time_t)rest;
	do
		signo = sigtimedwait(&program->signals, info, &time);
	while (signo < 0 && errno == EINTR);
	if (signo > 0)
		return signo;
	program->seconds += rest;
	return 0;
}

/* Unmounting would also take away what is mounted on top. */
static bool may_end(const struct program *program)
{
	if (session_is_closed(program->session) ||
	    mountpoint_view(&program->mountpoint) != MOUNTPOINT_COVERED)
		return true;
	log_error("%s: something else is mounted on top of it: unmount that first",
		  program->mountpoint.path);
	return false;
}

/* Batch systems send SIGTERM to all processes of a job, which may need the mount to save its state.
 * Returns whether to serve on for now. */
static bool begin_grace(struct program *program, int signo)
{
	uint64_t seconds = program->settings.grace;

	if (signo != SIGTERM || !seconds || program->grace.until ||
	    program->mountpoint.handed_over || session_is_closed(program->session))
		return false;
	program->grace.used = clock_ns();
	program->grace.until = program->grace.used + seconds * CLOCK_SECOND;
	session_watch(program->session);
	log_notice("%s: received SIGTERM; will unmount once idle, within %llu s at most",
		   program->mountpoint.path, (unsigned long long)seconds);
	return true;
}

/* Waits until the mount is gone, or is to be unmounted. */
static void wait_for_end(struct program *program)
{
	uint64_t timeout = program->settings.timeout;
	bool with_command = program->command.pid > 0;
	uint64_t uses, now;
	siginfo_t info;

	while ((!with_command || program->command.pid) && !nofuse_is_alone(program->nofuse)) {
		switch (next_signal(program, &info)) {
		case 0:
			if (with_command)
				break;
			if (timeout && program->seconds % timeout == 0)
				mountpoint_expire(&program->mountpoint);
			if (!program->grace.until)
				break;
			/* This comes once a second. */
			uses = mount_uses(program->mount);
			now = clock_ns();
			if (now >= program->grace.until) {
				program->grace.until = 0;
				if (may_end(program))
					return;
				break;
			}
			if (program->grace.uses != uses) {
				program->grace.uses = uses;
				program->grace.used = now;
			}
			if (now - program->grace.used >= QUIET &&
			    mountpoint_leave(&program->mountpoint))
				return;
			break;
		case SIGCHLD:
			/* Without a mount, children of COMMAND become this thread's. */
			command_reap(&program->command, program->nofuse != NULL, &program->status);
			break;
		default:
			if (with_command)
				command_signal(&program->command, &info);
			else if (may_end(program) && !begin_grace(program, info.si_signo))
				return;
		}
	}
}

/* Waits for other jobs that use the mount for their commands. */
static void wait_for_other_jobs(struct program *program)
{
	const struct timespec look = {.tv_nsec = 100000000};
	uint64_t watch = 0;
	bool logged = false;
	int signo;

	while (!mountpoint_close(&program->mountpoint)) {
		if (clock_ns() >= watch)
			watch = clock_ns() + watch_storage(program) * CLOCK_SECOND;
		if (!logged)
			log_notice("%s: another foldfs runs a command over this mount: waiting",
				   program->mountpoint.path);
		logged = true;
		signo = sigtimedwait(&program->signals, NULL, &look);
		if (signo > 0 && signo != SIGCHLD)
			return;
	}
}

static bool unmount_or_say(struct mountpoint *mountpoint)
{
	if (mountpoint_unmount(mountpoint) == 0)
		return true;
	log_error("%s: cannot be unmounted; a dead mount stays", mountpoint->path);
	return false;
}

/* Unmounts. Open files keep the session alive until a second signal comes. Processes that outlive
 * the command keep it alive for LEFTOVERS seconds. */
static void leave_mount(struct program *program)
{
	struct mountpoint *mountpoint = &program->mountpoint;
	bool removed = false;
	siginfo_t info;
	int signo;

	if (program->settings.command)
		wait_for_other_jobs(program);
	if (session_is_closed(program->session)) {
		removed = !mountpoint_is_left(mountpoint);
		if (!removed) {
			log_error("%s: the connection to the kernel was aborted", mountpoint->path);
			program->status = program->status ? program->status : EXIT_FAILED;
		}
	}
	removed = removed || unmount_or_say(mountpoint);
	if (!program->settings.command) {
		do {
			if (session_join(program->session, 0))
				return;
			signo = next_signal(program, &info);
		} while (!signo || signo == SESSION_ENDED || signo == SIGCHLD);
	} else if (removed) {
		if (session_join(program->session, LEFTOVERS))
			return;
		log_notice("%s: still in use by processes that COMMAND left behind",
			   mountpoint->path);
	}
	if (!session_is_closed(program->session))
		mountpoint_abort(mountpoint);
}

static int fork_command(struct program *program, command_fn *first, struct err *err)
{
	int r = command_fork(&program->command, program->settings.command, &program->signals,
			     &program->limits, first, program->nofuse);

	return r < 0 ? err_fork(err, r) : 0;
}

static void enter_sandbox(const struct program *program)
{
	struct sandbox needs = mount_needs(program->mount);
	unsigned held;

	needs.command = program->command.pid;
	needs.job = program->nofuse != NULL;
	held = sandbox_enter(&needs);

	log_detail("sandbox: no new privileges%s%s",
		   held & SANDBOX_LANDLOCK ? ", no writing (Landlock)" : "",
		   held & SANDBOX_SECCOMP ? ", no calls that are not needed (seccomp)" : "");
}

/* Whether a signal has come for a daemon that nobody has been told of: as ^C of a terminal, which
 * all processes of a group get. */
static bool is_interrupted(const struct program *program)
{
	sigset_t pending;

	sigpending(&pending);
	sigandset(&pending, &pending, &program->signals);
	sigdelset(&pending, SIGCHLD);
	sigdelset(&pending, SESSION_ENDED);
	return program->daemon.parent >= 0 && !sigisemptyset(&pending);
}

/* Has a helper unmount from now on. What stays in the foreground says through it what it says to a
 * terminal; without a pipe, it goes on with the terminal. */
static int delegate(struct program *program)
{
	const struct settings *settings = &program->settings;
	bool stays = (settings->foreground || settings->command) && settings->sandbox == 0;
	int log_pipe[2] = {-1, -1}, r;

	if (stays && !program->mountpoint.handed_over && isatty(STDERR_FILENO) &&
	    pipe2(log_pipe, O_CLOEXEC) < 0)
		log_detail("the terminal stays open: %m");
	r = mountpoint_delegate(&program->mountpoint, log_pipe[0]);
	if (r == 0 && stays)
		daemon_hush(log_pipe[1]);
	scope_close(&log_pipe[0]);
	scope_close(&log_pipe[1]);
	return r;
}

/* Tells whoever waits for it, and serves. */
static void serve_to_end(struct program *program)
{
	announce(program->mount, &program->mountpoint);
	if (program->settings.command)
		command_begin(&program->command);
	else
		daemon_ready(&program->daemon);
	mount_fill(program->mount);
	wait_for_end(program);
}

/* What COMMAND keeps is left once it has been forked. */
static int serve_mount(struct program *program, struct err *err)
{
	const struct settings *settings = &program->settings;
	int r = session_new(program->mount, &fs_ops, &program->session, err);

	if (r == 0)
		r = mount_somewhere(program, err);
	if (r < 0)
		return r;
	mountpoint_mounted(&program->mountpoint);
	daemon_detach(&program->daemon);
	if (settings->command)
		r = fork_command(program, NULL, err);
	if (r == 0) {
		limits_avoid_oom_killer();
		r = delegate(program);
		if (r < 0)
			err_fork(err, r);
	}
	if (r == 0) {
		if (settings->foreground || settings->command)
			log_without_waiting();
		if (settings->sandbox == 0)
			enter_sandbox(program);
		r = session_serve(program->session, err);
	}
	if (r == 0 && is_interrupted(program))
		r = err_set(err, -EINTR, "interrupted, and not mounted");
	if (r < 0) {
		command_cancel(&program->command);
		unmount_or_say(&program->mountpoint);
		return r;
	}
	serve_to_end(program);
	leave_mount(program);
	return 0;
}

/* Uses the mount of this pack that is there already, if it shows the same. */
static int use_mount(struct program *program, struct err *err)
{
	const struct settings *settings = &program->settings;
	SCOPE(buf_release) struct buf here = BUF_INIT, there = BUF_INIT;
	int r = mount_compare(program->mount, program->mountpoint.path, &here, &there);

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -EBUSY,
			       "busy: an older version of this pack, another --subdir of it, or a "
			       "mount by another release of foldfs; unmount that first: "
			       "fusermount3 -u %s",
			       program->mountpoint.path);
	r = settings->command ? mountpoint_share(&program->mountpoint) : 0;
	if (r < 0)
		return r;
	mountpoint_mounted(&program->mountpoint);
	announce_shared(program->mount, program->mountpoint.path, &here, &there);
	if (!settings->command)
		return 0;
	r = fork_command(program, NULL, err);
	if (r < 0)
		return r;
	command_begin(&program->command);
	wait_for_end(program);
	return 0;
}

/* Blocks signals after what may hang, and before there is anything to tidy up. */
static int look_at_mountpoint(struct program *program, struct err *err)
{
	const struct settings *settings = &program->settings;
	struct mountpoint *mountpoint = &program->mountpoint;
	int r;

	if (settings_are_handed_over(settings))
		r = mountpoint_take_over(mountpoint, settings->mountpoint, err);
	else
		r = mountpoint_look(mountpoint, settings->mountpoint,
				    mount_label(program->mount)->path, err);
	block_signals(program);
	if (r == -ENOENT && settings->mkdir)
		r = mountpoint_create(mountpoint, err);
	if (r < 0 || !settings->timeout)
		return r;
	if (geteuid() != 0)
		return err_set(err, -EPERM,
			       "'--timeout' needs root: only root may ask the kernel whether a "
			       "mount is in use");
	return mountpoint->handed_over
		       ? err_set(err, -EINVAL,
				 "'--timeout': the caller mounted %s, and unmounts it",
				 mountpoint->path)
		       : 0;
}

static int mount_at_point(struct program *program, struct err *err)
{
	const struct settings *settings = &program->settings;
	int r = look_at_mountpoint(program, err);

	if (r < 0)
		return r;
	if (program->mountpoint.already_mounted)
		return use_mount(program, err);
	if (!settings->foreground && !settings->command)
		r = daemon_fork(&program->daemon);
	else if (settings->sandbox == 0)
		r = daemon_stay(&program->signals);
	return r < 0 ? err_fork(err, r) : serve_mount(program, err);
}

/* The same by --no-fuse. */
static int run_without_fuse(struct program *program, struct err *err)
{
	int r = nofuse_new(program->mount, &program->nofuse, err);
	struct nofuse *nofuse = program->nofuse;

	block_signals(program);
	if (r < 0)
		return r;
	program->mountpoint.path = strdup(nofuse_path(nofuse));
	if (!program->mountpoint.path)
		return -ENOMEM;
	r = nofuse_guard(nofuse, &program->signals);
	if (r < 0)
		return err_fork(err, r);
	r = fork_command(program, nofuse_join, err);
	if (r < 0)
		return r;
	r = nofuse_attach(nofuse, program->command.gate, err);
	limits_avoid_oom_killer();
	log_without_waiting();
	if (r == 0 && program->settings.sandbox == 0)
		enter_sandbox(program);
	if (r == 0)
		r = nofuse_serve(nofuse, err);
	if (r < 0)
		command_cancel(&program->command);
	else
		serve_to_end(program);
	nofuse_end(nofuse, &program->signals);
	return r;
}

int main(int argc, char **argv)
{
	struct program program = {.daemon = DAEMON_FOREGROUND,
				  .mountpoint = MOUNTPOINT_NONE,
				  .command = COMMAND_NONE};
	SCOPE_FREE char *words = NULL;
	enum opt_want want;
	struct err err = {0};
	struct settings *settings = &program.settings;
	bool ended;
	int r;

	/* Pages of foreign files are allocated by one thread and freed by another. With an arena
	 * for each thread, the process would hold as many times their memory, and fault it in again
	 * and again: half as many images a second out of pages of 10 MB. */
	mallopt(M_ARENA_MAX, 1);
	io_fill_standard(); /* a mount on one of these would be lost when a daemon closes them */
	signal(SIGCHLD, SIG_DFL); /* where it is ignored, no child can be waited for */
	log_init("foldfs", LOG_LEVEL_NORMAL);
	if (limits_begin(&err) < 0)
		return log_fail(EXIT_FAILED, "%s", err.text);
	if (name_hide_argv(argv, &words) < 0)
		return log_fail(EXIT_FAILED, "%s", strerror(ENOMEM));
	if (settings_parse(settings, argc, argv, &want, &err) < 0)
		return log_fail(EXIT_USAGE, "%s; see foldfs --help", err.text);
	if (want == OPT_VERSION) {
		version_print();
		return exit_finish(EXIT_DONE);
	}
	if (want == OPT_HELP) {
		opt_help(settings_command(), stdout);
		return exit_finish(EXIT_DONE);
	}
	if (settings->debug)
		settings->foreground = settings->verbose = true;
	log_init("foldfs", settings->verbose ? LOG_LEVEL_VERBOSE : LOG_LEVEL_NORMAL);
	if (settings->log && open_log(settings->log) < 0)
		return EXIT_FAILED;
	settings->remote.notice = log_notice_line;
	limits_raise_files(&program.limits);
	r = mount_new(settings, &program.mount, &err);
	if (r < 0)
		return complain(NULL, &err, r);
	r = settings->no_fuse ? run_without_fuse(&program, &err) : mount_at_point(&program, &err);
	if (r < 0)
		program.status = complain(settings->mountpoint, &err, r);
	daemon_tell(&program.daemon, program.status);
	ended = nofuse_has_ended(program.nofuse) &&
		(!program.session || session_join(program.session, 0));
	if (ended) {
		nofuse_free(program.nofuse);
		session_free(program.session);
		mount_free(program.mount);
	}
	mountpoint_release(&program.mountpoint);
	/* A session that outlives its grace still answers requests: what it uses is here, and in
	 * libraries, up to the end of the process. */
	if (!ended)
		_exit(program.status);
	return program.status;
}
