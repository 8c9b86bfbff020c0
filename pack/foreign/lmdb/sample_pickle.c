/* Pickles of samples, in the forms that copies of folder2lmdb and DataLoaders without a collate_fn
 * make of (image, label):
 *
 *	(image, 3)                    also as a list, in the other protocols, or with a text
 *	((image,), tensor([3]))       as torch's default_collate has a batch of one
 *	[(image, 3)]                  as collate_fn=lambda x: x has it
 *	(image, array([3]))           of numpy, or a scalar
 *	(image, "a/b.jpg")            the path instead of the label, or a third value
 *	{"image": image, "label": 3}  also {"image": {"bytes": ..., "path": ...}}
 *
 * An image is bytes, or an array or a tensor of uint8. */
#include "base/le.h"
#include "pack/foreign/encoding/numpy_integer.h"
#include "pack/foreign/lmdb/sample.h"
#include <string.h>

#define DEPTH  4u   /* of values in values */
#define VALUES 64   /* in all */
#define HEAD   1024 /* bytes of a saved storage in which its type is */

struct reading {
	struct foreign_source *source;
	struct sample *sample;
	unsigned values;
};

/* --- arrays and tensors ----------------------------------------------------------------------- */

static int add_array(struct sample *sample, const struct pickle_array *array, struct err *err)
{
	uint64_t sizes[SAMPLE_SHAPE];

	if (!array->type || strcmp(array->type, "u1") != 0)
		return sample_add_other("an array of another type than uint8", err);
	for (uint32_t i = 0; i < array->shape->count && i < SAMPLE_SHAPE; i++) {
		int64_t size;

		if (!pickle_number(pickle_at(array->shape, i), &size) || size < 0)
			return err_set(err, -EBADMSG, "an array with a size that is no number");
		sizes[i] = (uint64_t)size;
	}
	return sample_add_array(sample, array->data->bytes.offset, array->data->bytes.size,
				array->shape->count, sizes, err);
}

