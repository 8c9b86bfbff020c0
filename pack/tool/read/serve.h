/* A command whose work a script does: python/foldfs/tools/. One child becomes the python3 that
 * FOLDFS_PYTHON names, or the one in PATH; another opens each pack, and answers what the script
 * asks by two pipes. This process ends as the script does. A signal ends that by SIGTERM, a later
 * one (pack/tool/work/interrupt.h) at once, with the programs that it has started.
 * python/foldfs/tools/pack.py is the other end, and says what there is to ask.
 *
 *	script -> struct serve_open                       -> the tree: lines of JSON
 *	script -> struct serve_files, struct serve_file.. -> struct serve_answer and the bytes, of
 *	                                                     each file in order; then an empty one
 *	script -> a byte, once it is done with a file
 *
 * Bytes are in memory that both have, where there is some and they are not too many.
 *
 * Where the script ends, all do. What opening a pack fails with, its child says, and ends with that
 * status, which becomes that of this process. */
#pragma once

#include "pack/tool/cli/cmd.h"

struct serve {
	const char *script; /* "export" */
	const char *doing;  /* "exporting": what its progress is called */
	const struct cmd_line *line;
	/* The script is told which options differ from these, but those of `common`; */
	const void *defaults;
	char **words;	     /* NULL-ended; these, without secrets; */
	unsigned jobs;	     /* and how many threads read */
	size_t first, packs; /* words[first] and so on are opened */
};

/* What else than parts of the index (enum dataset_part) is sent. */
#define SERVE_SUMMARY 8	 /* what `foldpack info --json -v` says */
#define SERVE_FOLDERS 16 /* folders that are not empty, too */

/* What files are ranked by. */
enum serve_rank {
	SERVE_UNRANKED,
	SERVE_PLACE, /* where their bytes lie in the pack */
	SERVE_HASH,  /* the XXH3-64 of their paths under a seed */
};

struct serve_open {
	uint32_t parts;
	uint32_t rank;
	uint64_t seed;
};

struct serve_files {
	uint32_t count;
	uint32_t checksum; /* whether the CRC-32C of the bytes is wanted */
};

/* What is wanted of a file. */
#define SERVE_BYTES 1
#define SERVE_LOOK  2 /* what image it is, and whether it is sound: image.h, check.h */

struct serve_file {
	uint32_t entry;
	uint32_t crc; /* of what comes before the bytes */
	uint64_t want;
	uint64_t from, size; /* a piece of the file; or 0 and all of it */
};

struct serve_answer {
	int32_t error; /* 0, or -errno: then there are no bytes */
	uint32_t crc;  /* of what comes before, and the bytes */
	uint64_t look; /* of an object of JSON, which follows */
	uint64_t size; /* of the bytes: in the shared memory, */
	int64_t at;    /* from here on; below 0: they come then */
};

/* Returns the status to end with. */
int serve_run(const struct serve *serve);
