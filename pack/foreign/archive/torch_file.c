#include "pack/foreign/archive/torch_file.h"
#include "base/bytes.h"
#include "base/le.h"
#include <stdlib.h>
#include <string.h>

#define LOCAL_LEN 30 /* of a zip's local header, which the name follows */

static const char pickle_name[] = "/data.pkl";

void torch_file_release(struct torch_file *file)
{
	zip_directory_release(&file->zip);
	buf_release(&file->order);
	buf_release(&file->path);
	pickle_free(file->pickle);
}

static bool ends_in_pickle(struct foreign_text name)
{
	size_t len = strlen(pickle_name);

	return name.len > len && memcmp(name.data + name.len - len, pickle_name, len) == 0;
}

/* torch writes the pickle first. */
int torch_file_probe(struct foreign_source *source)
{
	const uint8_t *head;
	struct foreign_text name;
	size_t len;
	int r = zip_probe(source);

	if (r <= 0)
		return r;
	r = foreign_peek(source, 0, LOCAL_LEN + UINT16_MAX, &head, &len);
	if (r < 0 || len < LOCAL_LEN)
		return r;
	name = (struct foreign_text){(const char *)head + LOCAL_LEN, le_get16(head + 26)};
	return name.len <= len - LOCAL_LEN && ends_in_pickle(name);
}

/* --- entries by name -------------------------------------------------------------------------- */

static int compare_texts(struct foreign_text a, struct foreign_text b)
{
	return bytes_compare(a.data, a.len, b.data, b.len);
}

static int compare_entries(const void *a, const void *b, void *zip)
{
	const size_t *x = a, *y = b;

	return compare_texts(zip_name(zip, zip_entry_at(zip, *x)),
			     zip_name(zip, zip_entry_at(zip, *y)));
}

static int sort_entries(struct torch_file *file)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < zip_count(&file->zip); i++)
		r = buf_add(&file->order, &i, sizeof(i));
	if (r == 0 && file->order.len)
		qsort_r(file->order.data, zip_count(&file->zip), sizeof(size_t), compare_entries,
			&file->zip);
	return r;
}