/* The type of numpy for the storage that begins so: "ctorch\nLongStorage\n". */
static const char *storage_type(const uint8_t *head, size_t len)
{
	static const char *const types[][2] = {
		{"\nLongStorage\n", "i8"}, {"\nIntStorage\n", "i4"},  {"\nShortStorage\n", "i2"},
		{"\nCharStorage\n", "i1"}, {"\nByteStorage\n", "u1"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (memmem(head, len, types[i][0], strlen(types[i][0])))
			return types[i][1];
	return NULL;
}

/* A tensor in a pickle has what torch.save() wrote of its storage, before 1.6: pickles, among them
 * the type; then the number of elements as 64 bits, and they. Those of 1 are a label, others of a
 * byte each an image. */
static int add_tensor(struct reading *reading, const struct pickle_value *saved, struct err *err)
{
	uint64_t size = saved->bytes.size, end = saved->bytes.offset + size;
	const uint8_t *p;
	const char *type;
	size_t len, width;
	int64_t number;
	int r = foreign_peek(reading->source, saved->bytes.offset, size < HEAD ? size : HEAD, &p,
			     &len);

	if (r < 0)
		return r;
	type = storage_type(p, len);
	width = type ? (size_t)(type[1] - '0') : 0;
	if (!type || size < 8 + width)
		return sample_add_other("a tensor that holds no integers", err);
	r = foreign_get(reading->source, end - 8 - width, 8 + width, &p, err);
	if (r < 0)
		return r;
	if (le_get64(p) == 1 && numpy_integer(type, p + 8, width, &number))
		return sample_add_number(reading->sample, number, err);
	return sample_add_other("a tensor of several numbers", err);
}

static int add_call(struct reading *reading, const struct pickle_value *call, struct err *err)
{
	const char *callee = pickle_callee(call);
	const struct pickle_value *storage = pickle_at(call->call.arguments, 0), *saved;
	struct pickle_array array;

	if (pickle_array(call, &array))
		return add_array(reading->sample, &array, err);
	if (strcmp(callee, "_rebuild_tensor_v2") == 0 && pickle_callee(storage) &&
	    strcmp(pickle_callee(storage), "_load_from_bytes") == 0) {
		saved = pickle_at(storage->call.arguments, 0);
		if (saved && saved->kind == PICKLE_BYTES)
			return add_tensor(reading, saved, err);
	}
	if (strcmp(callee, "encode") == 0)
		return err_set(err, -EOPNOTSUPP,
			       "bytes of a pickle below protocol 3 are not stored as they are: "
			       "write them by protocol 4");
	return sample_add_other("another object", err);
}

/* --- values ----------------------------------------------------------------------------------- */

static int add_value(struct reading *reading, const struct pickle_value *value, unsigned depth,
		     struct err *err);

static int add_items(struct reading *reading, const struct pickle_value *list, unsigned depth,
		     struct err *err)
{
	int r = 0;

	for (const struct pickle_item *item = list->items.first; r == 0 && item; item = item->next)
		r = add_value(reading, item->value, depth, err);
	return r;
}

enum usual { USUAL_IMAGE, USUAL_LABEL, USUAL_NAME };

/* What a dict has for the key that was asked for, or for what users call an image, its label or the
 * name of its file. */
static const struct pickle_value *find_usual(const struct pickle_value *dict, enum usual usual,
					     const char *asked)
{
	static const char *const keys[][11] = {
		[USUAL_IMAGE] = {"images", "image", "data", "img", "x", "jpg", "jpeg", "png",
				 "bytes", "image_bytes"},
		[USUAL_LABEL] = {"labels", "label", "targets", "target", "y", "cls", "class"},
		[USUAL_NAME] = {"path", "filename", "file_name", "name", "fname", "image_path",
				"img_path", "img_name"},
	};
	const struct pickle_value *found = NULL;

	if (asked)
		return pickle_get(dict, asked);
	for (const char *const *key = keys[usual]; !found && *key; key++)
		found = pickle_get(dict, *key);
	return found;
}

/* The image first, as everywhere. */
static int add_dict(struct reading *reading, const struct pickle_value *dict, unsigned depth,
		    struct err *err)
{
	const struct foreign_settings *settings = reading->source->settings;
	const char *const asked[] = {settings->image_key, settings->label_key, settings->name_key};
	uint32_t found = 0;
	int r = 0;

	for (enum usual usual = USUAL_IMAGE; r == 0 && usual <= USUAL_NAME; usual++) {
		const struct pickle_value *value = find_usual(dict, usual, asked[usual]);

		found += value != NULL;
		if (value)
			r = add_value(reading, value, depth, err);
		else if (usual == USUAL_IMAGE && depth == 1)
			return err_set(err, -EOPNOTSUPP,
				       "a dict without '%s': --image-key names the image",
				       asked[usual] ? asked[usual] : "image");
	}
	reading->sample->dict = true;
	reading->sample->others |= dict->count / 2 > found;
	return r;
}

/* Bytes behind the image that are short are a text. */
static int add_bytes(struct sample *sample, const struct pickle_value *value, struct err *err)
{
	if (sample->bytes && value->bytes.data)
		return sample_add_text(
			sample, (struct foreign_text){value->bytes.data, value->bytes.size}, err);
	return sample_add_bytes(sample, value->bytes.offset, value->bytes.size, err);
}

static int add_text(struct sample *sample, const struct pickle_value *value, struct err *err)
{
	if (!value->bytes.data)
		return sample_add_other("a long text", err);
	return sample_add_text(sample, (struct foreign_text){value->bytes.data, value->bytes.size},
			       err);
}

static int add_value(struct reading *reading, const struct pickle_value *value, unsigned depth,
		     struct err *err)
{
	struct sample *sample = reading->sample;
	int64_t number;

	if (depth == DEPTH || reading->values++ == VALUES)
		return sample_add_other("lists in lists", err);
	if (pickle_number(value, &number))
		return sample_add_number(sample, number, err);
	switch (value->kind) {
	case PICKLE_NONE:
		return 0;
	case PICKLE_BYTES:
		return add_bytes(sample, value, err);
	case PICKLE_TEXT:
		return add_text(sample, value, err);
	case PICKLE_LIST:
	case PICKLE_TUPLE:
		return add_items(reading, value, depth + 1, err);
	case PICKLE_DICT:
		return add_dict(reading, value, depth + 1, err);
	case PICKLE_CALL:
		return add_call(reading, value, err);
	case PICKLE_FLOAT:
		return sample_add_other("a float", err);
	default:
		return sample_add_other("a class", err);
	}
}

int sample_from_pickle(struct pickle *pickle, struct foreign_source *source, uint64_t offset,
		       uint64_t len, struct sample *ret, struct err *err)
{
	struct reading reading = {.source = source, .sample = ret};
	const struct pickle_value *value;
	int r = pickle_read(pickle, source, offset, len, &value, err);

	return r < 0 ? r : add_value(&reading, value, 0, err);
}
