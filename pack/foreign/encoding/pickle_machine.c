#include "pack/foreign/encoding/pickle_machine.h"
#include <stdlib.h>
#include <string.h>

/* --- what can go wrong ------------------------------------------------------------------------ */

static int too_much(struct err *err)
{
	return err_set(err, -EOPNOTSUPP, "a pickle of more than %u values", PICKLE_MOST);
}

int pickle_damaged(const struct pickle *pickle, const char *what, struct err *err)
{
	return err_set(err, -EBADMSG, "a pickle whose opcode %s %s", pickle->opcode, what);
}

/* --- bytes ------------------------------------------------------------------------------------ */

int pickle_take(struct pickle *pickle, uint64_t len, const uint8_t **ret, struct err *err)
{
	int r;

	if (len == 0) {
		*ret = (const uint8_t *)"";
		return 0;
	}
	if (len > pickle->end - pickle->at)
		return err_set(err, -EBADMSG, "a pickle that is cut off");
	r = foreign_get(pickle->source, pickle->at, (size_t)len, ret, err);
	if (r == 0)
		pickle->at += len;
	return r;
}

int pickle_take_number(struct pickle *pickle, unsigned width, uint64_t *ret, struct err *err)
{
	const uint8_t *bytes;
	int r = pickle_take(pickle, width, &bytes, err);

	if (r < 0)
		return r;
	*ret = 0;
	for (unsigned i = 0; i < width; i++)
		*ret |= (uint64_t)bytes[i] << 8 * i;
	return 0;
}

int pickle_take_line(struct pickle *pickle, const uint8_t **ret, size_t *ret_len, struct err *err)
{
	uint64_t left = pickle->end - pickle->at;
	const uint8_t *bytes, *feed = NULL;
	size_t len;
	int r = foreign_peek(pickle->source, pickle->at,
			     left < PICKLE_TEXT_MOST ? (size_t)left : PICKLE_TEXT_MOST, &bytes,
			     &len);

	if (r < 0)
		return r;
	if (len > 0)
		feed = memchr(bytes, '\n', len);
	if (!feed)
		return pickle_damaged(pickle, "has a line that is cut off, or too long", err);
	*ret = bytes;
	*ret_len = (size_t)(feed - bytes);
	pickle->at += *ret_len + 1;
	return 0;
}

int pickle_take_digits(struct pickle *pickle, char ret[static PICKLE_DIGITS], struct err *err)
{
	const uint8_t *line;
	size_t len;
	int r = pickle_take_line(pickle, &line, &len, err);

	if (r < 0)
		return r;
	if (len == 0 || len >= PICKLE_DIGITS || memchr(line, '\0', len))
		return pickle_damaged(pickle, "has no number", err);
	memcpy(ret, line, len);
	ret[len] = '\0';
	return 0;
}

int pickle_keep(struct pickle *pickle, const uint8_t *bytes, size_t len, const char **ret,
		struct err *err)
{
	char *copy;

	pickle->made += (uint32_t)(len / 64);
	if (pickle->made > PICKLE_MOST)
		return too_much(err);
	copy = arena_get(&pickle->arena, len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	*ret = copy;
	return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

int pickle_room(struct pickle_stack *stack, uint32_t count, struct err *err)
{
	uint32_t room = stack->room ? stack->room : 64;
	void *values;

	if (count <= stack->room)
		return 0;
	if (count > PICKLE_MOST)
		return too_much(err);
	while (room < count)
		room *= 2;
	values = reallocarray(stack->values, room, sizeof(*stack->values));
	if (!values)
		return -ENOMEM;
	stack->values = values;
	stack->room = room;
	return 0;
}

int pickle_push(struct pickle *pickle, struct pickle_value *value, struct err *err)
{
	struct pickle_stack *stack = &pickle->stack;
	int r = pickle_room(stack, stack->count + 1, err);

	if (r == 0)
		stack->values[stack->count++] = value;
	return r;
}

int pickle_has(const struct pickle *pickle, unsigned count, struct err *err)
{
	const struct pickle_stack *stack = &pickle->stack;

	for (unsigned i = 1; i <= count; i++)
		if (stack->count < i || !stack->values[stack->count - i])
			return pickle_damaged(pickle, "finds no value", err);
	return 0;
}

int pickle_pop(struct pickle *pickle, struct pickle_value **ret, struct err *err)
{
	struct pickle_stack *stack = &pickle->stack;
	int r = pickle_has(pickle, 1, err);

	if (r == 0)
		*ret = stack->values[--stack->count];
	return r;
}

int pickle_mark(const struct pickle *pickle, uint32_t *ret, struct err *err)
{
	for (uint32_t i = pickle->stack.count; i > 0; i--) {
		if (!pickle->stack.values[i - 1]) {
			*ret = i;
			return 0;
		}
	}
	return pickle_damaged(pickle, "finds no mark", err);
}

int pickle_make(struct pickle *pickle, enum pickle_kind kind, struct pickle_value **ret,
		struct err *err)
{
	struct pickle_value *value;

	if (pickle->made++ >= PICKLE_MOST)
		return too_much(err);
	value = arena_get(&pickle->arena, sizeof(*value));
	if (!value)
		return -ENOMEM;
	*value = (struct pickle_value){.kind = kind};
	*ret = value;
	return pickle_push(pickle, value, err);
}

static int item_add(struct pickle *pickle, struct pickle_value *list,
		    const struct pickle_value *value, struct err *err)
{
	struct pickle_item *item;

	if (pickle->made++ >= PICKLE_MOST)
		return too_much(err);
	item = arena_get(&pickle->arena, sizeof(*item));
	if (!item)
		return -ENOMEM;
	*item = (struct pickle_item){.value = value};
	if (list->items.last)
		list->items.last->next = item;
	else
		list->items.first = item;
	list->items.last = item;
	list->count++;
	return 0;
}

int pickle_move(struct pickle *pickle, struct pickle_value *list, uint32_t first, bool marked,
		struct err *err)
{
	struct pickle_stack *stack = &pickle->stack;
	int r = 0;

	if (list->kind == PICKLE_DICT && (stack->count - first) % 2 != 0)
		return pickle_damaged(pickle, "finds a key without a value", err);
	for (uint32_t i = first; r == 0 && i < stack->count; i++)
		r = item_add(pickle, list, stack->values[i], err);
	stack->count = first - marked;
	return r;
}
