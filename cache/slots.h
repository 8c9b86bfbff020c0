/* The pool's memory: an arena of 16 KiB slots, of which extents take chains.
 *
 * 16 KiB waste 7 % on photographs, 64 KiB would waste 24 % (measured on 260 ImageNet photos).
 * The arena is one reserved range, aligned to huge pages; memory is taken from the system only
 * when a slot is used for the first time, and slots given back are used again first, latest
 * first. Not thread-safe.
 *
 * A slot is in use, warm (free, and its memory is held), cold (free, its memory handed back to
 * the system) or fresh (never used):
 *
 *	arena	[ in use, warm and cold, mixed       | fresh        ]
 *		0                                    touched        count
 *	free	[ warm, latest last ->     <- cold, in order last ]
 *		0              freed    count - cold          count */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SLOT_BYTES 16384u

struct slots {
	char *arena;
	uint32_t *free;		 /* two stacks that grow towards each other */
	uint32_t count, touched; /* all; ever used (a prefix of the arena) */
	uint32_t freed, cold;	 /* on the stacks: warm at the bottom, cold at the top */
	uint32_t leaving;	 /* on neither, while their memory is handed back */
	uint32_t unit;		 /* slots, 1 to 64, that share a page of the system */
};

/* Reserves bytes / SLOT_BYTES slots. Returns 0 or -ENOMEM. */
int slots_init(struct slots *slots, uint64_t bytes);
void slots_release(struct slots *slots);

static inline uint32_t slots_needed(uint32_t bytes)
{
	return (bytes + SLOT_BYTES - 1) / SLOT_BYTES;
}

static inline char *slots_at(const struct slots *slots, uint32_t slot)
{
	return slots->arena + (size_t)slot * SLOT_BYTES;
}

/* Free slots whose memory is held, and those whose memory is yet to come. */
static inline uint32_t slots_used_free(const struct slots *slots)
{
	return slots->freed;
}

static inline uint32_t slots_fresh(const struct slots *slots)
{
	return slots->count - slots->touched + slots->cold;
}

/* Slots that may be taken. */
static inline uint32_t slots_left(const struct slots *slots)
{
	return slots->freed + slots_fresh(slots);
}

/* Slots that are taken; slots whose memory is held, taken or free. */
static inline uint32_t slots_in_use(const struct slots *slots)
{
	return slots->touched - slots->freed - slots->cold - slots->leaving;
}

static inline uint32_t slots_held(const struct slots *slots)
{
	return slots->touched - slots->cold - slots->leaving;
}

/* Takes `count` free slots, which must exist: warm ones first, then cold, then fresh. */
void slots_take(struct slots *slots, uint32_t *chain, uint32_t count);
void slots_give(struct slots *slots, const uint32_t *chain, uint32_t count);

/* Memory in many pieces takes the system long: half a second for 96 MiB. So slots are chosen
 * first, and belong to nobody until their memory is gone:
 *
 *	slots_choose -> slots_hand_back (no lock is needed) -> slots_discarded
 *
 * One at a time. */
struct slots_leaving;

/* Chooses `count` warm slots, all if there are fewer. Whole huge pages go first, and the last of
 * them goes as a whole, which can be up to 2 MiB more than asked for. A slot stays warm while
 * another one in its page is in use. Costs a walk over the free slots. NULL: there are none, or no
 * memory to find them with. */
struct slots_leaving *slots_choose(struct slots *slots, uint32_t count);
void slots_hand_back(const struct slots *slots, const struct slots_leaving *leaving);
/* They are cold now. Frees `leaving`, which may be NULL. */
void slots_discarded(struct slots *slots, struct slots_leaving *leaving);