/* -1: there is none of this name. */
static ssize_t find_entry(const struct torch_file *file, struct foreign_text name)
{
	const size_t *order = (const void *)file->order.data;
	size_t low = 0, high = zip_count(&file->zip);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct zip_entry *entry = zip_entry_at(&file->zip, order[middle]);
		int side = compare_texts(zip_name(&file->zip, entry), name);

		if (side == 0)
			return (ssize_t)order[middle];
		if (side < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

/* --- the object ------------------------------------------------------------------------------- */

static int read_object(struct torch_file *file, struct err *err)
{
	uint64_t offset, size;
	size_t i = 0;
	int r;

	while (i < zip_count(&file->zip) &&
	       !ends_in_pickle(zip_name(&file->zip, zip_entry_at(&file->zip, i))))
		i++;
	if (i == zip_count(&file->zip))
		return err_set(err, -EBADMSG, "no data.pkl in it");
	file->name = zip_entry_at(&file->zip, i)->name_len - strlen(pickle_name);
	size = zip_entry_at(&file->zip, i)->size;
	r = buf_add(&file->path, zip_name(&file->zip, zip_entry_at(&file->zip, i)).data,
		    file->name);
	if (r == 0)
		r = zip_place(&file->zip, i, &offset, err);
	if (r == 0)
		r = pickle_new(&file->pickle);
	return r ? r : pickle_read(file->pickle, file->source, offset, size, &file->root, err);
}

int torch_file_read(struct foreign_source *source, struct torch_file *ret, struct err *err)
{
	int r = zip_directory_read(source, &ret->zip, err);

	for (size_t i = 0; r == 0 && i < zip_count(&ret->zip); i++)
		if (zip_check_stored(&ret->zip, i, NULL) < 0)
			r = err_set(err, -EOPNOTSUPP,
				    "compressed, which torch.save() does not do: load it and save "
				    "it again");
	ret->source = source;
	if (r == 0)
		r = sort_entries(ret);
	return r < 0 ? r : read_object(ret, err);
}

/* --- tensors ---------------------------------------------------------------------------------- */

bool torch_is_tensor(const struct pickle_value *value)
{
	const char *callee = pickle_callee(value);

	return callee && strcmp(callee, "_rebuild_tensor_v2") == 0;
}

static unsigned width_of(const char *storage)
{
	static const struct {
		const char *name;
		unsigned width;
	} storages[] = {{"ByteStorage", 1}, {"CharStorage", 1}, {"ShortStorage", 2},
			{"IntStorage", 4},  {"LongStorage", 8}, {NULL, 0}};
	size_t i = 0;

	while (storages[i].name && strcmp(storages[i].name, storage) != 0)
		i++;
	return storages[i].width;
}

/* Where the bytes of a storage lie: ("storage", TYPE, KEY, DEVICE, COUNT). */
static int find_storage(struct torch_file *file, const struct pickle_value *storage,
			struct torch_tensor *ret, uint64_t *ret_size, struct err *err)
{
	const struct pickle_value *reference = pickle_at(storage, 0);
	const struct pickle_value *type = pickle_at(reference, 1), *key = pickle_at(reference, 2);
	ssize_t i;
	int r;

	if (!storage || storage->kind != PICKLE_PERSISTENT ||
	    !pickle_is(pickle_at(reference, 0), "storage") || !type ||
	    type->kind != PICKLE_GLOBAL || !key || key->kind != PICKLE_TEXT || !key->bytes.data)
		return err_set(err, -EBADMSG, "a tensor without a storage");
	ret->width = width_of(type->global.name);
	ret->is_bytes = strcmp(type->global.name, "ByteStorage") == 0;
	if (ret->width == 0)
		return err_set(err, -EOPNOTSUPP, "a tensor of %s, which holds no integers",
			       type->global.name);
	file->path.len = file->name;
	r = buf_adds(&file->path, "/data/");
	if (r == 0)
		r = buf_add(&file->path, key->bytes.data, key->bytes.size);
	if (r < 0)
		return r;
	i = find_entry(file, (struct foreign_text){file->path.data, file->path.len});
	if (i < 0)
		return err_set(err, -EBADMSG, "a tensor whose bytes are not in the file");
	*ret_size = zip_entry_at(&file->zip, (size_t)i)->size;
	return zip_place(&file->zip, (size_t)i, &ret->offset, err);
}

/* Reads the shape. Refuses elements that do not follow each other. */
static int read_shape(const struct pickle_value *shape, const struct pickle_value *strides,
		      struct torch_tensor *ret, uint64_t *ret_count, struct err *err)
{
	uint64_t count = 1;

	if (!shape || shape->kind != PICKLE_TUPLE || !strides || strides->kind != PICKLE_TUPLE ||
	    shape->count != strides->count)
		return err_set(err, -EBADMSG, "a tensor without a shape");
	if (shape->count > TORCH_DIMS)
		return err_set(err, -EOPNOTSUPP, "a tensor of %u dimensions", shape->count);
	ret->dims = shape->count;
	for (unsigned i = ret->dims; i-- > 0;) {
		int64_t size, stride;

		if (!pickle_number(pickle_at(shape, i), &size) ||
		    !pickle_number(pickle_at(strides, i), &stride) || size < 0)
			return err_set(err, -EBADMSG, "a tensor without a shape");
		if (size > 1 && (uint64_t)stride != count)
			return err_set(err, -EOPNOTSUPP,
				       "a tensor that is not contiguous: save tensor.contiguous()");
		ret->shape[i] = (uint64_t)size;
		if (__builtin_mul_overflow(count, (uint64_t)size, &count))
			return err_set(err, -EBADMSG, "a tensor that is too large");
	}
	*ret_count = count;
	return 0;
}

int torch_tensor_read(struct torch_file *file, const struct pickle_value *value,
		      struct torch_tensor *ret, struct err *err)
{
	const struct pickle_value *arguments = value->call.arguments;
	struct torch_tensor tensor = {0};
	uint64_t bytes, begin, count = 0, size = 0;
	int64_t first;
	int r = find_storage(file, pickle_at(arguments, 0), &tensor, &size, err);

	if (r == 0)
		r = read_shape(pickle_at(arguments, 2), pickle_at(arguments, 3), &tensor, &count,
			       err);
	if (r < 0)
		return r;
	if (!pickle_number(pickle_at(arguments, 1), &first) || first < 0 ||
	    __builtin_mul_overflow((uint64_t)first, tensor.width, &begin) ||
	    __builtin_mul_overflow(count, tensor.width, &bytes) || begin > size ||
	    bytes > size - begin)
		return err_set(err, -EBADMSG, "a tensor that is not in its storage");
	tensor.offset += begin;
	*ret = tensor;
	return 0;
}

uint64_t torch_tensor_size(const struct torch_tensor *tensor)
{
	uint64_t size = tensor->width;

	for (unsigned i = 0; i < tensor->dims; i++)
		size *= tensor->shape[i];
	return size;
}

struct torch_tensor torch_tensor_at(const struct torch_tensor *tensor, uint64_t i)
{
	struct torch_tensor item = *tensor;

	item.dims--;
	memmove(item.shape, item.shape + 1, sizeof(item.shape) - sizeof(*item.shape));
	item.offset += i * torch_tensor_size(&item);
	return item;
}

int torch_tensor_number(const struct torch_file *file, const struct torch_tensor *tensor,
			int64_t *ret, struct err *err)
{
	const uint8_t *p;
	int r;

	if (torch_tensor_size(tensor) != tensor->width)
		return err_set(err, -EOPNOTSUPP, "a label that is a tensor of several numbers");
	r = foreign_get(file->source, tensor->offset, tensor->width, &p, err);
	if (r < 0)
		return r;
	switch (tensor->width) {
	case 1:
		*ret = tensor->is_bytes ? *p : (int8_t)*p;
		break;
	case 2:
		*ret = (int16_t)le_get16(p);
		break;
	case 4:
		*ret = (int32_t)le_get32(p);
		break;
	default:
		*ret = (int64_t)le_get64(p);
	}
	return 0;
}
