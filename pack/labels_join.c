#include "pack/labels_join.h"
#include "base/scope.h"
#include "pack/dataset_internal.h"
#include "pack/labels_set.h"
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

/* --- what all of them decide ------------------------------------------------------------------ */

/* Those with the same label, beginning with the class at `first`: where they end. */
static size_t end_of_label(const struct label_set *set, size_t first)
{
	const struct label_class *all = label_classes(&set->classes);
	size_t end = first + 1;

	while (end < label_class_count(&set->classes) && all[end].label == all[first].label &&
	       label_compare_above(set, &all[end], &all[first]) == 0)
		end++;
	return end;
}

static int add_dispute(struct label_set *set, const struct label_class *first,
		       const struct label_class *second)
{
	const struct dispute dispute = {.first = *first, .second = *second};

	return buf_add(&set->disputes, &dispute, sizeof(dispute));
}

/* Gives a label the name that other files have for it, if these have only one. No name is the
 * first. */
static int name_label(struct label_set *set, size_t first, size_t end)
{
	struct label_class *all = label_classes(&set->classes), *named = &all[end - 1];
	size_t begin = first;
	int r = 0;

	while (begin < end && !all[begin].name)
		begin++;
	if (begin < end && label_compare_names(set, &all[begin], named) != 0)
		r = add_dispute(set, &all[begin], named);
	else if (begin < end)
		for (size_t i = first; i < begin; i++) {
			all[i].text = named->text;
			all[i].name = named->name;
			set->names_found = true;
		}
	return r;
}

static int name_labels(struct label_set *set)
{
	size_t count = label_class_count(&set->classes);
	int r = 0;

	for (size_t first = 0, end; r == 0 && first < count; first = end) {
		end = end_of_label(set, first);
		r = name_label(set, first, end);
	}
	return r;
}

/* The classes by the names of folders without numbers, those without a name by their labels. */
static int list_by_name(struct label_set *set)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < label_class_count(&set->classes); i++) {
		struct label_class class = label_classes(&set->classes)[i];
		size_t text = set->texts.len;

		if (!class.name) {
			r = buf_reserve(&set->texts, class.above);
			if (r == 0)
				r = buf_add(&set->texts, set->texts.data + class.text, class.above);
			if (r == 0)
				r = buf_addf(&set->texts, "%0*" PRId64, (int)set->style.width,
					     class.label);
			class.text = text;
			class.name = (uint32_t)(set->texts.len - text - class.above);
			class.made_up = true;
		}
		if (r == 0)
			r = buf_add(&set->by_name, &class, sizeof(class));
	}
	label_set_sort(set, &set->by_name, label_compare_by_name);
	return r;
}

/* Whether folders without numbers come in the order of their labels, each with one, as a single
 * file would look at it: pack/foreign/tree_classes.c. */
static int look_at_order(struct label_set *set, bool *ret)
{
	const struct label_class *all = label_classes(&set->by_name);
	int r = 0;

	*ret = true;
	for (size_t i = 1; r == 0 && i < label_class_count(&set->by_name); i++) {
		const struct label_class *a = &all[i - 1], *b = &all[i];
		bool same = label_compare_names(set, a, b) == 0;

		if (label_compare_above(set, a, b) != 0 || a->label == b->label)
			continue;
		*ret &= !same && a->label < b->label;
		if (same && !a->made_up && !b->made_up)
			r = add_dispute(set, a, b);
	}
	return r;
}

/* Digits for the greatest label, and no fewer than any file has. */
static unsigned find_width(const struct label_set *set)
{
	int64_t most = 0;
	unsigned width;

	for (size_t i = 0; i < label_class_count(&set->classes); i++)
		if (label_classes(&set->classes)[i].label > most)
			most = label_classes(&set->classes)[i].label;
	width = labels_width(most);
	for (unsigned i = 0; i < set->count; i++)
		if (set->of_set[i] && set->foreign[i] && set->styles[i].width > width)
			width = set->styles[i].width;
	return width;
}

/* Folders of classes without an image, or without a name, are numbers among names only where all
 * are. */
