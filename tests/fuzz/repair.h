/* Lets damage past the doors: what is wrong with a mutated input only because its bytes changed,
 * checksums and the numbers of pages, is made right again. Whatever the bytes, nothing outside of
 * them is touched. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The checksum of a superblock of FORMAT_SUPER_BYTES. */
void repair_super(uint8_t *super);
/* The page numbers of an LMDB. If it is a pack, the checksums of its sections and superblock. */
void repair_pack(uint8_t *data, size_t size);

/* The same of an index that is a file of its own. */
void repair_index(uint8_t *data, size_t size);

/* LLVMFuzzerCustomMutator() of packs and other LMDBs. Most of their bytes are contents and gaps, so
 * that the change mostly goes into a page's header and its offsets, into a node, a section or the
 * superblock. One time in eight the damage is not repaired. */
size_t repair_mutate_pack(uint8_t *data, size_t size, size_t room, unsigned seed);
