/* Files of a dataset that several threads read as a whole, in an order that is known before.
 *
 *	batch_ahead_new -> batch_ahead_begin (each file that will be read, in order)
 *	                -> batch_ahead_read (each of these, in any thread) -> batch_ahead_free
 *
 * Where a read is a round trip to another machine, files that lie beside each other come by one
 * request (batches.h), and several requests are under way before anybody waits for them. Elsewhere
 * each file is read by itself, as the system reads ahead.
 *
 * Memory: nothing, or the batches of the files that are begun and not read yet. One thread calls
 * all but batch_ahead_read(). */
#pragma once

#include "pack/dataset.h"

struct batch_ahead;

/* `files` is borrowed. 0, -ENOMEM, or as reader_prepare(). */
int batch_ahead_new(struct dataset *dataset, const uint32_t *files, size_t count,
		    struct batch_ahead **ret);
/* What is under way is given up. Nobody may be reading. NULL is fine. */
void batch_ahead_free(struct batch_ahead *ahead);

/* The file of this number, counted in `files` and greater than those before, will be read once. */
void batch_ahead_begin(struct batch_ahead *ahead, size_t number);

/* Fills buf with all bytes of a file, which need not have begun. They match their checksums, if
 * they have any. 0, -EBADMSG, -EINTR (interrupt.h), or the error of the read. */
int batch_ahead_read(struct batch_ahead *ahead, size_t number, void *buf);