static bool are_mixed(const struct label_set *set)
{
	bool some_named = false, some_not = false;

	for (size_t i = 0; i < label_class_count(&set->classes); i++) {
		some_named |= label_classes(&set->classes)[i].name != 0;
		some_not |= label_classes(&set->classes)[i].name == 0;
	}
	return some_named && some_not;
}

static int decide(struct label_set *set)
{
	struct labels_style *style = &set->style;
	bool numbered = false, in_order;
	unsigned files = 0;
	int r;

	style->width = find_width(set);
	for (unsigned i = 0; i < set->count; i++) {
		if (!set->of_set[i] || !set->foreign[i])
			continue;
		style->asked |= set->styles[i].asked;
		numbered |= set->styles[i].numbered;
		files++;
	}
	r = name_labels(set);
	if (r == 0)
		r = list_by_name(set);
	if (r == 0)
		r = look_at_order(set, &in_order);
	if (r == 0)
		style->numbered = style->asked || files == 1
					  ? numbered
					  : !in_order || (numbered && are_mixed(set));
	return r;
}

/* --- folders ---------------------------------------------------------------------------------- */

/* Appends the last name of the class's folder. */
static int add_last(const struct label_set *set, const struct label_class *class, struct buf *ret)
{
	bool numbered = set->style.numbered || !class->name;

	if (numbered)
		buf_addf(ret, "%0*" PRId64 "%s", (int)set->style.width, class->label,
			 class->name ? "_" : "");
	return buf_add(ret, label_class_name(set, class), class->name);
}

/* The name that others have for a label that has none in its file. */
static void find_name(const struct label_set *set, struct label_class *class)
{
	const struct label_class *all = label_classes(&set->classes);
	size_t low = 0, high = label_class_count(&set->classes);

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = label_compare_above(set, &all[middle], class);

		if (order == 0)
			order = label_compare_numbers(&all[middle], class);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	high = low < label_class_count(&set->classes) ? end_of_label(set, low) : low;
	for (size_t i = low; i < high; i++)
		if (label_compare_names(set, &all[i], &all[low]) != 0)
			return;
	if (low < high && all[low].label == class->label &&
	    label_compare_above(set, &all[low], class) == 0) {
		class->text = all[low].text;
		class->name = all[low].name;
	}
}

/* The entry is its folder. */
static int rename_class(const struct label_set *set, struct renames *renames,
			const struct label_class *class, uint32_t entry, const char *folder,
			size_t len)
{
	const struct dataset *dataset = set->packs[class->pack].dataset;
	SCOPE(buf_release) struct buf last = BUF_INIT;
	size_t above = labels_style_last(folder, len);
	int r = add_last(set, class, &last);

	if (r < 0 || (last.len == len - above && memcmp(last.data, folder + above, last.len) == 0))
		return r;
	return last.len > FORMAT_NAME_MAX
		       ? 0
		       : renames_add(renames, &dataset->index, entry, last.data, last.len);
}

/* Takes the label that the class has in the set, whose name the list of the file has. */
static int shift_listed(const struct label_set *set, struct label_class *class, struct err *err)
{
	class->label++;
	class->name = 0;
	find_name(set, class);
	return class->name ? 0
			   : err_set(err, -EINVAL,
				     "%s: the list of classes ends with label %" PRId64
				     ", and labels "
				     "count from 0, as another file of the set has a label 0",
				     set->packs[class->pack].name, class->label - 1);
}

static int rename_pack(struct label_set *set, struct renames *renames, unsigned pack,
		       struct err *err)
{
	SCOPE(label_walk_release) struct label_walk walk = {0};
	int r = label_walk_begin(&walk, &set->packs[pack]);

	for (size_t i = 0; r == 0; i++) {
		size_t texts = set->texts.len, len;
		const char *folder;
		struct label_class class;
		uint32_t entry;

		r = label_walk_next(&walk, set, pack, &class);
		if (r)
			break;
		folder = labels_folder(&walk.labels, i);
		len = labels_row(&walk.labels, i)->len;
		if (dataset_find(set->packs[pack].dataset, folder, len, &entry) < 0)
			continue;
		if (label_set_shifts(set, pack) && set->styles[pack].listed)
			r = shift_listed(set, &class, err);
		else if (!class.name)
			find_name(set, &class);
		if (r == 0)
			r = rename_class(set, &renames[pack], &class, entry, folder, len);
		set->texts.len = texts;
	}
	return r < 0 ? r : 0;
}

