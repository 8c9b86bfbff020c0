/* Images that torch.save() wrote, as
 *
 *	[(image, label), ...]         a sample each; without a label: [image, ...]
 *	[{"image": ..., "label": ...}, ...]
 *	{"a/b.jpg": image, ...}       by their paths, or {"name": (image, label), ...}
 *	(images, labels), {"images": images, "labels": labels}
 *	                              lists, or tensors: [N, C, H, W], [N, H, W, 3], [N, H, W]; [N]
 *
 * An image is a uint8 tensor of the bytes of a file, [N], or of pixels: [3, H, W], [1, H, W],
 * [H, W, 3], [H, W]; or it is bytes. Bytes saved by protocol 2, the default of torch.save(), are
 * refused: they lie in the file as text. */
#include "base/scope.h"
#include "pack/foreign/archive/torch_file.h"
#include "pack/foreign/format.h"
#include "pack/foreign/tree.h"
#include <inttypes.h>
#include <string.h>

struct torch_samples {
	struct torch_file file;
	struct foreign_tree *tree;
	uint64_t record; /* of the sample in hand */
	struct foreign_pixels pixels;
	struct foreign_file image;
};

static bool torch_is_list(const struct pickle_value *value)
{
	return value && (value->kind == PICKLE_LIST || value->kind == PICKLE_TUPLE);
}

static bool torch_is_text(const struct pickle_value *value)
{
	return value && value->kind == PICKLE_TEXT && value->bytes.data;
}

static void pth_release(struct torch_samples *p)
{
	torch_file_release(&p->file);
}

/* --- a sample ----------------------------------------------------------------------------------
 *
 * It has an image, as any value or as a tensor, and perhaps a label. */

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

static int torch_sample_pixels(struct torch_samples *p, const struct torch_tensor *tensor,
			       struct err *err)
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

static int torch_sample_image(struct torch_samples *p, const struct pickle_value *value,
			      struct err *err)
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

static int torch_sample_label(struct torch_samples *p, const struct pickle_value *value,
			      struct err *err)
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

static void torch_sample_begin(struct torch_samples *p)
{
	p->image = (struct foreign_file){.record = p->record, .label = FOREIGN_NO_LABEL};
}

