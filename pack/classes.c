#include "pack/classes.h"
#include "base/bytes.h"
#include "base/utf8.h"
#include "pack/xxh3.h"
#include <inttypes.h>
#include <stdlib.h>

void label_classes_release(struct label_classes *classes)
{
	buf_release(&classes->texts);
	buf_release(&classes->rows);
	number_table_release(&classes->table);
}

/* --- how classes compare ---------------------------------------------------------------------- */

int label_compare_above(const struct label_classes *classes, const struct label_class *a,
			const struct label_class *b)
{
	const char *texts = classes->texts.data;

	return bytes_compare(texts + a->text, a->above, texts + b->text, b->above);
}

int label_compare_names(const struct label_classes *classes, const struct label_class *a,
			const struct label_class *b)
{
	return bytes_compare(label_class_name(classes, a), a->name, label_class_name(classes, b),
			     b->name);
}

int label_compare_by_label(const void *left, const void *right, void *classes)
{
	const struct label_class *a = left, *b = right;
	int r = label_compare_above(classes, a, b);

	r = r ? r : (a->label > b->label) - (a->label < b->label);
	return r ? r : label_compare_names(classes, a, b);
}

static int label_compare_by_name(const void *left, const void *right, void *classes)
{
	const struct label_class *a = left, *b = right;
	int r = label_compare_above(classes, a, b);

	r = r ? r : label_compare_names(classes, a, b);
	return r ? r : (a->label > b->label) - (a->label < b->label);
}

/* --- each once -------------------------------------------------------------------------------- */

int label_classes_add(struct label_classes *classes, const struct label_class *class,
		      uint32_t *ret_number)
{
	uint32_t hash =
		(uint32_t)XXH3_64bits_withSeed(classes->texts.data + class->text,
					       class->above + class->name, (uint64_t) class->label);
	size_t at = 0;
	int r;

	while ((*ret_number = number_table_next(&classes->table, hash, &at)) != 0) {
		const struct label_class *other =
			&label_class_rows(&classes->rows)[*ret_number - 1];

		if (label_compare_by_label(class, other, classes) == 0 &&
		    class->root == other->root && class->fixed == other->fixed &&
		    strcmp(class->below, other->below) == 0) {
			classes->texts.len = class->text;
			return 0;
		}
	}
	r = buf_add(&classes->rows, class, sizeof(*class));
	*ret_number = (uint32_t)label_class_count(&classes->rows);
	return r < 0 ? r : number_table_add(&classes->table, hash, *ret_number);
}

/* --- their order ------------------------------------------------------------------------------ */

int label_classes_by_name(struct label_classes *classes, unsigned width, struct buf *ret)
{
	struct buf *texts = &classes->texts;
	int r = 0;

	for (size_t i = 0; r == 0 && i < label_class_count(&classes->rows); i++) {
		struct label_class class = label_class_rows(&classes->rows)[i];
		size_t text = texts->len;

		if (!class.files)
			continue;
		if (!class.name) {
			r = buf_reserve(texts, class.above);
			if (r == 0)
				r = buf_add(texts, texts->data + class.text, class.above);
			if (r == 0)
				r = buf_addf(texts, "%0*" PRId64, (int)width, class.label);
			class.text = text;
			class.name = (uint32_t)(texts->len - text - class.above);
			class.made_up = true;
		}
		if (r == 0)
			r = buf_add(ret, &class, sizeof(class));
	}
	if (r == 0 && ret->len)
		qsort_r(ret->data, label_class_count(ret), sizeof(struct label_class),
			label_compare_by_name, classes);
	return r;
}

int label_classes_order(const struct label_classes *classes, const struct buf *by_name,
			int (*twice)(void *context, const struct label_class *a,
				     const struct label_class *b),
			void *context, bool *ret)
{
	const struct label_class *all = label_class_rows(by_name);
	int r = 0;

	*ret = true;
	for (size_t i = 1; r == 0 && i < label_class_count(by_name); i++) {
		const struct label_class *a = &all[i - 1], *b = &all[i];
		int order = utf8_compare(label_class_name(classes, a), a->name,
					 label_class_name(classes, b), b->name);

		if (label_compare_above(classes, a, b) != 0 || a->label == b->label)
			continue;
		*ret &= order < 0 && a->label < b->label;
		if (twice && order == 0 && !a->made_up && !b->made_up)
			r = twice(context, a, b);
	}
	return r;
}
