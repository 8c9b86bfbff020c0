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
#include "pack/foreign/archive/torch_columns.h"
#include "pack/foreign/format.h"
#include <string.h>

static void pth_release(struct torch_samples *p)
{
	torch_file_release(&p->file);
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
