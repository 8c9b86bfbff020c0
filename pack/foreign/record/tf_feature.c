#include "pack/foreign/record/tf_feature.h"

/* The first field of this number, which has a length. 0, 1 (there is none), or an error. */
static int find(struct protobuf message, uint32_t number, struct protobuf_field *ret,
		struct err *err)
{
	int r;

	while ((r = protobuf_next(&message, ret, err)) == 0)
		if (ret->number == number && ret->type == PROTOBUF_BYTES)
			return 0;
	return r;
}

/* Integers are packed, as they are written today, or not. */
static int first_integer(struct protobuf list, struct tf_value *ret, struct err *err)
{
	struct protobuf_field field = {0};
	int r = protobuf_next(&list, &field, err);

	if (r == 0 && field.type == PROTOBUF_BYTES) {
		struct protobuf packed = protobuf_in(&list, &field);

		r = protobuf_varint(&packed, &field.value, err);
	}
	if (r != 0)
		return r;
	*ret = (struct tf_value){.kind = TF_INTEGER, .integer = (int64_t)field.value};
	return 0;
}

static int first_bytes(struct protobuf list, struct tf_value *ret, struct err *err)
{
	struct protobuf_field field;
	int r = find(list, 1, &field, err);

	if (r == 0)
		*ret = (struct tf_value){
			.kind = TF_BYTES, .offset = field.offset, .size = field.size};
	return r;
}

int tf_feature_first(struct protobuf feature, struct tf_value *ret, struct err *err)
{
	struct protobuf_field list;
	int r = protobuf_next(&feature, &list, err);

	*ret = (struct tf_value){.kind = TF_NONE};
	if (r != 0)
		return r < 0 ? r : 0;
	if (list.type != PROTOBUF_BYTES || list.number > TF_INTEGER)
		return err_set(err, -EBADMSG, "no Example: a feature that is no list");
	if (list.number == TF_INTEGER)
		r = first_integer(protobuf_in(&feature, &list), ret, err);
	else if (list.number == TF_BYTES)
		r = first_bytes(protobuf_in(&feature, &list), ret, err);
	else
		ret->kind = list.size ? TF_FLOAT : TF_NONE;
	return r < 0 ? r : 0;
}

/* An entry: { 1: key, 2: Feature }. */
int tf_map_next(struct protobuf *map, struct protobuf_field *key, struct protobuf *feature,
		struct err *err)
{
	struct protobuf_field field, value;
	struct protobuf entry;
	int r = protobuf_next(map, &field, err);

	if (r != 0)
		return r;
	if (field.number != 1 || field.type != PROTOBUF_BYTES)
		return err_set(err, -EBADMSG, "no Example: field %u in its map", field.number);
	entry = protobuf_in(map, &field);
	r = find(entry, 1, key, err);
	if (r == 0)
		r = find(entry, 2, &value, err);
	if (r == 0)
		*feature = protobuf_in(map, &value);
	return r > 0 ? err_set(err, -EBADMSG, "no Example: a key or a value is missing") : r;
}

int tf_map_open(struct foreign_source *source, uint64_t offset, uint64_t size, struct protobuf *ret,
		struct err *err)
{
	struct protobuf example = protobuf_at(source, offset, size);
	struct protobuf_field features;
	int r = find(example, 1, &features, err);

	if (r == 0)
		*ret = protobuf_in(&example, &features);
	return r > 0 ? err_set(err, -EBADMSG, "no Example: it has no features") : r;
}
