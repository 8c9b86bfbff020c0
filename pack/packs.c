#include "pack/packs.h"
#include "base/lines.h"
#include "base/name.h"
#include "base/parallel_for.h"
#include "base/reader.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/dataset_internal.h"
#include "pack/dataset_merge.h"
#include "pack/delta.h"
#include "pack/shard.h"
#include "pack/splits.h"
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define LIST_MOST	 (64 * MIB) /* of a list of packs or patterns */
#define OPEN_AT_ONCE	 16	    /* packs: each may take some round trips */
#define OPEN_PATIENCE_NS 1000000    /* what a pack on this machine takes */

struct opening {
	const struct packs_params *params;
	const struct names *names;
	struct names kept; /* `names`, once some have no image: borrows all but the array */
	struct dataset_pack *packs; /* a base that has its delta on it leaves its place empty */
	char **shown;		    /* the names of the packs, for messages */
	struct split_name *splits;  /* the folders of sets */
	struct buf select;	    /* of const char *: the patterns */
	struct buf *lists;	    /* the texts of patterns that were in files */
	pthread_mutex_t lock;
	/* While packs are opened, protected by lock: */
	size_t failed;	 /* the first pack that could not be opened, */
	int error;	 /* the reason, */
	struct err *err; /* and what is said of it */
};

static void opening_release(struct opening *o)
{
	for (size_t i = 0; i < o->names->count; i++) {
		if (o->packs)
			dataset_free(o->packs[i].dataset);
		if (o->shown)
			free(o->shown[i]);
	}
	splits_release(o->splits, o->names->count);
	free(o->splits);
	for (size_t i = 0; o->lists && i < o->params->select_count; i++)
		buf_release(&o->lists[i]);
	free(o->kept.all);
	free(o->packs);
	free(o->shown);
	free(o->lists);
	buf_release(&o->select);
}

/* --- lists ------------------------------------------------------------------------------------ */

static int read_pack_list(void *context, const char *name, struct buf *ret, struct err *err)
{
	const struct packs_params *params = context;
	SCOPE(reader_release) struct reader *reader = NULL;
	SCOPE_FREE char *shown = name_shown(name);
	struct err reason = {0};
	int r = shown ? params->open_list(params->context, name, READER_WHOLE, &reader, &reason)
		      : -ENOMEM;

	if (r == 0)
		r = reader_get_all(reader, LIST_MOST, ret);
	if (r == -EFBIG)
		err_set(&reason, r, "too long for a list: over %u MiB",
			(unsigned)(LIST_MOST / MIB));
	return r < 0 ? err_set(err, r, "%s: %s", shown ? shown : "", err_text(&reason, r)) : 0;
}

static int list_packs(void *context, const char *name, struct buf *ret, struct err *err)
{
	const struct packs_params *params = context;

	return params->list ? params->list(params->context, name, ret, err) : 1;
}

/* Adds the patterns of a list. */
static int read_patterns(struct opening *o, const char *name, struct buf *text)
{
	struct err reason = {0};
	const char *item;
	struct lines lines;
	size_t len;
	int r = read_pack_list((void *)o->params, name, text, o->err);

	/* Room for the NUL that ends each pattern. */
	if (r == 0)
		r = buf_add(text, "\n", 1);
	if (r == 0 && lines_begin(text->data, text->len, &lines, &reason) < 0)
		r = err_set(o->err, -EINVAL, "'--select': %s: %s", name, reason.text);
	while (r == 0 && lines_next(&lines, &item, &len)) {
		text->data[item + len - text->data] = '\0';
		r = buf_add(&o->select, &item, sizeof(item));
	}
	return r;
}

static int read_select(struct opening *o)
{
	const struct packs_params *params = o->params;
	int r = 0;

	o->lists = calloc(params->select_count + 1, sizeof(*o->lists));
	if (!o->lists)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < params->select_count; i++)
		r = params->select[i][0] == '@'
			    ? read_patterns(o, params->select[i] + 1, &o->lists[i])
			    : buf_add(&o->select, &params->select[i], sizeof(params->select[i]));
	if (r == 0 && params->select_count && o->select.len == 0)
		r = err_set(o->err, -EINVAL, "'--select': an empty list");
	return r;
}

/* --- packs ------------------------------------------------------------------------------------ */

