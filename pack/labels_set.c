#include "pack/labels_set.h"
#include "base/bytes.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include "pack/xxh3.h"
#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 1024

void label_set_release(struct label_set *set)
{
	buf_release(&set->texts);
	buf_release(&set->classes);
	buf_release(&set->by_name);
	buf_release(&set->disputes);
	free(set->slots);
}

/* --- classes ---------------------------------------------------------------------------------- */

const char *label_class_name(const struct label_set *set, const struct label_class *class)
{
	return set->texts.data + class->text + class->above;
}

int label_compare_above(const struct label_set *set, const struct label_class *a,
			const struct label_class *b)
{
	return bytes_compare(set->texts.data + a->text, a->above, set->texts.data + b->text,
			     b->above);
}

int label_compare_names(const struct label_set *set, const struct label_class *a,
			const struct label_class *b)
{
	return bytes_compare(label_class_name(set, a), a->name, label_class_name(set, b), b->name);
}

int label_compare_numbers(const struct label_class *a, const struct label_class *b)
{
	return (a->label > b->label) - (a->label < b->label);
}

int label_compare_by_label(const void *a, const void *b, void *set)
{
	int r = label_compare_above(set, a, b);

	if (r == 0)
		r = label_compare_numbers(a, b);
	return r ? r : label_compare_names(set, a, b);
}

int label_compare_by_name(const void *a, const void *b, void *set)
{
	int r = label_compare_above(set, a, b);

	if (r == 0)
		r = label_compare_names(set, a, b);
	return r ? r : label_compare_numbers(a, b);
}

void label_set_sort(struct label_set *set, struct buf *classes,
		    int (*compare)(const void *, const void *, void *))
{
	if (classes->len)
		qsort_r(classes->data, label_class_count(classes), sizeof(struct label_class),
			compare, set);
}

static uint64_t hash_class(const struct label_set *set, const struct label_class *class)
{
	return XXH3_64bits_withSeed(set->texts.data + class->text, class->above + class->name,
				    (uint64_t) class->label);
}

static bool same_class(const struct label_set *set, const struct label_class *a,
		       const struct label_class *b)
{
	return label_compare_by_label(a, b, (void *)set) == 0 && a->fixed == b->fixed &&
	       strcmp(a->below, b->below) == 0;
}

/* The slot of the class, or a free one. */
static uint32_t *find_slot(const struct label_set *set, const struct label_class *class)
{
	size_t at = hash_class(set, class) & (set->slot_count - 1);

	while (set->slots[at] &&
	       !same_class(set, class, &label_classes(&set->classes)[set->slots[at] - 1]))
		at = (at + 1) & (set->slot_count - 1);
	return &set->slots[at];
}

/* Room for one more, in a table that is at most half full. */
static int grow_slots(struct label_set *set)
{
	size_t count = label_class_count(&set->classes), room = set->slot_count;

	if (2 * (count + 1) <= room)
		return 0;
	free(set->slots);
	set->slot_count = room ? 2 * room : SLOTS_FIRST;
	set->slots = calloc(set->slot_count, sizeof(*set->slots));
	for (size_t i = 0; set->slots && i < count; i++)
		*find_slot(set, &label_classes(&set->classes)[i]) = (uint32_t)i + 1;
	return set->slots ? 0 : -ENOMEM;
}

/* Its text is the last of the texts. */
static int add_class(struct label_set *set, const struct label_class *class)
{
	uint32_t *slot;
	int r = grow_slots(set);

	if (r < 0)
		return r;
	slot = find_slot(set, class);
	if (*slot) {
		set->texts.len = class->text;
		return 0;
	}
	*slot = (uint32_t)label_class_count(&set->classes) + 1;
	return buf_add(&set->classes, class, sizeof(*class));
}

void label_walk_release(struct label_walk *walk)
{
	labels_release(&walk->labels);
}

int label_walk_begin(struct label_walk *walk, const struct dataset_pack *pack)
{
	return labels_add_dataset(&walk->labels, pack->dataset, "");
}

/* Whether labels of a file are one more than it took them for. */
bool label_set_shifts(const struct label_set *set, unsigned pack)
{
	return set->foreign[pack] && set->styles[pack].counted == LABELS_FROM_ONE &&
	       set->style.counted == LABELS_FROM_ZERO;
}

/* Appends the text of the next class to the texts. Returns 0, 1 at the end, or -ENOMEM. */
int label_walk_next(struct label_walk *walk, struct label_set *set, unsigned pack,
		    struct label_class *ret)
{
	const struct labels_style *style = set->foreign[pack] ? &set->styles[pack] : NULL;
	const struct label *row;
	const char *folder;
	size_t last, name;

	if (walk->next == labels_count(&walk->labels))
		return 1;
	row = labels_row(&walk->labels, walk->next);
	folder = labels_folder(&walk->labels, walk->next++);
	last = labels_style_last(folder, row->len);
	name = labels_style_name(style, row->label, folder, row->len);
	*ret = (struct label_class){.label = row->label,
				    .below = set->packs[pack].below,
				    .text = set->texts.len,
				    .above = (uint32_t)last,
				    .name = (uint32_t)(row->len - name),
				    .pack = pack,
				    .fixed = !style};
	if (label_set_shifts(set, pack) && !style->listed)
		ret->label++;
	buf_add(&set->texts, folder, last);
	return buf_add(&set->texts, folder + name, row->len - name);
}

static bool same_style(const struct labels_style *a, const struct labels_style *b)
{
	return a->numbered == b->numbered && a->asked == b->asked && a->listed == b->listed &&
	       a->width == b->width && a->counted == b->counted;
}

/* Where both say the same, as where a file has the list of all its classes. */
bool label_set_same(const struct label_set *set, unsigned a, unsigned b)
{
	const struct dataset_info *x = dataset_info(set->packs[a].dataset);
	const struct dataset_info *y = dataset_info(set->packs[b].dataset);

	return set->foreign[a] == set->foreign[b] && same_style(&set->styles[a], &set->styles[b]) &&
	       strcmp(set->packs[a].below, set->packs[b].below) == 0 &&
	       x->labels_len == y->labels_len && memcmp(x->labels, y->labels, x->labels_len) == 0;
}

static int add_classes(struct label_set *set, unsigned pack)
{
	SCOPE(label_walk_release) struct label_walk walk = {0};
	struct label_class class;
	int r = label_walk_begin(&walk, &set->packs[pack]);

	while (r == 0) {
		r = label_walk_next(&walk, set, pack, &class);
		if (r == 0)
			r = add_class(set, &class);
	}
	return r < 0 ? r : 0;
}

int label_set_gather(struct label_set *set)
{
	unsigned last = UINT32_MAX;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < set->count; i++) {
		if (!set->of_set[i] || (last < i && label_set_same(set, last, i)))
			continue;
		r = add_classes(set, i);
		last = i;
	}
	label_set_sort(set, &set->classes, label_compare_by_label);
	free(set->slots);
	set->slots = NULL;
	return r;
}
