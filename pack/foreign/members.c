#include "pack/foreign/members.h"
#include "base/date.h"
#include "base/name.h"
#include "base/reader_members.h"
#include "base/scope.h"
#include "pack/dataset_open.h"
#include "pack/foreign/folder.h"
#include "pack/foreign/index_file.h"
#include "pack/foreign/tree_internal.h"
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define ROOM ((uint64_t)1 << 62) /* of a container while it is listed */

struct opening {
	struct members *members; /* until a reader has them */
	const char *kind;	 /* for messages */
	struct foreign_settings settings;
	struct foreign_source source;
	struct foreign_tree tree;
	struct index_key key;
	struct dataset_readers readers;
	struct index_extra extra;

	/* Of a listing: */
	struct err *err;
	struct buf found; /* struct found: objects */
	struct buf names; /* what they point to */
	const char *last; /* of these, the path of the object that was added last */
	uint64_t next;	  /* where the next member begins */
};

/* An object of a listing. */
struct found {
	uint64_t path, tag; /* in `names` */
	uint64_t size;
	int64_t mtime;
};

static void opening_release(struct opening *o)
{
	if (o->members)
		o->members->ops->free(o->members);
	foreign_tree_release(&o->tree);
	foreign_source_release(&o->source);
	index_extra_release(&o->extra);
	dataset_readers_release(&o->readers);
	buf_release(&o->found);
	buf_release(&o->names);
}

/* --- a listing -------------------------------------------------------------------------------- */

/* Adds a file to the tree, and to the table. */
static int add_file(struct opening *o, struct foreign_file *file, const struct member *member)
{
	struct foreign_tree *tree = &o->tree;
	uint8_t row[READER_MEMBERS_ROW];
	int r;

	if (member->size >= ROOM - o->next)
		return err_set(o->err, -EOVERFLOW, "'%s' is longer than can be counted",
			       member->path);
	file->path = (struct foreign_text){member->path, strlen(member->path)};
	file->mtime = member->mtime;
	file->offset = o->next;
	file->size = member->size;
	r = foreign_add(tree, file, o->err);
	if (r < 0 || member->size == 0)
		return r;
	reader_members_encode(o->next, member, tree->members_text.len, row);
	buf_add(&tree->members_text, member->path, strlen(member->path) + 1);
	r = buf_add(&tree->members_text, member->tag, strlen(member->tag) + 1);
	o->next = reader_members_after(o->next, member->size);
	return r < 0 ? r : buf_add(&tree->members, row, sizeof(row));
}

static int leave_out(struct opening *o, const char *text, const char *path, const char *why)
{
	SCOPE_FREE char *example = NULL;

	o->tree.lacks++;
	if (asprintf(&example, "'%s' (%s)", path, why) < 0)
		return -ENOMEM;
	foreign_tree_note(&o->tree, &(struct notice){text, 1, {1}, example});
	return 0;
}

/* --- of a folder ------------------------------------------------------------------------------ */

/* The path of an entry of the scan: those that were added are rows of the tree, in their order. */
static int path_of(const struct opening *o, const struct pack_entry *entry, struct buf *ret)
{
	struct foreign_text above = {0};
	int r = 0;

	if (entry->parent != PACK_ROOT)
		above = foreign_tree_path(&o->tree, entry->parent);
	if (above.len)
		r = buf_addf(ret, "%.*s/", (int)above.len, above.data);
	return r < 0 ? r : buf_add(ret, entry->name, entry->name_len + 1);
}

static int add_entry(void *context, const struct pack_entry *entry, uint32_t *ret_id,
		     struct err *err)
{
	struct opening *o = context;
	SCOPE(buf_release) struct buf path = BUF_INIT;
	uint32_t first = entry->link_to;
	struct foreign_file file = {.mode = entry->mode | S_IFREG,
				    .mtime = date_of(entry->mtime),
				    .directory = entry->kind == FORMAT_DIRECTORY};
	struct member member = {.size = entry->size, .mtime = file.mtime, .tag = ""};
	int r = path_of(o, entry, &path);

	(void)err;
	if (r < 0)
		return r;
	*ret_id = (uint32_t)tree_count(&o->tree);
	member.path = path.data;
	if (entry->kind == FORMAT_FILE)
		return add_file(o, &file, &member);
	file.path = (struct foreign_text){path.data, path.len - 1};
	if (entry->kind == FORMAT_SYMLINK)
		file.target = (struct foreign_text){entry->target, entry->target_len};
	if (entry->kind == FORMAT_HARDLINK)
		file.second_name_of = &first;
	return foreign_add(&o->tree, &file, o->err);
}

/* It comes first: its number is that of its row. */
static void add_root(void *context, mode_t mode, struct timespec mtime)
{
	struct opening *o = context;
	const struct foreign_file root = {.path = {.data = ""},
					  .directory = true,
					  .mode = mode | S_IFDIR,
					  .mtime = date_of(mtime)};

	foreign_add(&o->tree, &root, o->err);
}

