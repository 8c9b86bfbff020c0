#include "pack/splits.h"
#include "base/bytes.h"
#include "base/name.h"
#include "base/scope.h"
#include "base/size.h"
#include "pack/format.h"
#include "pack/names.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#define BETWEEN	   "-._ 0123456789"
#define TOLD	   4
#define PART_MARKS "=" /* of a folder that is a part of a set */

struct text {
	const char *data; /* NULL: none */
	size_t len;
};

struct file {
	const char *name;
	size_t end;	   /* without the query of a URL and slashes at its end */
	size_t base;	   /* where its last component begins */
	struct text split; /* what tells its set, */
	size_t at;	   /* and where the component begins that says so */
	size_t rest;   /* up to here, files of the same name in other folders are of other sets */
	size_t number; /* among the names */
};

/* --- words ------------------------------------------------------------------------------------ */

static const struct {
	const char *word, *split;
} words[] = {
	{"train", "train"},	 {"training", "train"}, {"validation", "validation"},
	{"valid", "validation"}, {"val", "validation"}, {"dev", "validation"},
	{"test", "test"},	 {"testing", "test"},	{"eval", "test"},
	{"evaluation", "test"},
};

/* The split that the first such word names; NULL: there is none. */
static const char *split_of(const char *text, size_t len)
{
	for (size_t at = 0, word; at < len; at += word + 1) {
		for (word = 0; at + word < len && !strchr(BETWEEN, text[at + word]);)
			word++;
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (word == strlen(words[i].word) &&
			    strncasecmp(text + at, words[i].word, word) == 0)
				return words[i].split;
	}
	return NULL;
}

static bool is_word(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && (isalnum((unsigned char)text[i]) || text[i] == '_'))
		i++;
	return len > 0 && i == len;
}

static struct text text_of(const char *text)
{
	return (struct text){text, text ? strlen(text) : 0};
}

/* --- one file --------------------------------------------------------------------------------- */

static struct file file_of(const char *name, size_t number)
{
	struct file file = {.name = name, .end = name_query(name), .number = number};
	const char *slash;

	while (file.end > 1 && name[file.end - 1] == '/')
		file.end--;
	slash = memrchr(name, '/', file.end);
	file.base = slash ? (size_t)(slash + 1 - name) : 0;
	file.at = file.base;
	file.rest = file.end;
	return file;
}

/* The first folder behind those that all files are in whose name says a split. */
static bool look_at_folders(struct file *file, size_t common)
{
	for (size_t at = common, len; at < file->base; at += len + 1) {
		len = strcspn(file->name + at, "/");
		file->split = text_of(split_of(file->name + at, len));
		if (file->split.data) {
			file->at = at;
			return true;
		}
	}
	return false;
}

static void find_split(struct file *file, size_t common)
{
	const char *base = file->name + file->base;
	struct set_name set;
	bool numbered = set_name_parse(file->name, &set);
	size_t len = numbered ? set.before - file->base : file->end - file->base;
	const char *split = split_of(base, len);

	if (numbered)
		file->rest = set.before + 1 + (size_t)set.digits;
	if (numbered && split && is_word(base, len))
		file->split = (struct text){base, len};
	else if (numbered && split)
		file->split = text_of(split);
	else if (!look_at_folders(file, common) && split)
		file->split = text_of(split);
	else if (!file->split.data && numbered && format_name_valid(base, len))
		file->split = (struct text){base, len};
}

bool splits_is_numbered(const char *name)
{
	const struct file file = file_of(name, 0);
	const char *base = name + file.base;
	size_t len = file.end - file.base;
	struct set_name set;

	if (set_name_parse(name, &set))
		return true;
	/* Without suffixes, such as .tar.gz. */
	for (const char *dot; (dot = memrchr(base, '.', len)) && isalpha((unsigned char)dot[1]);)
		len = (size_t)(dot - base);
	for (size_t digits = 0; digits < len; digits++)
		if (!isdigit((unsigned char)base[len - 1 - digits]))
			return digits && strchr(BETWEEN, base[len - 1 - digits]);
	return len > 0;
}

