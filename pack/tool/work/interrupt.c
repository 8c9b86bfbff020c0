#include "pack/tool/work/interrupt.h"

#include "base/clock.h"
#include "base/exit.h"
#include "base/signals.h"
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#define GRACE (5 * CLOCK_SECOND)

/* Any thread looks at it, and any may be the one that the signal comes to. */
static atomic_int pending;
static atomic_uint_least64_t first; /* when it came */

static void note_signal(int signal_number)
{
	uint64_t now = clock_ns(), none = 0;

	if (atomic_compare_exchange_strong(&first, &none, now)) {
		atomic_store_explicit(&pending, signal_number, memory_order_relaxed);
	} else if (now - none >= GRACE) {
		signal(signal_number, SIG_DFL);
		raise(signal_number);
	}
}

static void set_handler(void (*handler)(int))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	/* Without SA_RESTART: a read that hangs gives up. */
	struct sigaction action = {.sa_handler = handler};

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