/* Whether its folders may have to be called otherwise. */
static bool differs(const struct label_set *set, unsigned pack)
{
	const struct labels_style *a = &set->styles[pack], *b = &set->style;

	return a->numbered != b->numbered || a->width != b->width || set->names_found ||
	       label_set_shifts(set, pack);
}

static int add_labels(const struct label_set *set, struct labels *ret)
{
	SCOPE(buf_release) struct buf folder = BUF_INIT;
	int r = 0;

	for (size_t i = 0; r == 0 && i < label_class_count(&set->classes); i++) {
		const struct label_class *class = &label_classes(&set->classes)[i];

		if (class->fixed)
			continue;
		folder.len = 0;
		buf_addf(&folder, "%s%s", class->below, *class->below ? "/" : "");
		buf_add(&folder, set->texts.data + class->text, class->above);
		r = add_last(set, class, &folder);
		if (r == 0)
			r = labels_add(ret, class->label, folder.data, folder.len);
	}
	return r;
}

/* --- what is told ----------------------------------------------------------------------------- */

static void look_at_disputes(const struct label_set *set, const struct label_class *class)
{
	const struct dataset_pack *pack = &set->packs[class->pack];

	for (size_t i = 0; i < BUF_COUNT(&set->disputes, struct dispute); i++) {
		struct dispute *d = &BUF_ITEMS(&set->disputes, struct dispute)[i];

		if (d->pack != pack)
			d->has_first = d->has_second = false;
		d->pack = pack;
		d->has_first |= label_compare_by_label(class, &d->first, (void *)set) == 0;
		d->has_second |= label_compare_by_label(class, &d->second, (void *)set) == 0;
		d->is_meant |= d->has_first && d->has_second;
	}
}

/* What a file says of itself is meant. */
static int find_meant(struct label_set *set)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < set->count; i++) {
		SCOPE(label_walk_release) struct label_walk walk = {0};
		size_t texts = set->texts.len;
		struct label_class class;

		r = set->of_set[i] ? label_walk_begin(&walk, &set->packs[i]) : 0;
		while (r == 0 && (r = label_walk_next(&walk, set, i, &class)) == 0) {
			look_at_disputes(set, &class);
			set->texts.len = texts;
		}
	}
	return r < 0 ? r : 0;
}

static int say_dispute(const struct label_set *set, const struct dispute *d, size_t more,
		       struct buf *ret)
{
	const struct label_class *a = &d->first, *b = &d->second;
	const char *x = set->packs[a->pack].name, *y = set->packs[b->pack].name;

	if (a->label == b->label)
		buf_addf(ret, "label %" PRId64 " is '%.*s' in %s and '%.*s' in %s", a->label,
			 (int)a->name, label_class_name(set, a), x, (int)b->name,
			 label_class_name(set, b), y);
	else
		buf_addf(ret,
			 "the class '%.*s' has the label %" PRId64 " in %s and %" PRId64 " in %s",
			 (int)a->name, label_class_name(set, a), a->label, x, b->label, y);
	if (more)
		buf_addf(ret, ", and so it is with %zu more", more);
	buf_adds(ret, ": they are classes of their own; 'NAME/=' keeps such files apart");
	return buf_add(ret, "", 1);
}

static int say_disputes(struct label_set *set, struct buf *ret)
{
	const struct dispute *first = NULL;
	size_t count = 0;
	int r = set->disputes.len ? find_meant(set) : 0;

	for (size_t i = 0; i < BUF_COUNT(&set->disputes, *first); i++) {
		const struct dispute *d = &BUF_ITEMS(&set->disputes, const struct dispute)[i];

		if (d->is_meant)
			continue;
		first = first ? first : d;
		count++;
	}
	return r == 0 && first ? say_dispute(set, first, count - 1, ret) : r;
}

