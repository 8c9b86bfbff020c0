/* The python3 that runs the scripts which come with foldfs: python/foldfs/sources/ and tools/. */
#pragma once

#include "base/buf.h"

#define PYTHON_WAY_OUT "; install python3, or let FOLDFS_PYTHON name one"

/* $FOLDFS_PYTHON, or "python3", which execvp(3) finds. */
const char *python_program(void);
/* The same, for a script that loads others beside it: takes PYTHONSAFEPATH out of the environment,
 * so only before threads begin that read it. */
const char *python_program_beside(void);

/* Finds NAME.py in a folder of scripts, "sources" or "tools". 0, -ENOENT or -errno. */
int python_script(const char *folder, const char *name, struct buf *ret);
