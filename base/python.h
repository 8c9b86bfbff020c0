/* What comes with a program: files beside it where it was built, and in another folder where it is
 * installed; and the python3 that runs the scripts among them, python/foldfs/sources/ and tools/.
 */
#pragma once

#include "base/buf.h"

/* Finds a file that can be read: `built` and `installed` are folders from that of the program on,
 * "" or with a slash behind them. 0, -ENOENT or -errno. */
int beside_find(const char *built, const char *installed, const char *name, struct buf *ret);

#define PYTHON_WAY_OUT "; install python3, or let FOLDFS_PYTHON name one"

/* $FOLDFS_PYTHON, or "python3", which execvp(3) finds. */
const char *python_program(void);
/* The same, for a script that loads others beside it: takes PYTHONSAFEPATH out of the environment,
 * so only before threads begin that read it. */
const char *python_program_beside(void);

/* What a python3 is given in place of the path of a script, so that one that is too old for the
 * script says so in one line of standard error, and ends with the status 1. */
#define PYTHON_RUN(path) "-c", python_run, path
extern const char python_run[];

/* Finds NAME.py in a folder of scripts, "sources" or "tools". 0, -ENOENT or -errno. */
int python_script(const char *folder, const char *name, struct buf *ret);
