#include "pack/tool/interrupt.h"

#include "base/exit.h"
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t pending;

static void note(int signal_number)
{
	pending = signal_number;
}

void interrupt_catch(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	/* Without SA_RESTART: a read that hangs gives up. */
	struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND};
	struct sigaction before;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

int interrupt_pending(void)
{
	return pending;
}

int interrupt_die(void)
{
	if (pending) {
		signal(pending, SIG_DFL);
		raise(pending);
	}
	return EXIT_FAILED;
}
