/* The list that im2rec.py makes records from: a line a record, its number, its labels and the path
 * of its image, between tabs. */
#ifndef PACK_FOREIGN_RECORD_RECORDIO_LIST_H
#define PACK_FOREIGN_RECORD_RECORDIO_LIST_H

#include "pack/foreign/source.h"
#include "pack/foreign/tree.h"

struct recordio_list {
	struct buf text;
	struct buf rows; /* by number */
};

/* Reads the .lst beside the source, if there is one; all zero is an empty list. Lines that are not
 * as above do not count. 0, -ENOMEM, or why it cannot be read. */
int recordio_list_read(struct recordio_list *list, struct foreign_source *source, struct err *err);
void recordio_list_release(struct recordio_list *list);

/* The path; data is NULL where the list has none. */
struct foreign_text recordio_list_find(const struct recordio_list *list, uint64_t number);

#endif
