#include "pack/labels_join.h"
#include "base/scope.h"
#include "pack/classes.h"
#include "pack/dataset_internal.h"
#include "pack/options.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One label with two names, or one name with two labels. */
struct dispute {
	struct label_class first, second;
	const struct dataset_pack *pack; /* that was looked at last: */
	bool has_first, has_second;
	bool is_meant; /* a file has both */
};

/* The files of one set. */
struct label_set {
	const struct dataset_pack *packs;
	struct labels_style *styles; /* of all packs; */
	bool *foreign;		     /* whether they have one, */
	bool *of_set;		     /* and are of this set */
	unsigned count;
	struct label_classes classes;
	struct buf disputes;	   /* struct dispute */
	struct labels_style style; /* of all */
	bool names_found;	   /* a label has its name from another file */
};

static void label_set_release(struct label_set *set)
{
	label_classes_release(&set->classes);
	buf_release(&set->disputes);
}

static struct label_class *classes_of(const struct label_set *set)
{
	return label_class_rows(&set->classes.rows);
}

static size_t count_of(const struct label_set *set)
{
	return label_class_count(&set->classes.rows);
}

/* A file of the set that has a style. */
static bool has_style(const struct label_set *set, unsigned pack)
{
	return set->of_set[pack] && set->foreign[pack];
}

/* Whether labels of a file are one more than it took them for. */
static bool label_set_shifts(const struct label_set *set, unsigned pack)
{
	return set->foreign[pack] && set->styles[pack].counted == LABELS_FROM_ONE &&
	       set->style.counted == LABELS_FROM_ZERO;
}

/* --- the classes of all files ----------------------------------------------------------------- */

/* The class of row `i` of the labels of a file, with its number in the set. Appends its text. */
static int label_class_at(struct label_set *set, unsigned pack, const struct labels *labels,
			  size_t i, struct label_class *ret)
{
	const struct labels_style *style = set->foreign[pack] ? &set->styles[pack] : NULL;
	const struct label *row = labels_row(labels, i);
	const char *folder = labels_folder(labels, i);
	size_t last = labels_style_last(folder, row->len);
	size_t name = labels_style_name(style, row->label, folder, row->len);

	*ret = (struct label_class){.label = row->label,
				    .below = set->packs[pack].below,
				    .text = set->classes.texts.len,
				    .files = 1,
				    .above = (uint32_t)last,
				    .name = (uint32_t)(row->len - name),
				    .pack = pack,
				    .fixed = !style};
	if (label_set_shifts(set, pack) && !style->listed)
		ret->label++;
	buf_add(&set->classes.texts, folder, last);
	return buf_add(&set->classes.texts, folder + name, row->len - name);
}

/* Whether two files say the same of their classes, as where each has the list of all. */
static bool label_set_same(const struct label_set *set, unsigned a, unsigned b)
{
	const struct labels_style *p = &set->styles[a], *q = &set->styles[b];
	const struct dataset_info *x = dataset_info(set->packs[a].dataset);
	const struct dataset_info *y = dataset_info(set->packs[b].dataset);

	return set->foreign[a] == set->foreign[b] && p->numbered == q->numbered &&
	       p->asked == q->asked && p->listed == q->listed && p->width == q->width &&
	       p->counted == q->counted && strcmp(set->packs[a].below, set->packs[b].below) == 0 &&
	       x->labels_len == y->labels_len && memcmp(x->labels, y->labels, x->labels_len) == 0;
}

/* Fills the classes, sorted by label. */
static int label_set_gather(struct label_set *set)
{
	unsigned last = UINT32_MAX;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < set->count; i++) {
		SCOPE(labels_release) struct labels labels = {0};
		struct label_class class;
		uint32_t number;

		if (!set->of_set[i] || (last < i && label_set_same(set, last, i)))
			continue;
		r = labels_add_dataset(&labels, set->packs[i].dataset, "");
		for (size_t j = 0; r == 0 && j < labels_count(&labels); j++) {
			r = label_class_at(set, i, &labels, j, &class);
			if (r == 0)
				r = label_classes_add(&set->classes, &class, &number);
		}
		last = i;
	}
	if (set->classes.rows.len)
		qsort_r(classes_of(set), count_of(set), sizeof(struct label_class),
			label_compare_by_label, &set->classes);
	return r;
}

/* --- what all of them decide ------------------------------------------------------------------ */