static int note_bad(void *context, const char *path, const char *why)
{
	struct opening *o = context;

	return *path ? leave_out(o, "left out, as they cannot be read: {}", path, why)
		     : err_set(o->err, -EIO, "cannot be listed: %s", why);
}

static void note_special(void *context, const char *path, const char *what)
{
	struct opening *o = context;

	leave_out(o, "left out, as they are no files: {}", path, what);
}

static int note_tick(void *context, uint64_t entries)
{
	(void)context;
	(void)entries;
	return 0;
}

static int list_folder(struct opening *o)
{
	const struct scan_watch watch = {
		.bad = note_bad, .special = note_special, .tick = note_tick, .context = o};
	const struct scan_into into = {.root = add_root, .add = add_entry, .context = o};
	int r = folder_scan(o->members, &watch, &into, o->err);

	/* There is no memory where even the root is missing. */
	return r == 0 && !tree_count(&o->tree) ? -ENOMEM : r;
}

/* --- of a prefix ------------------------------------------------------------------------------ */

static int note_found(void *context, const struct member *member)
{
	struct opening *o = context;
	struct found found = {.path = o->names.len, .size = member->size, .mtime = member->mtime};

	foreign_tree_progress(&o->tree, BUF_COUNT(&o->found, struct found));
	buf_add(&o->names, member->path, strlen(member->path) + 1);
	found.tag = o->names.len;
	buf_add(&o->names, member->tag, strlen(member->tag) + 1);
	return o->names.failed ? -ENOMEM : buf_add(&o->found, &found, sizeof(found));
}

static int compare_found(const void *a, const void *b, void *names)
{
	const char *x = (const char *)names + ((const struct found *)a)->path;
	const char *y = (const char *)names + ((const struct found *)b)->path;

	return tree_compare_paths(x, strlen(x), y, strlen(y));
}

/* Why no file can have this name; NULL: one can. */
static const char *flaw_of(const struct opening *o, const char *path)
{
	size_t above = o->last ? strlen(o->last) : 0;

	for (const char *part = path;; part++) {
		size_t len = strcspn(part, "/");

		if (!format_name_valid(part, len))
			return len > FORMAT_NAME_MAX ? "a name too long for a file" : "no path";
		part += len;
		if (!*part)
			break;
	}
	/* That object comes right before what is below its name. */
	if (above && strncmp(path, o->last, above) == 0 && path[above] == '/')
		return "in a folder whose name an object has";
	return NULL;
}

static int add_found(struct opening *o, const struct found *found)
{
	const char *path = o->names.data + found->path;
	const struct member member = {.path = path,
				      .size = found->size,
				      .mtime = found->mtime,
				      .tag = o->names.data + found->tag};
	struct foreign_file file = {.mode = 0};
	size_t len = strlen(path);
	const char *flaw;

	/* What consoles make for an empty folder. */
	if (found->size == 0 && (len == 0 || path[len - 1] == '/'))
		return 0;
	flaw = len > FOREIGN_PATH_MOST ? "a name too long for a path" : flaw_of(o, path);
	if (flaw)
		return leave_out(o, "left out, as no file can have their names: {}", path, flaw);
	o->last = path;
	return add_file(o, &file, &member);
}

/* In the order of their names, as a folder is. A server that is odd may list one twice. */
static int list_prefix(struct opening *o)
{
	int r = o->members->ops->list(o->members, note_found, o, o->err);
	const struct found *all;

	if (r < 0)
		return r;
	o->tree.say_next = UINT64_MAX; /* the rest is quick */
	if (!o->found.len)
		return err_set(o->err, -ENOENT, "no object's name begins with it");
	qsort_r(o->found.data, BUF_COUNT(&o->found, struct found), sizeof(struct found),
		compare_found, o->names.data);
	all = BUF_ITEMS(&o->found, const struct found);
	for (size_t i = 0; r == 0 && i < BUF_COUNT(&o->found, struct found); i++)
		if (i == 0 || compare_found(&all[i - 1], &all[i], o->names.data) != 0)
			r = add_found(o, &all[i]);
	return r;
}

/* --- the index -------------------------------------------------------------------------------- */

static int make_index(struct opening *o, struct reader **ret)
{
	uint64_t now = (uint64_t)time(NULL);
	int r;

	o->source.size = ROOM;
	r = o->members->ops->list ? list_prefix(o) : list_folder(o);
	o->source.size = o->next;
	if (r == 0)
		r = index_members_write(&o->tree, now, &o->source.beside);
	if (r == 0)
		r = index_file_write(&o->tree, &o->key, o->kind, ret, o->err);
	return r;
}

