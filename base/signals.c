#include "base/signals.h"

sigset_t signals_block(const int *numbers, size_t count)
{
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < count; i++)
		if (!signals_ignored(numbers[i]))
			sigaddset(&signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signals;
}

void signals_unblock(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int thread_without_signals(pthread_t *ret, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}