bool splits_is_folder(const char *folder, const char *name, size_t len)
{
	const char *slash = strrchr(folder, '/'), *last = slash ? slash + 1 : folder;
	const char *split = split_of(last, strlen(last)), *other = split_of(name, len);

	return (strlen(last) == len && memcmp(last, name, len) == 0) ||
	       (split && other && strcmp(split, other) == 0);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int compare_rest(const void *left, const void *right)
{
	const struct file *a = left, *b = right;

	return bytes_compare(a->name + a->at, a->rest - a->at, b->name + b->at, b->rest - b->at);
}

/* "FOLDERS/SPLIT", or what of it tells the sets apart. The folders are those between the common one
 * and what says the split. */
static int name_folder(const struct file *file, size_t common, bool folders, bool split, char **ret)
{
	SCOPE(buf_release) struct buf text = BUF_INIT;

	for (size_t at = common, len; folders && at < file->at; at += len + 1) {
		const char *part = file->name + at;

		len = strcspn(part, "/");
		if (format_name_valid(part, len) && !memchr(part, *PART_MARKS, len))
			buf_addf(&text, "%s%.*s", text.len ? "/" : "", (int)len, part);
	}
	if (split || text.len == 0)
		buf_addf(&text, "%s%.*s", text.len ? "/" : "", (int)file->split.len,
			 file->split.data);
	if (buf_error(&text) < 0)
		return -ENOMEM;
	*ret = steal_ptr(&text.data);
	return 0;
}

int splits_find(struct split_name *names, size_t count)
{
	SCOPE_FREE struct file *files = calloc(count + 1, sizeof(*files));
	bool folders = false, differ = false, several = false;
	size_t some = 0, told = 0, common;
	const char *first;
	int r = 0;

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (names[i].name)
			files[some++] = file_of(names[i].name, i);
	/* Bytes of the folder that all are in, with its slash. */
	common = files[0].base;
	for (size_t i = 1; i < some; i++)
		common = name_common_folder(files[0].name, common, files[i].name, files[i].base);
	for (size_t i = 0; i < some; i++) {
		find_split(&files[i], common);
		if (files[i].split.data)
			files[told++] = files[i];
	}
	if (told < 2)
		return 0;
	qsort(files, told, sizeof(*files), compare_rest);
	for (size_t i = 1; i < told; i++) {
		const struct file *a = &files[i - 1], *b = &files[i];

		folders |= compare_rest(a, b) == 0 &&
			   (a->at != b->at || memcmp(a->name, b->name, a->at) != 0);
		differ |= bytes_compare(a->split.data, a->split.len, b->split.data, b->split.len) !=
			  0;
	}
	for (size_t i = 0; r == 0 && i < told; i++)
		r = name_folder(&files[i], common, folders, differ, &names[files[i].number].folder);
	first = names[files[0].number].folder;
	for (size_t i = 1; r == 0 && i < told; i++)
		several |= strcmp(first, names[files[i].number].folder) != 0;
	if (!several)
		splits_release(names, count);
	return r;
}

void splits_release(struct split_name *names, size_t count)
{
	for (size_t i = 0; names && i < count; i++) {
		free(names[i].folder);
		names[i].folder = NULL;
	}
}

/* --- what is told ----------------------------------------------------------------------------- */

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

int splits_tell(const struct split_name *names, size_t count, struct buf *ret)
{
	SCOPE_FREE const char **folders = calloc(count + 1, sizeof(*folders));
	size_t some = 0, sets = 0, said = 0;

	if (!folders)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (names[i].folder)
			folders[some++] = names[i].folder;
	qsort(folders, some, sizeof(*folders), compare_texts);
	for (size_t i = 0; i < some; i++)
		sets += i == 0 || strcmp(folders[i], folders[i - 1]) != 0;
	for (size_t i = 0, next; i < some && said < TOLD; i = next) {
		char files[SIZE_TEXT];

		for (next = i + 1; next < some && strcmp(folders[i], folders[next]) == 0;)
			next++;
		said++;
		buf_addf(ret, "%s%s (%s)",
			 said == 1	? ""
			 : said == sets ? " and "
					: ", ",
			 folders[i], count_noun(next - i, "file", files));
	}
	if (sets > TOLD)
		buf_addf(ret, " and %zu more", sets - TOLD);
	return buf_error(ret);
}
