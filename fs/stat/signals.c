#include "fs/stat/signals.h"

sigset_t signals_block(const int *numbers, size_t count)
{
	struct sigaction action;
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < count; i++)
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signals;
}