/* Those with the same label, beginning with the class at `first`: where they end. */
static size_t end_of_label(const struct label_set *set, size_t first)
{
	const struct label_class *all = classes_of(set);
	size_t end = first + 1;

	while (end < count_of(set) && all[end].label == all[first].label &&
	       label_compare_above(&set->classes, &all[end], &all[first]) == 0)
		end++;
	return end;
}

static int add_dispute(void *context, const struct label_class *first,
		       const struct label_class *second)
{
	struct label_set *set = context;
	const struct dispute dispute = {.first = *first, .second = *second};

	return buf_add(&set->disputes, &dispute, sizeof(dispute));
}

/* Gives labels without a name, which come first, that which other files have, if these have only
 * one. */
static int name_labels(struct label_set *set)
{
	struct label_class *all = classes_of(set);
	size_t count = count_of(set);
	int r = 0;

	for (size_t first = 0, named, end; r == 0 && first < count; first = end) {
		end = end_of_label(set, first);
		for (named = first; named < end && !all[named].name;)
			named++;
		if (named == end)
			continue;
		if (label_compare_names(&set->classes, &all[named], &all[end - 1]) != 0) {
			r = add_dispute(set, &all[named], &all[end - 1]);
			continue;
		}
		for (size_t i = first; i < named; i++) {
			all[i].text = all[named].text;
			all[i].name = all[named].name;
			set->names_found = true;
		}
	}
	return r;
}

static int decide(struct label_set *set)
{
	const struct label_class *all = classes_of(set);
	SCOPE(buf_release) struct buf by_name = BUF_INIT;
	struct labels_style *style = &set->style;
	bool numbered = false, some_named = false, some_not = false;
	bool in_order = false;
	unsigned files = 0;
	int64_t most = 0;
	int r;

	/* Digits for the greatest label, and no fewer than any file has. */
	for (size_t i = 0; i < count_of(set); i++)
		most = all[i].label > most ? all[i].label : most;
	style->width = labels_width(most);
	for (unsigned i = 0; i < set->count; i++) {
		if (!has_style(set, i))
			continue;
		if (set->styles[i].width > style->width)
			style->width = set->styles[i].width;
		style->asked |= set->styles[i].asked;
		numbered |= set->styles[i].numbered;
		files++;
	}
	r = name_labels(set);
	if (r == 0)
		r = label_classes_by_name(&set->classes, style->width, &by_name);
	if (r == 0)
		r = label_classes_order(&set->classes, &by_name, add_dispute, set, &in_order);
	if (r < 0)
		return r;
	/* Folders of classes without an image, or without a name, are numbers among names only
	 * where all are. */
	for (size_t i = 0; i < count_of(set); i++)
		*(all[i].name ? &some_named : &some_not) = true;
	style->numbered = style->asked || files == 1
				  ? numbered
				  : !in_order || (numbered && some_named && some_not);
	return 0;
}

/* --- folders ---------------------------------------------------------------------------------- */

/* Gives a class without a name that which others have for its label, if they have only one. */
static void find_name(struct label_set *set, struct label_class *class)
{
	const struct label_class *all = classes_of(set);
	size_t low = 0, high = count_of(set);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (label_compare_by_label(&all[middle], class, &set->classes) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == count_of(set) || all[low].label != class->label ||
	    label_compare_above(&set->classes, &all[low], class) != 0 ||
	    label_compare_names(&set->classes, &all[low], &all[end_of_label(set, low) - 1]) != 0)
		return;
	class->text = all[low].text;
	class->name = all[low].name;
}

/* Gives the folder of a class, row `i` of the labels of a file, the name that it has in the set. */
static int rename_class(struct label_set *set, struct renames *renames, unsigned pack,
			const struct labels *labels, size_t i, struct err *err)
{
	const struct dataset *dataset = set->packs[pack].dataset;
	const char *folder = labels_folder(labels, i);
	size_t len = labels_row(labels, i)->len, above = labels_style_last(folder, len);
	SCOPE(buf_release) struct buf last = BUF_INIT;
	struct label_class class;
	uint32_t entry;
	int r = label_class_at(set, pack, labels, i, &class);

	if (r < 0 || dataset_find(dataset, folder, len, &entry) < 0)
		return r;
	/* The label that it has in the set, whose name the list of the file has. */
	if (label_set_shifts(set, pack) && set->styles[pack].listed) {
		class.label++;
		class.name = 0;
		find_name(set, &class);
		if (!class.name)
			return err_set(err, -EINVAL,
				       "%s: the list of classes ends with label %" PRId64
				       ", and labels count from 0, as another file of the set has "
				       "a label 0",
				       set->packs[pack].name, class.label - 1);
	} else if (!class.name) {
		find_name(set, &class);
	}
	r = labels_style_add(&set->style, class.label, label_class_name(&set->classes, &class),
			     class.name, &last);
	if (r < 0 || last.len > FORMAT_NAME_MAX ||
	    (last.len == len - above && memcmp(last.data, folder + above, last.len) == 0))
		return r;
	return renames_add(renames, &dataset->index, entry, last.data, last.len);
}

