/* foldfs's options: the table and the settings that it fills. */
#pragma once

#include "base/opt.h"
#include "pack/foreign/settings.h"
#include "remote/settings.h"
#include <stdbool.h>
#include <stdint.h>

#define SETTING_THREADS_MAX 64

struct settings {
	char **packs; /* words that name them (pack/names.h), without secrets once they are open */
	size_t pack_count;
	const char *mountpoint;
	char **command; /* the command to run on the mount, NULL-ended; NULL: none */

	bool foreground, debug, quiet, verbose, mkdir;
	bool allow_other, noexec;
	bool no_fuse;	    /* no mount: the calls of COMMAND are answered (fs/nofuse/nofuse.h) */
	bool rw, suid, dev; /* asked for, but no mount of foldfs is any of them */
	const char *contexts[4]; /* for SELinux: context, fscontext, defcontext, rootcontext */
	int sandbox;		 /* 0: on, 1: off */
	uint64_t pool;		 /* bytes; 0: a part of the available memory */
	uint64_t readahead;	 /* bytes; 0: nothing is read ahead, and there is no oracle */
	uint64_t threads; /* that serve the kernel's requests; 0: by the number of processors */
	int verify;	  /* 0: on, 1: off */
	const char *log;  /* a file that messages go to, too; NULL: none */
	const char *subdir;
	uint64_t uid, gid;   /* UINT64_MAX: the mounting user's */
	uint64_t umask;	     /* UINT64_MAX: the modes in the pack */
	uint64_t timeout;    /* seconds unused before it unmounts itself; 0: never */
	uint64_t grace;	     /* seconds that it serves on, at most, after SIGTERM */
	uint64_t io_timeout; /* seconds after which a read that waits is given up; 0: never */
	enum { SETTING_CACHE_AUTO, SETTING_CACHE_KERNEL, SETTING_CACHE_POOL } cache;
	enum { SETTING_POLICY_AUTO, SETTING_POLICY_LRU, SETTING_POLICY_PIN } policy;
	int io;	    /* enum reader_io */
	int oracle; /* 0: on, 1: off */
	uint64_t oracle_cpu;
	const char *order; /* a file of paths; NULL: none */
	bool preload;
	struct opt_list select; /* patterns; none: everything */
	int missing;		/* 0: refused, 1: ok */
	const char *cache_dir;	/* DIR[,SIZE] of the disk cache; NULL: none */
	bool prefetch;
	struct remote_settings remote;
	struct foreign_settings foreign;
};

/* Reads the command line. Returns 0, or -EINVAL with a sentence for status 2.
 * *ret_want tells whether --help or --version was asked for instead. */
int settings_parse(struct settings *settings, int argc, char **argv, enum opt_want *ret_want,
		   struct err *err);

/* Whether MOUNTPOINT is /dev/fd/N: the caller has mounted it, and will unmount it. */
bool settings_are_handed_over(const struct settings *settings);

/* Whether there is one for SELinux. */
bool settings_have_context(const struct settings *settings);

/* Calls `each` for the options that were given and make a mount another one: not those that are
 * about this process, and not the folder. As opt_given(). */
void settings_given(const struct settings *settings,
		    void (*each)(void *context, const char *name, const char *value),
		    void *context);

/* The table, for --help. */
const struct opt_command *settings_command(void);
