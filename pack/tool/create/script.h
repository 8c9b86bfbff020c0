/* A source that a Python script reads, with a library of Python: python/foldfs/sources/, which says
 * what a script writes where. One that foldpack stops is killed; where foldpack dies, writing to
 * the pipe ends it. */
#pragma once

#include "base/err.h"
#include "pack/foreign/settings.h"
#include <sys/types.h>

struct script {
	pid_t process; /* 0: none */
	int tar;       /* to be read */
	int said;
};

#define SCRIPT_INIT        \
	{                  \
		0, -1, -1, \
	}

/* Begins to read `source` by the script `name`, as "hdf5", in the python3 that FOLDFS_PYTHON names,
 * or the one in PATH. It is told the keys in the settings. Returns 0, or -errno;
 * err says the way out where that or the script is not there. */
int script_begin(struct script *script, const char *name, const char *source,
		 const struct foreign_settings *settings, struct err *err);

/* Once the tar was read: awaits the end of the script. Prints what it said, as notices about
 * `source`. Returns 0; or why it failed, in its own words: -EBADMSG (the source is damaged, or the
 * library crashes on it), -ENOMSG (the source is not what the script reads), -ECANCELED; or -errno.
 */
int script_end(struct script *script, const char *source, struct err *err);

/* Ends a script that is still running. */
void script_release(struct script *script);
