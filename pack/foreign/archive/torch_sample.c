#include "pack/foreign/archive/torch_sample.h"
#include <inttypes.h>
#include <string.h>

static int bad_record(const struct torch_samples *p, int code, const char *reason, struct err *err)
{
	return err_set(err, code, "record %" PRIu64 ": %s", p->record, reason);
}

static int take_pixels(struct torch_samples *p, const uint64_t *shape, enum foreign_layout layout,
		       struct err *err)
{
	if (shape[0] > UINT16_MAX || shape[1] > UINT16_MAX)
		return bad_record(p, -EOPNOTSUPP, "pixels of over 65535 rows or columns", err);
	p->pixels = (struct foreign_pixels){
		.height = (uint32_t)shape[0], .width = (uint32_t)shape[1], .layout = layout};
	p->image.pixels = &p->pixels;
	return 0;
}

int torch_sample_pixels(struct torch_samples *p, const struct torch_tensor *tensor, struct err *err)
{
	const uint64_t *shape = tensor->shape;

	if (!tensor->is_bytes)
		return bad_record(p, -EOPNOTSUPP, "a tensor that is not of uint8", err);
	p->image.offset = tensor->offset;
	p->image.size = torch_tensor_size(tensor);
	if (tensor->dims == 1)
		return 0;
	if (tensor->dims == 2)
		return take_pixels(p, shape, FOREIGN_GRAY, err);
	if (tensor->dims == 3 && shape[0] == 3)
		return take_pixels(p, shape + 1, FOREIGN_PLANAR_RGB, err);
	if (tensor->dims == 3 && shape[2] == 3)
		return take_pixels(p, shape, FOREIGN_RGB, err);
	if (tensor->dims == 3 && (shape[0] == 1 || shape[2] == 1))
		return take_pixels(p, shape + (shape[0] == 1), FOREIGN_GRAY, err);
	return bad_record(p, -EOPNOTSUPP, "a tensor that is neither a file nor an image", err);
}

int torch_sample_image(struct torch_samples *p, const struct pickle_value *value, struct err *err)
{
	const char *callee = pickle_callee(value);
	struct torch_tensor tensor;
	int r;

	if (value && value->kind == PICKLE_BYTES) {
		p->image.offset = value->bytes.offset;
		p->image.size = value->bytes.size;
		return 0;
	}
	if (callee && strcmp(callee, "encode") == 0)
		return bad_record(p, -EOPNOTSUPP,
				  "bytes that protocol 2 has as text: save them with "
				  "pickle_protocol=4, or as uint8 tensors",
				  err);
	if (!torch_is_tensor(value))
		return bad_record(p, -EOPNOTSUPP, "an image that is neither bytes nor a tensor",
				  err);
	r = torch_tensor_read(&p->file, value, &tensor, err);
	return r < 0 ? bad_record(p, r, err_text(err, r), err)
		     : torch_sample_pixels(p, &tensor, err);
}

int torch_sample_label(struct torch_samples *p, const struct pickle_value *value, struct err *err)
{
	struct torch_tensor tensor;
	int r;

	if (torch_is_text(value)) {
		p->image.class = (struct foreign_text){value->bytes.data, value->bytes.size};
		return 0;
	}
	if (pickle_number(value, &p->image.label))
		return 0;
	if (!torch_is_tensor(value))
		return bad_record(p, -EOPNOTSUPP, "a label that is neither a number nor text", err);
	r = torch_tensor_read(&p->file, value, &tensor, err);
	if (r == 0)
		r = torch_tensor_number(&p->file, &tensor, &p->image.label, err);
	return r < 0 ? bad_record(p, r, err_text(err, r), err) : 0;
}

void torch_sample_begin(struct torch_samples *p)
{
	p->image = (struct foreign_file){.record = p->record, .label = FOREIGN_NO_LABEL};
}

int torch_sample_end(struct torch_samples *p, struct err *err)
{
	p->record++;
	return foreign_add(p->tree, &p->image, err);
}