static int rename_pack(struct label_set *set, struct renames *renames, unsigned pack,
		       struct err *err)
{
	const struct labels_style *own = &set->styles[pack];
	SCOPE(labels_release) struct labels labels = {0};
	size_t texts = set->classes.texts.len;
	int r = 0;

	/* Else no folder of it is called otherwise. */
	if (own->numbered != set->style.numbered || own->width != set->style.width ||
	    set->names_found || label_set_shifts(set, pack))
		r = labels_add_dataset(&labels, set->packs[pack].dataset, "");
	for (size_t i = 0; r == 0 && i < labels_count(&labels); i++) {
		r = rename_class(set, &renames[pack], pack, &labels, i, err);
		set->classes.texts.len = texts;
	}
	return r;
}

static int add_labels(const struct label_set *set, struct labels *ret)
{
	SCOPE(buf_release) struct buf folder = BUF_INIT;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count_of(set); i++) {
		const struct label_class *class = &classes_of(set)[i];

		if (class->fixed)
			continue;
		folder.len = 0;
		buf_addf(&folder, "%s%s", class->below, *class->below ? "/" : "");
		buf_add(&folder, set->classes.texts.data + class->text, class->above);
		r = labels_style_add(&set->style, class->label,
				     label_class_name(&set->classes, class), class->name, &folder);
		if (r == 0)
			r = labels_add(ret, class->label, folder.data, folder.len);
	}
	return r;
}

/* --- what is told ----------------------------------------------------------------------------- */

/* What a file says of itself is meant. */
static int find_meant(struct label_set *set)
{
	struct dispute *all = BUF_ITEMS(&set->disputes, struct dispute);
	size_t texts = set->classes.texts.len;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < set->count; i++) {
		SCOPE(labels_release) struct labels labels = {0};
		struct label_class class;

		if (set->of_set[i] && set->disputes.len)
			r = labels_add_dataset(&labels, set->packs[i].dataset, "");
		for (size_t j = 0; r == 0 && j < labels_count(&labels); j++) {
			r = label_class_at(set, i, &labels, j, &class);
			for (size_t k = 0; r == 0 && k < BUF_COUNT(&set->disputes, *all); k++) {
				struct dispute *d = &all[k];

				if (d->pack != &set->packs[i])
					d->has_first = d->has_second = false;
				d->pack = &set->packs[i];
				d->has_first |= label_compare_by_label(&class, &d->first,
								       &set->classes) == 0;
				d->has_second |= label_compare_by_label(&class, &d->second,
									&set->classes) == 0;
				d->is_meant |= d->has_first && d->has_second;
			}
			set->classes.texts.len = texts;
		}
	}
	return r;
}

static int say_disputes(struct label_set *set, struct buf *ret)
{
	const struct label_class *a, *b;
	const struct dispute *first = NULL;
	size_t count = 0;
	int r = find_meant(set);

	for (size_t i = 0; i < BUF_COUNT(&set->disputes, *first); i++) {
		const struct dispute *d = &BUF_ITEMS(&set->disputes, const struct dispute)[i];

		if (d->is_meant)
			continue;
		first = first ? first : d;
		count++;
	}
	if (r < 0 || !first)
		return r;
	a = &first->first;
	b = &first->second;
	if (a->label == b->label)
		buf_addf(ret, "label %" PRId64 " is '%.*s' in %s and '%.*s' in %s", a->label,
			 (int)a->name, label_class_name(&set->classes, a), set->packs[a->pack].name,
			 (int)b->name, label_class_name(&set->classes, b),
			 set->packs[b->pack].name);
	else
		buf_addf(ret,
			 "the class '%.*s' has the label %" PRId64 " in %s and %" PRId64 " in %s",
			 (int)a->name, label_class_name(&set->classes, a), a->label,
			 set->packs[a->pack].name, b->label, set->packs[b->pack].name);
	if (count > 1)
		buf_addf(ret, ", and so it is with %zu more", count - 1);
	buf_adds(ret, ": they are classes of their own; 'NAME/=' keeps such files apart");
	return buf_add(ret, "", 1);
}