/* Whether sets must be complete. */
static bool wants_all(const struct packs_params *params, const struct names *names)
{
	bool alone = names->count == 1 && !names->patterns;

	return !params->missing_ok && !(params->alone_ok && alone);
}

static int hint(const struct packs_params *params, int error, struct err *err)
{
	return error == -ENOENT && params->missing_hint
		       ? err_set(err, error, "%s; %s", err->text, params->missing_hint)
		       : error;
}

int packs_names(const struct packs_params *params, struct names *ret, struct err *err)
{
	int r = 0;

	ret->read = read_pack_list;
	ret->list = list_packs;
	ret->context = (void *)params;
	for (size_t i = 0; r == 0 && i < params->count; i++)
		r = names_add(ret, params->words[i], err);
	return r == 0 && wants_all(params, ret) ? hint(params, names_check_sets(ret, err), err) : r;
}

static void open_next(void *opening, size_t i)
{
	struct opening *o = opening;
	const struct packs_params *params = o->params;
	const struct name *name = &o->names->all[i];
	struct err why = {0};
	bool wanted;
	int r;

	/* Packs after one that failed are no longer wanted. */
	pthread_mutex_lock(&o->lock);
	wanted = i < o->failed;
	pthread_mutex_unlock(&o->lock);
	if (!wanted)
		return;
	o->shown[i] = name_shown(name->name);
	o->packs[i] = (struct dataset_pack){
		.name = o->shown[i], .below = name->below, .scope = name->below};
	r = o->shown[i] ? params->open(params->context, name, &o->packs[i].dataset, &why) : -ENOMEM;
	SCOPE_LOCK(&o->lock);
	if (r == 0 || i >= o->failed || (r == -ENOANO && o->names->count > 1))
		return;
	o->failed = i;
	o->error = err_set(o->err, r, "%s: %s%s", o->shown[i] ? o->shown[i] : "", err_text(&why, r),
			   params->makes_packs ? "" : dataset_way_out(r));
}

/* Writers of sets make files without an image, too. */
static int drop_empty(struct opening *o)
{
	const struct names *all = o->names;
	SCOPE_FREE char *first = NULL, *line = NULL;
	size_t count = 0;

	o->kept.all = calloc(all->count, sizeof(*o->kept.all));
	if (!o->kept.all)
		return -ENOMEM;
	for (size_t i = 0; i < all->count; i++) {
		char *shown = steal_ptr(&o->shown[i]);

		if (!o->packs[i].dataset) {
			free(first ? shown : NULL);
			first = first ? first : shown;
			continue;
		}
		o->kept.all[count] = all->all[i];
		o->packs[count] = o->packs[i];
		o->shown[count++] = shown;
	}
	o->kept.count = count;
	o->names = &o->kept;
	if (count == 0)
		return err_set(o->err, -ENOENT, "%s: no image in it, nor in the others", first);
	if (!first || !o->params->notice)
		return 0;
	if (asprintf(&line, "%s: %zu of %zu files have no image, and are left out", first,
		     all->count - count, all->count) < 0)
		return -ENOMEM;
	o->params->notice(line);
	return 0;
}

/* Checks what the names cannot tell. */
static int check_shards(const struct opening *o)
{
	SCOPE_FREE struct shard *shards = calloc(o->names->count, sizeof(*shards));
	struct err reason = {0};
	int r = 0;

	if (!shards)
		return -ENOMEM;
	for (size_t i = 0; i < o->names->count; i++) {
		const struct dataset_info *info = dataset_info(o->packs[i].dataset);

		shard_read(info->options, info->options_len, &shards[i]);
	}
	for (size_t i = 0; r == 0 && i < o->names->count; i++) {
		r = shards_check(shards, o->names->count, i, &reason);
		if (r < 0)
			err_set(o->err, r, "%s: %s", o->shown[i], reason.text);
	}
	return hint(o->params, r, o->err);
}

/* --- sets ------------------------------------------------------------------------------------- */

/* Whether the folder is one of these. */
static bool is_among(const struct buf *folders, const char *folder)
{
	const char *const *all = BUF_ITEMS(folders, const char *const);

	for (size_t i = 0; i < BUF_COUNT(folders, *all); i++)
		if (strcmp(all[i], folder) == 0)
			return true;
	return false;
}

