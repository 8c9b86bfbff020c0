#include "pack/tool/work/interrupt.h"

#include "base/exit.h"
#include "base/signals.h"
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* Any thread looks at it, and any may be the one that the signal comes to. */
static atomic_int pending;

static void note_signal(int signal_number)
{
	atomic_store_explicit(&pending, signal_number, memory_order_relaxed);
}

static void set_handler(void (*handler)(int))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	/* Without SA_RESTART: a read that hangs gives up. */
	struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!signals_ignored(signals[i]))
			sigaction(signals[i], &action, NULL);
}

void interrupt_catch(void)
{
	set_handler(note_signal);
}

void interrupt_let(void)
{
	set_handler(SIG_DFL);
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

int interrupt_die(void)
{
	int caught = interrupt_pending();

	if (caught) {
		signal(caught, SIG_DFL);
		raise(caught);
	}
	return EXIT_FAILED;
}