/* What files of a set have, and others have not: by the first of each kind. */
static int say_differences(const struct label_set *set, struct buf *ret)
{
	static const struct option_line tar = {"format=tar", sizeof("format=tar") - 1};
	const char *labels = NULL, *only_names = NULL;	/* NULL: there is none */
	const char *classes = NULL, *no_classes = NULL; /* of tars */
	const char *places = NULL, *firsts = NULL;	/* enum labels_several */

	for (unsigned i = set->count; i-- > 0;) {
		const struct dataset_pack *pack = &set->packs[i];
		const struct dataset_info *info = dataset_info(pack->dataset);

		if (!set->of_set[i])
			continue;
		if (info->labels_len)
			labels = pack->name;
		if (set->foreign[i] && set->styles[i].only_names)
			only_names = pack->name;
		if (set->foreign[i] && set->styles[i].several == LABELS_PLACES)
			places = pack->name;
		if (set->foreign[i] && set->styles[i].several == LABELS_FIRSTS)
			firsts = pack->name;
		if (dataset_entries(pack->dataset) > 1 &&
		    options_have(info->options, info->options_len, &tar))
			*(set->foreign[i] ? &classes : &no_classes) = pack->name;
	}
	if (labels && only_names)
		buf_addf(ret,
			 "classes have labels in %s, and only names in %s: what these call "
			 "differently is two classes%c",
			 labels, only_names, '\0');
	if (places && firsts)
		buf_addf(ret,
			 "of labels of several numbers the place of the only 1 counts in %s, and "
			 "the first number in %s, which has others than 0 and 1%c",
			 places, firsts, '\0');
	if (classes && no_classes)
		buf_addf(ret,
			 "samples have classes in %s, and none in %s, which is shown as the tree "
			 "of its members; --layout=classes shows all alike%c",
			 classes, no_classes, '\0');
	return buf_error(ret);
}

/* --- all -------------------------------------------------------------------------------------- */

static const char *scope_of(const struct dataset_pack *pack)
{
	return pack->scope ? pack->scope : pack->below;
}

int labels_join(const struct dataset_pack *packs, unsigned count, struct renames *renames,
		struct labels *ret_labels, struct buf *ret_notes, struct err *err)
{
	SCOPE_FREE struct labels_style *styles = calloc(count, sizeof(*styles));
	SCOPE_FREE bool *foreign = calloc(count, 1);
	SCOPE_FREE bool *of_set = calloc(count, 1);
	SCOPE_FREE bool *done = calloc(count, 1);
	const struct label_set all = {.packs = packs,
				      .styles = styles,
				      .foreign = foreign,
				      .of_set = of_set,
				      .count = count};
	int r = styles && foreign && of_set && done ? 0 : -ENOMEM;

	for (unsigned i = 0; r == 0 && i < count; i++)
		foreign[i] = labels_style_read(packs[i].dataset, &styles[i]);
	for (unsigned i = 0; r == 0 && i < count; i++) {
		SCOPE(label_set_release) struct label_set set = all;

		if (done[i])
			continue;
		for (unsigned j = 0; j < count; j++) {
			of_set[j] = strcmp(scope_of(&packs[i]), scope_of(&packs[j])) == 0;
			done[j] |= of_set[j];
		}
		for (unsigned j = 0; j < count; j++)
			if (has_style(&set, j) && styles[j].counted == LABELS_FROM_ZERO)
				set.style.counted = LABELS_FROM_ZERO;
		r = label_set_gather(&set);
		if (r == 0)
			r = decide(&set);
		for (unsigned j = 0; r == 0 && j < count; j++)
			if (has_style(&set, j))
				r = rename_pack(&set, renames, j, err);
		if (r == 0)
			r = add_labels(&set, ret_labels);
		if (r == 0)
			r = say_disputes(&set, ret_notes);
		if (r == 0)
			r = say_differences(&set, ret_notes);
	}
	/* Packs keep their labels. */
	for (unsigned i = 0, last = UINT32_MAX; r == 0 && i < count; i++) {
		if (foreign[i] || (last < i && label_set_same(&all, last, i)))
			continue;
		r = labels_add_dataset(ret_labels, packs[i].dataset, packs[i].below);
		last = i;
	}
	return r;
}