static void age_text(uint64_t listed, char ret[static 64])
{
	uint64_t now = (uint64_t)time(NULL), age = now > listed ? now - listed : 0;

	if (age < 120)
		snprintf(ret, 64, "just now");
	else if (age < 2 * 3600)
		snprintf(ret, 64, "%" PRIu64 " minutes ago", age / 60);
	else if (age < 48 * 3600)
		snprintf(ret, 64, "%" PRIu64 " hours ago", age / 3600);
	else
		snprintf(ret, 64, "%" PRIu64 " days ago", age / (24 * 3600));
}

static int say_opened(struct opening *o, const struct dataset *dataset)
{
	SCOPE_FREE char *text = NULL;
	uint64_t files = dataset_info(dataset)->super->files;
	struct reader_stats stats = {0};
	uint64_t lacks = o->tree.lacks ? 0 : dataset_left_out(dataset); /* which was said then */
	struct notice note = {.numbers = 1, .counts = {files}};
	char age[64];

	age_text(o->extra.listed, age);
	reader_stats(dataset_reader(dataset), &stats);
	if (stats.listed)
		note.counts[note.numbers++] = stats.listed;
	else if (lacks)
		note.counts[note.numbers++] = lacks;
	if (asprintf(&text,
		     "a %s as it is, without checksums: {} file(s), listed %s%s; '--relist' lists "
		     "it anew%s",
		     o->kind, age,
		     stats.listed ? " by {} request(s)"
		     : lacks	  ? ", left out then: {}"
				  : "",
		     o->settings.index_folder
			     ? "; '--cache-dir' keeps the listing alone, as only checksums say "
			       "whether a copy is right: 'foldpack create' makes a pack"
			     : "") < 0)
		return -ENOMEM;
	note.text = text;
	foreign_tree_note(&o->tree, &note);
	foreign_say_notes(&o->settings, &o->tree.notes);
	return 0;
}

static int open_by(struct opening *o, struct reader *index, struct dataset **ret)
{
	struct dataset_readers *readers = &o->readers;
	struct reader_members_table table = {.file = index};
	struct err why = {0};
	int r;

	readers->index = index;
	r = index_extra_read(index, &o->extra);
	if (r == 0 && !o->extra.listed)
		r = -EBADMSG;
	if (r < 0)
		return r;
	table.offset = o->extra.members_offset;
	table.count = o->extra.members_count;
	table.text = o->extra.members_text;
	r = reader_members_new(o->members, &table, &readers->data, &readers->stored);
	if (r < 0)
		return r;
	o->members = NULL;
	r = dataset_open_index(readers, ret, &why);
	if (r == -EBADMSG)
		o->members = reader_members_leave(steal_ptr(&readers->data));
	return r < 0 ? err_set(o->err, r, "%s", err_text(&why, r)) : 0;
}

static int open_kept(struct opening *o, struct dataset **ret)
{
	struct reader *index;
	int r = o->settings.relist ? -ENOENT : index_file_find(&o->tree, &o->key, &index);

	if (r == 0)
		r = open_by(o, index, ret);
	if (r == 0 || !o->members)
		return r;
	reader_free(steal_ptr(&o->readers.index));
	index_extra_release(&o->extra);
	r = make_index(o, &index);
	return r < 0 ? r : open_by(o, index, ret);
}

/* Options that say what other formats are, and what an index of a file needs, are left out. */
static int prepare(struct opening *o, const char *name, const struct foreign_settings *settings)
{
	struct foreign_source *source = &o->source;
	int r;

	o->settings = (struct foreign_settings){.notice = settings->notice,
						.notices = settings->notices,
						.index_folder = settings->index_folder,
						.relist = settings->relist,
						.unpublished = true};
	source->settings = &o->settings;
	source->place = o->members->place;
	source->window.remote = name_scheme(name) > 0;
	source->path =
		source->window.remote ? strndup(name, name_query(name)) : strdup(o->members->place);
	source->query = strdup("");
	source->shown = name_shown(name);
	if (!source->path || !source->query || !source->shown)
		return -ENOMEM;
	if (foreign_asked(settings) || settings->empty_classes)
		foreign_say(&o->settings, source->shown,
			    "stays as it is: --classes and the other options for files of other "
			    "formats change nothing");
	r = foreign_tree_init(&o->tree, source, o->err);
	if (r == 0)
		index_key_of_members(&o->tree, &o->key);
	return r;
}

int members_open(struct members *members, const char *name, const struct foreign_settings *settings,
		 struct dataset **ret, struct err *err)
{
	SCOPE(opening_release) struct opening o = {.members = members, .err = err};
	struct dataset *dataset;
	int r;

	o.kind = members->ops->list ? "prefix" : "folder";
	if (settings->checking)
		return err_set(err, -EOPNOTSUPP,
			       "a %s: what is kept of files needs checksums, which those of a pack "
			       "have; 'foldpack create' makes one of it",
			       o.kind);
	r = prepare(&o, name, settings);
	if (r == 0)
		r = open_kept(&o, &dataset);
	if (r == 0) {
		r = say_opened(&o, dataset);
		if (r < 0)
			dataset_free(dataset);
		else
			*ret = dataset;
	}
	return r;
}
