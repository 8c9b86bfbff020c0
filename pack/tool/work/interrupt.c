#include "pack/tool/work/interrupt.h"

#include "base/exit.h"
#include "base/signals.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WAKE SIGURG /* ends what the main thread waits for */

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

/* Any thread looks at it, and any may be the one that the signal comes to. */
static atomic_int pending;
static atomic_uint_least64_t first; /* when it came */

static void note_signal(int signal_number)
{
	uint64_t now = clock_ns(), none = 0;

	if (atomic_compare_exchange_strong(&first, &none, now)) {
		atomic_store_explicit(&pending, signal_number, memory_order_relaxed);
		syscall(SYS_tgkill, getpid(), getpid(), WAKE);
	} else if (now - none >= INTERRUPT_GRACE) {
		signal(signal_number, SIG_DFL);
		raise(signal_number);
	}
}

static void wake(int signal_number)
{
	(void)signal_number;
}

static void *await_signals(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void set_handlers(void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!signals_ignored(ends[i]))
			sigaction(ends[i], &action, NULL);
}

static void begin_thread(void)
{
	/* Without SA_RESTART: a read that hangs gives up. */
	const struct sigaction action = {.sa_handler = wake};
	pthread_t thread;

	sigaction(WAKE, &action, NULL);
	/* Where there is no thread for them, signals come to this one as ever. */
	if (pthread_create(&thread, NULL, await_signals, NULL) == 0)
		signals_block(ends, sizeof(ends) / sizeof(ends[0]));
}

void interrupt_catch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	set_handlers(note_signal);
	pthread_once(&once, begin_thread);
}

void interrupt_let(void)
{
	set_handlers(SIG_DFL);
}

int interrupt_pending(void)
{
	return atomic_load_explicit(&pending, memory_order_relaxed);
}

bool interrupt_came(void *unused)
{
	(void)unused;
	return interrupt_pending() != 0;
}

int interrupt_die_by(int signal_number)
{
	sigset_t only;

	sigemptyset(&only);
	sigaddset(&only, signal_number);
	signal(signal_number, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &only, NULL);
	raise(signal_number);
	return EXIT_FAILED;
}

int interrupt_die(void)
{
	int caught = interrupt_pending();

	return caught ? interrupt_die_by(caught) : EXIT_FAILED;
}