static int torch_sample_end(struct torch_samples *p, struct err *err)
{
	p->record++;
	return foreign_add(p->tree, &p->image, err);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* An image, alone or with a label. */
static int take_torch_sample(struct torch_samples *p, const struct pickle_value *value,
			     struct err *err)
{
	const struct pickle_value *image = value, *label = NULL;
	int r;

	if (torch_is_list(value)) {
		image = pickle_at(value, 0);
		label = pickle_at(value, 1);
	} else if (value->kind == PICKLE_DICT) {
		image = pickle_get_usual(value, PICKLE_IMAGE, p->file.source->settings->image_key);
		label = pickle_get_usual(value, PICKLE_LABEL, p->file.source->settings->label_key);
	}
	r = torch_sample_image(p, image, err);
	return r < 0 || !label ? r : torch_sample_label(p, label, err);
}

static int scan_list(struct torch_samples *p, const struct pickle_value *list, struct err *err)
{
	int r = 0;

	for (const struct pickle_item *item = list->items.first; r == 0 && item;
	     item = item->next) {
		torch_sample_begin(p);
		r = take_torch_sample(p, item->value, err);
		if (r == 0)
			r = torch_sample_end(p, err);
	}
	return r;
}

/* With a label the key is a name in the class, otherwise a path. */
static void take_key(struct torch_samples *p, const struct pickle_value *key)
{
	const struct foreign_text name = {key->bytes.data, key->bytes.size};
	bool labelled = p->image.class.data || p->image.label != FOREIGN_NO_LABEL;
	const struct foreign_text last = foreign_text_after(name, '/');

	p->image.plain = !memchr(last.data, '.', last.len);
	*(labelled ? &p->image.name : &p->image.path) = name;
}

static int scan_dict(struct torch_samples *p, const struct pickle_value *dict, struct err *err)
{
	int r = 0;

	for (const struct pickle_item *item = dict->items.first; r == 0 && item;
	     item = item->next->next) {
		torch_sample_begin(p);
		r = take_torch_sample(p, item->next->value, err);
		if (r == 0 && torch_is_text(item->value))
			take_key(p, item->value);
		if (r == 0)
			r = torch_sample_end(p, err);
	}
	return r;
}

/* --- columns ---------------------------------------------------------------------------------- */

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

/* labels NULL: there are none. */
static int torch_columns_scan(struct torch_samples *p, const struct pickle_value *images,
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

/* --- the object ------------------------------------------------------------------------------- */

static bool is_column(const struct pickle_value *value)
{
	return torch_is_list(value) || torch_is_tensor(value);
}

/* Distinguishes columns from one (image, label): the second is a tensor, or a list of numbers or
 * texts. */
static bool is_column_of_labels(const struct pickle_value *value)
{
	const struct pickle_value *first = torch_is_list(value) ? pickle_at(value, 0) : NULL;
	int64_t number;

	return torch_is_tensor(value) || torch_is_text(first) ||
	       (first && pickle_number(first, &number));
}

/* A list of two tensors may be two images: only a tuple is a pair of columns. */
static bool is_pair(const struct pickle_value *root)
{
	bool pair = torch_is_list(root) && root->count == 2;

	if (!pair || !is_column(pickle_at(root, 0)) || !is_column_of_labels(pickle_at(root, 1)))
		return false;
	return root->kind == PICKLE_TUPLE || !torch_is_tensor(pickle_at(root, 1));
}

static int scan_object(struct torch_samples *p, const struct pickle_value *root, struct err *err)
{
	const struct pickle_value *images;

	if (is_pair(root))
		return torch_columns_scan(p, pickle_at(root, 0), pickle_at(root, 1), err);
	if (torch_is_list(root))
		return scan_list(p, root, err);
	if (torch_is_tensor(root))
		return torch_columns_scan(p, root, NULL, err);
	if (!root || root->kind != PICKLE_DICT)
		return err_set(err, -EOPNOTSUPP,
			       "an object that is neither a list nor a dict of images");
	images = pickle_get_usual(root, PICKLE_IMAGE, p->file.source->settings->image_key);
	if (is_column(images))
		return torch_columns_scan(
			p, images,
			pickle_get_usual(root, PICKLE_LABEL, p->file.source->settings->label_key),
			err);
	return scan_dict(p, root, err);
}

/* torch before 1.6 wrote a pickle of this number first. */
static int is_old_pth(struct foreign_source *source)
{
	static const uint8_t magic[] = {0x80, 2,    0x8a, 10,	0x6c, 0xfc, 0x9c,
					0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
	const uint8_t *head;
	size_t len;
	int r = foreign_peek(source, 0, sizeof(magic), &head, &len);

	return r < 0 ? r : len == sizeof(magic) && memcmp(head, magic, len) == 0;
}

static int probe_pth(struct foreign_source *source)
{
	int r = is_old_pth(source);

	return r ? r : torch_file_probe(source);
}

static int scan_pth(struct foreign_source *source, struct foreign_tree *tree, struct err *err)
{
	SCOPE(pth_release) struct torch_samples p = {.tree = tree};
	int r = is_old_pth(source);

	if (r > 0)
		return err_set(err, -EOPNOTSUPP,
			       "a .pth of torch before 1.6: load it and save it with a newer one");
	if (r == 0)
		r = torch_file_read(source, &p.file, err);
	return r < 0 ? r : scan_object(&p, p.file.root, err);
}

const struct foreign_format torch_format = {
	.name = "torch",
	.probe = probe_pth,
	.scan = scan_pth,
};
