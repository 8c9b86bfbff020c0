#include "pack/foreign/archive/torch_columns.h"
#include <inttypes.h>

/* A list, or a tensor. */
struct column {
	const struct pickle_item *next;
	struct torch_tensor tensor;
	bool is_tensor;
	uint64_t count;
};

static int open_column(struct torch_samples *p, const struct pickle_value *value,
		       struct column *ret, struct err *err)
{
	struct column column = {.is_tensor = torch_is_tensor(value)};
	int r = 0;

	if (torch_is_list(value)) {
		column.next = value->items.first;
		column.count = value->count;
	} else if (column.is_tensor) {
		r = torch_tensor_read(&p->file, value, &column.tensor, err);
		/* A tensor of [2^40, 0] has no images. */
		if (r == 0 && column.tensor.dims && torch_tensor_size(&column.tensor))
			column.count = column.tensor.shape[0];
	}
	if (r == 0)
		*ret = column;
	return r;
}

static const struct pickle_value *next_value(struct column *column)
{
	const struct pickle_item *item = column->next;

	column->next = item->next;
	return item->value;
}

static int take_row(struct torch_samples *p, struct column *images, struct column *labels,
		    uint64_t i, struct err *err)
{
	struct torch_tensor item;
	int r;

	if (images->is_tensor) {
		item = torch_tensor_at(&images->tensor, i);
		r = torch_sample_pixels(p, &item, err);
	} else {
		r = torch_sample_image(p, next_value(images), err);
	}
	if (r < 0 || labels->count == 0)
		return r;
	if (!labels->is_tensor)
		return torch_sample_label(p, next_value(labels), err);
	item = torch_tensor_at(&labels->tensor, i);
	return torch_tensor_number(&p->file, &item, &p->image.label, err);
}

int torch_columns_scan(struct torch_samples *p, const struct pickle_value *images,
		       const struct pickle_value *labels, struct err *err)
{
	struct column image = {0}, label = {0};
	int r = open_column(p, images, &image, err);

	if (r == 0 && labels)
		r = open_column(p, labels, &label, err);
	if (r == 0 && labels && image.count != label.count)
		return err_set(err, -EBADMSG, "%" PRIu64 " images and %" PRIu64 " labels",
			       image.count, label.count);
	for (uint64_t i = 0; r == 0 && i < image.count; i++) {
		torch_sample_begin(p);
		r = take_row(p, &image, &label, i, err);
		if (r == 0)
			r = torch_sample_end(p, err);
	}
	return r;
}