static bool is_tar(const struct dataset *dataset)
{
	const struct dataset_info *info = dataset_info(dataset);
	size_t len;
	const char *format = options_find(info->options, info->options_len, "format", &len);

	return format && len == 3 && memcmp(format, "tar", len) == 0;
}

/* The first packs of which that is so; NULL: there is none. */
struct firsts {
	const char *labels, *only_names;
	const char *classes, *no_classes; /* of tars */
	const char *places, *firsts;	  /* enum labels_several */
};

static struct firsts find_firsts(const struct label_set *set)
{
	struct firsts firsts = {0};

	for (unsigned i = set->count; i-- > 0;) {
		const struct dataset_pack *pack = &set->packs[i];

		if (!set->of_set[i])
			continue;
		if (dataset_info(pack->dataset)->labels_len)
			firsts.labels = pack->name;
		if (set->foreign[i] && set->styles[i].only_names)
			firsts.only_names = pack->name;
		if (set->foreign[i] && set->styles[i].several == LABELS_PLACES)
			firsts.places = pack->name;
		if (set->foreign[i] && set->styles[i].several == LABELS_FIRSTS)
			firsts.firsts = pack->name;
		if (is_tar(pack->dataset))
			*(set->foreign[i] ? &firsts.classes : &firsts.no_classes) = pack->name;
	}
	return firsts;
}

/* What files of a set have, and others have not. */
static int say_differences(const struct label_set *set, struct buf *ret)
{
	const struct firsts firsts = find_firsts(set);
	int r = 0;

	if (firsts.labels && firsts.only_names) {
		buf_addf(ret,
			 "classes have labels in %s, and only names in %s: what these call "
			 "differently is two classes",
			 firsts.labels, firsts.only_names);
		r = buf_add(ret, "", 1);
	}
	if (firsts.places && firsts.firsts) {
		buf_addf(ret,
			 "of labels of several numbers the place of the only 1 counts in %s, and "
			 "the "
			 "first number in %s, which has others than 0 and 1",
			 firsts.places, firsts.firsts);
		r = buf_add(ret, "", 1);
	}
	if (firsts.classes && firsts.no_classes) {
		buf_addf(
			ret,
			"samples have classes in %s, and none in %s, which is shown as the tree of "
			"its members; --layout=classes shows all alike",
			firsts.classes, firsts.no_classes);
		r = buf_add(ret, "", 1);
	}
	return r;
}

/* --- all -------------------------------------------------------------------------------------- */

static const char *scope_of(const struct dataset_pack *pack)
{
	return pack->scope ? pack->scope : pack->below;
}

static int join_set(struct label_set *set, struct renames *renames, struct labels *ret_labels,
		    struct buf *ret_notes, struct err *err)
{
	int r;

	for (unsigned i = 0; i < set->count; i++)
		if (set->of_set[i] && set->foreign[i] && set->styles[i].counted == LABELS_FROM_ZERO)
			set->style.counted = LABELS_FROM_ZERO;
	r = label_set_gather(set);
	if (r == 0)
		r = decide(set);
	for (unsigned i = 0; r == 0 && i < set->count; i++)
		if (set->of_set[i] && set->foreign[i] && differs(set, i))
			r = rename_pack(set, renames, i, err);
	if (r == 0)
		r = add_labels(set, ret_labels);
	if (r == 0)
		r = say_disputes(set, ret_notes);
	return r < 0 ? r : say_differences(set, ret_notes);
}

/* Packs keep their labels. */
static int add_fixed(const struct label_set *set, struct labels *ret)
{
	unsigned last = UINT32_MAX;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < set->count; i++) {
		if (set->foreign[i] || (last < i && label_set_same(set, last, i)))
			continue;
		r = labels_add_dataset(ret, set->packs[i].dataset, set->packs[i].below);
		last = i;
	}
	return r;
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
		r = join_set(&set, renames, ret_labels, ret_notes, err);
	}
	return r < 0 ? r : add_fixed(&all, ret_labels);
}
