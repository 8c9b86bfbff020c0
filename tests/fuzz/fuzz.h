/* What every target has: libFuzzer's functions, and the input as a file. */
#pragma once

#include "base/io.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The target. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* What may take the place of LLVMFuzzerMutate(), and call it. Returns the new size. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

static inline void must(bool kept)
{
	if (!kept)
		abort();
}

/* A file with these bytes. The caller closes it. */
static inline int fuzz_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0 && io_pwrite_full(fd, data, size, 0) == 0);
	return fd;
}
