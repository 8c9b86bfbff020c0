/* The name of one of several files: x-00003-of-00015.lmdb. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct set_name {
	const char *name;
	size_t base;	   /* bytes of the folder, with its slash */
	size_t before;	   /* bytes before "-00003", the folder with them */
	const char *after; /* after "-00015": ".lmdb" */
	size_t after_len;  /* without the query of a URL */
	uint64_t number, of;
	int digits;
};

/* The first "-N-of-M" in the last component; false: there is none. */
bool set_name_parse(const char *name, struct set_name *ret);

/* Parses a number of up to 18 digits, and passes it: its value, and how many digits it has. */
bool set_name_number(const char **at, uint64_t *ret, int *ret_digits);
