/* Finds numbers by a hash of 32 bits. Equal hashes prove nothing: the caller compares what they
 * stand for. All zero is an empty table. Memory: 9 to 18 bytes a number, and half as much again
 * while it grows. One thread at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct number_table {
	struct number_slot *slots; /* a power of two of them */
	size_t count, room;
};

void number_table_release(struct number_table *table);

/* The next number that was added with this hash, or 0. *at is 0 at first. */
uint32_t number_table_next(const struct number_table *table, uint32_t hash, size_t *at);

/* Adds a number, which is not 0. Returns 0 or -ENOMEM. */
int number_table_add(struct number_table *table, uint32_t hash, uint32_t number);
