/* A seccomp filter: tests of a system call, one after the other, up to one that returns a verdict;
 * what none of them returns for is allowed.
 *
 *	filter_begin                           other architectures, then the number of the call
 *	filter_calls, filter_return_if ..      tests of what was loaded last: the number at first
 *	n = filter_if .. filter_end_if(n)      several for one call
 *	filter_install
 *
 * Only the low word of an argument that is an int counts, for the kernel too. */
#pragma once

#include "base/uapi.h"
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_MAX	     640
#define FILTER_REFUSE(error) (SECCOMP_RET_ERRNO | (error))
#define FILTER_LOW(n)	     offsetof(struct seccomp_data, args[n])
#define FILTER_HIGH(n)	     (FILTER_LOW(n) + 4)

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short len;
};

/* `foreign`: the verdict over calls of other architectures, as of 32-bit programs, which have other
 * numbers. */
void filter_begin(struct filter *filter, uint32_t foreign);

void filter_load(struct filter *filter, size_t offset); /* of struct seccomp_data */
void filter_mask(struct filter *filter, uint32_t bits);
void filter_xor(struct filter *filter, size_t offset); /* with another word of that */
void filter_return(struct filter *filter, uint32_t verdict);

/* What follows up to filter_end_if() holds if the test (BPF_JEQ, BPF_JGE, BPF_JSET) does. Returns
 * what that is to get. */
unsigned filter_if(struct filter *filter, uint16_t test, uint32_t value);
unsigned filter_if_either(struct filter *filter, uint32_t one, uint32_t other);
void filter_end_if(struct filter *filter, unsigned at);

void filter_return_if(struct filter *filter, uint16_t test, uint32_t value, uint32_t verdict);
/* One verdict for all of these numbers. */
void filter_calls(struct filter *filter, const uint32_t *calls, size_t count, uint32_t verdict);
#define FILTER_CALLS(filter, calls, verdict) \
	filter_calls(filter, calls, sizeof(calls) / sizeof((calls)[0]), verdict)

/* Holds for this thread and what it will start, which can gain no privileges from then on. Returns
 * what seccomp(2) does, or -errno. */
int filter_install(struct filter *filter, unsigned long flags);