/* Takes the folder from sets whose packs are all in such a one already. */
static int keep_folders(struct opening *o)
{
	SCOPE(buf_release) struct buf needed = BUF_INIT;
	struct split_name *splits = o->splits;
	int r = 0;

	for (size_t i = 0; r == 0 && i < o->names->count; i++) {
		const struct dataset *dataset = o->packs[i].dataset;
		const struct dataset_entry root = dataset_entry(dataset, DATASET_ROOT);
		const struct dataset_entry only = dataset_entry(
			dataset, root.children == 1 ? root.first_child : DATASET_ROOT);
		bool inside = root.children == 1 && only.kind == FORMAT_DIRECTORY &&
			      splits[i].folder &&
			      splits_is_folder(splits[i].folder, only.name, only.name_len);

		if (splits[i].folder && !inside && !is_among(&needed, splits[i].folder))
			r = buf_add(&needed, &splits[i].folder, sizeof(splits[i].folder));
	}
	for (size_t i = 0; r == 0 && i < o->names->count; i++)
		if (splits[i].folder && !is_among(&needed, splits[i].folder))
			free(steal_ptr(&splits[i].folder));
	return r;
}

static int say_sets(const struct opening *o)
{
	SCOPE(buf_release) struct buf line = BUF_INIT;
	size_t count = o->names->count, rest = 0;
	char files[SIZE_TEXT];
	int r;

	for (size_t i = 0; i < count; i++)
		rest += !o->splits[i].folder && !o->names->all[i].placed;
	buf_addf(&line,
		 "%s and %zu more: several sets by their names, each in a folder of its own: ",
		 o->shown[0], count - 1);
	r = splits_tell(o->splits, count, &line);
	if (rest)
		buf_addf(&line, ", and beside these what is in %s",
			 count_noun(rest, "other file", files));
	if (r == 0)
		r = buf_adds(&line, "; './=' in front of the words puts all into one");
	if (r == 0 && o->params->notice)
		o->params->notice(line.data);
	return r;
}

static int part_sets(struct opening *o)
{
	const struct names *names = o->names;
	bool parted = false;
	int r;

	for (size_t i = 0; i < names->count; i++) {
		const struct name *name = &names->all[i];
		bool counts = !name->placed && (name->found || splits_is_numbered(name->name)) &&
			      !dataset_lacks_base(o->packs[i].dataset);

		o->splits[i].name = counts ? name->name : NULL;
	}
	r = splits_find(o->splits, names->count);
	if (r == 0)
		r = keep_folders(o);
	for (size_t i = 0; r == 0 && i < names->count; i++) {
		if (!o->splits[i].folder)
			continue;
		o->packs[i].below = o->splits[i].folder;
		parted = true;
	}
	return r == 0 && parted ? say_sets(o) : r;
}

/* --- deltas ----------------------------------------------------------------------------------- */

/* Where a pack is in a folder, "" being the folder itself; NULL: elsewhere. */
static const char *place_in(const char *folder, const char *below)
{
	size_t len = strlen(folder);

	if (len == 0 || strcmp(folder, below) == 0)
		return below + len;
	return strncmp(folder, below, len) == 0 && below[len] == '/' ? below + len + 1 : NULL;
}

static int refuse_delta(const struct opening *o, size_t delta, int error, const struct err *why)
{
	const char *name = o->shown[delta];

	if (error != -ENOENT)
		return err_set(o->err, error, "%s: %s%s", name, err_text(why, error),
			       dataset_way_out(error));
	return err_set(o->err, -ENOENT,
		       "%s: %s; name right before it, oldest first, the packs that it was made "
		       "since: 'foldpack info' shows the id of each",
		       name, why->text);
}

/* Those of the first `count` packs that go into a folder or below it, as one dataset, which the
 * caller owns. Returns 1 where there is none. */
static int take_packs(struct opening *o, size_t count, const char *folder, const struct buf *select,
		      struct dataset **ret)
{
	SCOPE_FREE struct dataset_pack *packs = calloc(count + 1, sizeof(*packs));
	struct dataset_merge_params params = {.packs = packs,
					      .select = BUF_ITEMS(select, const char *const),
					      .select_count = BUF_COUNT(select, const char *),
					      .notice = o->params->notice};
	int r = 0;

