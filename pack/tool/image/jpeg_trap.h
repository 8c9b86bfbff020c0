/* libjpeg's failures, caught: what jpeg.c and jpeg_check.c share.
 *
 * libjpeg reports a failure by a call that must not return. Here it jumps, to where the function
 * that called libjpeg has said
 *
 *	if (setjmp(trap->jump))
 *		return trap->code;
 *
 * so that everything which that function has to give back is in a struct of its caller. A warning
 * (damaged data that libjpeg would make up for) is a failure here, too, unless the caller sets
 * other functions in trap->manager; those end by jpeg_trap_spring(). */
#pragma once

#include "base/err.h"
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/* A scan of a few bytes can make the decoder walk through the whole picture, and some files are
 * made to have many of them. Encoders make about 10. */
#define JPEG_SCANS 500

struct jpeg_trap {
	struct jpeg_error_mgr manager;
	struct err *err; /* borrowed; gets libjpeg's words */
	jmp_buf jump;
	/* -EBADMSG: damaged; -EFBIG: too large; -ENOTSUP: a kind of JPEG that libjpeg does not
	 * decode; -ENOMEM. */
	int code;
};

/* For the `err` field of either struct of libjpeg, before that is created. Its client_data is the
 * trap. */
struct jpeg_error_mgr *jpeg_trap_init(struct jpeg_trap *trap, struct err *err);

/* The code for a failure, by libjpeg's number of its message. */
int jpeg_trap_code(int message);

/* Whether a progressive picture, all of which has been read, lacks scans. */
bool jpeg_lacks_scans(const struct jpeg_decompress_struct *jpeg);

/* Jumps. */
void jpeg_trap_spring(struct jpeg_trap *trap, int code) __attribute__((noreturn));

/* A reader of a JPEG in memory. */
struct jpeg_reader {
	struct jpeg_decompress_struct jpeg;
	struct jpeg_trap trap;
	struct jpeg_progress_mgr progress;
};

/* Begins to read. To be called where jumps are caught. Reading fails if coefficients would take
 * more than a GiB (a few kilobytes may claim to be gigapixels), and for progressive images with
 * very many scans, which take seconds a kilobyte. */
void jpeg_reader_begin(struct jpeg_reader *reader, const uint8_t *data, size_t len);
void jpeg_reader_release(struct jpeg_reader *reader);
