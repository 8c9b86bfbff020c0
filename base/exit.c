#include "base/exit.h"
#include "base/log.h"
#include <stdio.h>

int exit_finish(int status)
{
	bool failed = ferror(stdout);

	if (fflush(stdout) == 0 && !failed)
		return status;
	if (errno != EPIPE)
		log_error("standard output: %m");
	return status == EXIT_DONE || status == EXIT_SKIPPED ? EXIT_FAILED : status;
}