	if (!packs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const char *place = place_in(folder, o->packs[i].below);

		if (!o->packs[i].dataset || !place)
			continue;
		packs[params.count] = o->packs[i];
		packs[params.count++].below = place;
	}
	if (params.count == 0)
		return 1;
	if (params.count > 1 || params.select_count || *packs[0].below)
		r = dataset_merge(&params, ret, o->err);
	else
		*ret = packs[0].dataset;
	/* Of several files each has its name: dataset_merge() sees to that of others. */
	if (r == 0 && *ret == packs[0].dataset && count < o->names->count)
		r = dataset_set_name(*ret, packs[0].name);
	for (size_t i = 0; r == 0 && i < count; i++)
		if (place_in(folder, o->packs[i].below))
			o->packs[i].dataset = NULL;
	return r;
}

static int apply_delta(struct opening *o, size_t delta)
{
	struct dataset *dataset = o->packs[delta].dataset, *base = NULL;
	char since[FORMAT_ID_TEXT];
	struct err why = {0};
	int r = take_packs(o, delta, o->packs[delta].below, &(const struct buf){0}, &base);

	if (r < 0)
		return r;
	if (r > 0) {
		r = delta_since(dataset, since, &why);
		if (r == 0)
			r = err_set(&why, -ENOENT, "a delta since the id %s, without that", since);
		return refuse_delta(o, delta, r, &why);
	}
	r = dataset_set_name(dataset, o->shown[delta]);
	if (r == 0)
		r = delta_apply(dataset, base, &why);
	if (r == 0)
		return 0;
	dataset_free(base);
	return refuse_delta(o, delta, r, &why);
}

/* --- all as one ------------------------------------------------------------------------------- */

static int make_label(const struct opening *o, struct packs_label *ret)
{
	const char *first = o->names->all[0].name;
	SCOPE_FREE char *path = realpath(first, NULL);
	char more[40] = "";
	struct stat st;

	if (o->names->count > 1)
		snprintf(more, sizeof(more), " and %zu more", o->names->count - 1);
	ret->device = stat(first, &st) == 0 ? st.st_dev : 0;
	if (asprintf(&ret->name, "%s%s", o->shown[0], more) < 0)
		ret->name = NULL;
	if (asprintf(&ret->path, "%s%s", path ? path : o->shown[0], more) < 0)
		ret->path = NULL;
	return ret->name && ret->path ? 0 : -ENOMEM;
}

void packs_label_release(struct packs_label *label)
{
	free(label->name);
	free(label->path);
	*label = (struct packs_label){0};
}

int packs_open_names(const struct packs_params *params, const struct names *names,
		     struct dataset **ret, struct packs_label *ret_label, struct err *err)
{
	SCOPE(opening_release)
	struct opening o = {.params = params,
			    .names = names,
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .failed = SIZE_MAX,
			    .err = err};
	const struct parallel_for loop = {.threads = OPEN_AT_ONCE,
					  .patience_ns = OPEN_PATIENCE_NS,
					  .work = open_next,
					  .context = &o};
	struct packs_label label = {0};
	int r = names_check_mixed(names, err);

	if (r == 0)
		r = read_select(&o);
	o.packs = calloc(names->count, sizeof(*o.packs));
	o.shown = calloc(names->count, sizeof(*o.shown));
	o.splits = calloc(names->count, sizeof(*o.splits));
	if (r == 0 && (!o.packs || !o.shown || !o.splits))
		r = -ENOMEM;
	if (r == 0) {
		parallel_for_run(&loop, names->count);
		r = o.error ? o.error : drop_empty(&o);
	}
	names = o.names;
	if (r == 0 && wants_all(params, names))
		r = check_shards(&o);
	if (r == 0)
		r = part_sets(&o);
	/* What is in a base is not seen beside what comes after its delta. */
	if (r == 0 && !(params->delta_ok && names->count == 1)) {
		r = dataset_merge_check(o.packs, (unsigned)names->count, err);
		for (size_t i = 0; r == 0 && i < names->count; i++)
			if (dataset_lacks_base(o.packs[i].dataset))
				r = apply_delta(&o, i);
	}
	if (r == 0)
		r = make_label(&o, &label);
	if (r == 0)
		r = take_packs(&o, names->count, "", &o.select, ret);
	if (r < 0)
		packs_label_release(&label);
	else
		*ret_label = label;
	return r;
}

int packs_open(const struct packs_params *params, struct dataset **ret,
	       struct packs_label *ret_label, struct err *err)
{
	SCOPE(names_release) struct names names = {0};
	int r = packs_names(params, &names, err);

	return r < 0 ? r : packs_open_names(params, &names, ret, ret_label, err);
}
