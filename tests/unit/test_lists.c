/* The lists that a loader may index. What programs make of a tree was taken from the programs
 * themselves, on the tree of a_tree() with sorted directories: torchvision 0.14's ImageFolder and
 * DatasetFolder, find_images_and_targets() of timm 1.0, os.walk, glob and pathlib of Python 3.11.
 */
#include "lists/lists.h"
#include "pack_fixture.h"
#include "tests/unit/test.h"

/* --- packs by their paths -------------------------------------------------------------------- */

/* Paths, one behind the other with a space between; "a>b" is a link, "a!" is
 * empty. */
static void add_paths(struct fixture *f, const char *paths)
{
	char *copy = strdup(paths), *rest = copy;

	for (char *path; (path = strsep(&rest, " "));) {
		char *mark = strpbrk(path, ">!");
		char kind = mark ? *mark : 0;
		const char *name;
		uint32_t parent;

		if (mark)
			*mark = '\0';
		parent = folder_of(f, path, &name);
		if (kind == '>')
			add_symlink(f, parent, name, mark + 1);
		else
			add_file(f, parent, name, kind ? 0 : 100);
	}
	free(copy);
}

static void make(struct fixture *f, const char *paths)
{
	add_paths(f, paths);
	finish_and_open(f);
}

/* --- what is found --------------------------------------------------------------------------- */

#define PATHS_MOST 100000 /* of a list; of a longer one only the name is noted */

struct found {
	struct fixture *f;
	unsigned count;
	int answer;
	char *names[LISTS_MAX + 1];
	uint32_t classes[LISTS_MAX + 1];
	struct buf lists[LISTS_MAX + 1]; /* paths with spaces between */
};

static int note(void *context, const char *name, const uint32_t *files, uint32_t count,
		uint32_t classes)
{
	struct found *found = context;
	struct buf *list = &found->lists[found->count];

	assert_true(found->count < LISTS_MAX);
	assert_true(count >= 2);
	found->classes[found->count] = classes;
	found->names[found->count++] = strdup(name);
	for (uint32_t i = 0; i < count && count <= PATHS_MOST; i++) {
		struct dataset_extent extent;

		assert_done(buf_adds(list, i ? " " : ""));
		if (files[i] == LISTS_NOT_STORED) {
			assert_done(buf_adds(list, "-"));
			continue;
		}
		assert_true(files[i] < dataset_extents(found->f->dataset));
		extent = dataset_extent(found->f->dataset, files[i]);
		assert_int_equal(extent.from, 0);
		assert_done(dataset_path(found->f->dataset, extent.entry, list));
	}
	return found->answer;
}

static void look(struct fixture *f, const char *file, struct found *found)
{
	*found = (struct found){.f = f};
	assert_done(lists_find(f->dataset, dataset_first_extent(f->dataset, find(f, file)),
			       UINT64_MAX, note, found));
}

static void found_release(struct found *found)
{
	for (unsigned i = 0; i < found->count; i++) {
		free(found->names[i]);
		buf_release(&found->lists[i]);
	}
}

/* The place of a list among those found, by what is in it. */
static unsigned place_of(const struct found *found, const char *list)
{
	for (unsigned i = 0; i < found->count; i++)
		if (strcmp(found->lists[i].data, list) == 0)
			return i;
	for (unsigned i = 0; i < found->count; i++)
		print_message("found %s: %s\n", found->names[i], found->lists[i].data);
	fail_msg("not found: %s", list);
	return 0;
}

/* Every list of the array, in that order among others; a NULL name is any. */
struct expected {
	const char *name, *list;
};

static void expect(struct fixture *f, const char *file, const struct expected *expected)
{
	SCOPE(found_release) struct found found;

	look(f, file, &found);
	for (; expected->list; expected++) {
		unsigned at = place_of(&found, expected->list);

		if (expected->name)
			assert_string_equal(found.names[at], expected->name);
	}
}

static void expect_list(struct fixture *f, const char *file, const char *name, const char *list)
{
	expect(f, file, (struct expected[]){{name, list}, {NULL, NULL}});
}

/* --- trees ----------------------------------------------------------------------------------- */

static void a_tree(struct fixture *f)
{
	make(f,
	     "train/b/sub/1.jpg train/b/sub-1/2.jpg train/b/sub/x/3.jpg train/b/sub.2/4.jpg "
	     "train/b/z.jpg train/b-1/5.JPG train/.hidden/6.png train/a/img10.jpg "
	     "train/a/img2.jpg train/a/Img1.jpg train/a/notes.txt train/a/7.gif "
	     "train/a/empty.jpg! val/a/8.jpeg top.jpg");
}

FIXTURE(f, struct fixture, fixture_setup, fixture_teardown);

TEST_OF(f, programs_list_a_tree_in_their_orders)
{
	a_tree(f);
	expect(f, "train/b/sub/1.jpg",
	       (struct expected[]){{"train as ImageFolder",
				    "train/.hidden/6.png train/a/Img1.jpg - train/a/img10.jpg "
				    "train/a/img2.jpg train/b/z.jpg train/b/sub/1.jpg "
				    "train/b/sub-1/2.jpg train/b/sub.2/4.jpg train/b/sub/x/3.jpg "
				    "train/b-1/5.JPG"},
				   {"train as timm's folder",
				    "train/.hidden/6.png - train/a/Img1.jpg train/a/img2.jpg "
				    "train/a/img10.jpg train/b-1/5.JPG train/b/sub-1/2.jpg "
				    "train/b/sub.2/4.jpg train/b/sub/1.jpg train/b/sub/x/3.jpg "
				    "train/b/z.jpg"},
				   {"paths of images below train, sorted",
				    "train/.hidden/6.png train/a/Img1.jpg - train/a/img10.jpg "
				    "train/a/img2.jpg train/b-1/5.JPG train/b/sub-1/2.jpg "
				    "train/b/sub.2/4.jpg train/b/sub/1.jpg train/b/sub/x/3.jpg "
				    "train/b/z.jpg"},
				   {"paths of *.jpg below train, sorted",
				    "train/a/Img1.jpg - train/a/img10.jpg train/a/img2.jpg "
				    "train/b/sub-1/2.jpg train/b/sub.2/4.jpg train/b/sub/1.jpg "
				    "train/b/sub/x/3.jpg train/b/z.jpg"},
				   {"Path objects of *.jpg below train, sorted",
				    "train/a/Img1.jpg - train/a/img10.jpg train/a/img2.jpg "
				    "train/b/sub/1.jpg train/b/sub/x/3.jpg train/b/sub-1/2.jpg "
				    "train/b/sub.2/4.jpg train/b/z.jpg"},
				   {"images below train as os.walk lists them",
				    "train/.hidden/6.png train/a/Img1.jpg - train/a/img10.jpg "
				    "train/a/img2.jpg train/b/z.jpg train/b/sub/1.jpg "
				    "train/b/sub/x/3.jpg train/b/sub-1/2.jpg train/b/sub.2/4.jpg "
				    "train/b-1/5.JPG"},
				   {"*.jpg below train as os.walk lists them",
				    "train/a/Img1.jpg - train/a/img10.jpg train/a/img2.jpg "
				    "train/b/z.jpg train/b/sub/1.jpg train/b/sub/x/3.jpg "
				    "train/b/sub-1/2.jpg train/b/sub.2/4.jpg"},
				   {NULL, NULL}});
}

TEST_OF(f, folders_are_the_classes_of_what_lies_below)
{
	SCOPE(found_release) struct found found;

	a_tree(f);
	look(f, "train/b/sub/1.jpg", &found);
	for (unsigned i = 0; i < found.count; i++)
		if (strcmp(found.names[i], "train as ImageFolder") == 0)
			assert_int_equal(found.classes[i], 4);
		else if (strcmp(found.names[i], ". as ImageFolder") == 0)
			assert_int_equal(found.classes[i], 2);
}

TEST_OF(f, ImageFolder_comes_before_what_is_less_likely)
{
	SCOPE(found_release) struct found found;

	make(f,
	     "train/a/1.jpg train/a/10.jpg train/a/2.jpg train/b-1/3.jpg train/b/4.jpg "
	     "val/a/5.jpg");
	look(f, "train/b/4.jpg", &found);
	assert_string_equal(found.names[0], "train as ImageFolder");
	assert_string_equal(found.names[1], "train as timm's folder");
}

TEST_OF(f, what_is_equal_is_told_once)
{
	SCOPE(found_release) struct found found;

	make(f, "a/1.jpg a/2.jpg b/3.jpg b/4.jpg");
	look(f, "b/3.jpg", &found);
	assert_int_equal(found.count, 2);
	assert_string_equal(found.lists[0].data, "b/3.jpg b/4.jpg");
	assert_string_equal(found.lists[1].data, "a/1.jpg a/2.jpg b/3.jpg b/4.jpg");
}

TEST_OF(f, one_file_is_no_list)
{
	SCOPE(found_release) struct found found;

	make(f, "a/1.jpg a/b/2.gif");
	look(f, "a/b/2.gif", &found);
	for (unsigned i = 0; i < found.count; i++)
		assert_non_null(strchr(found.lists[i].data, ' '));
}

TEST_OF(f, other_suffixes_make_a_DatasetFolder)
{
	make(f, "x/a/1.npy x/a/2.jpg x/b/3.NPY x/b/deep/4.npy");
	expect_list(f, "x/a/1.npy", "x as DatasetFolder of *.npy",
		    "x/a/1.npy x/b/3.NPY x/b/deep/4.npy");
}

/* os.path.splitext() sees no suffix in ".jpg", str.endswith() does. */
TEST_OF(f, a_name_of_a_suffix_only_is_an_image_for_torchvision)
{
	make(f, "t/a/.jpg t/a/1.jpg t/a/..png t/b/2.jpg");
	expect(f, "t/a/1.jpg",
	       (struct expected[]){{"t as ImageFolder", "t/a/..png t/a/.jpg t/a/1.jpg t/b/2.jpg"},
				   {NULL, "t/a/1.jpg t/b/2.jpg"},
				   {NULL, NULL}});
}

/* 1 and 01, B and b are equal: what is below sorts as if they were one. The order is timm's. */
TEST_OF(f, natural_order_is_that_of_whole_paths)
{
	make(f,
	     "t/B/2.jpg t/b/1.jpg t/b/10.jpg t/b/9.jpg t/a01/y.jpg t/a1/x.jpg t/a1/Y.jpg "
	     "t/b-1.jpg t/c12d3.jpg t/c12d.jpg t/c.jpg");
	expect_list(f, "t/b/1.jpg", "t as timm's folder",
		    "t/a1/x.jpg t/a01/y.jpg t/a1/Y.jpg t/b-1.jpg t/b/1.jpg t/B/2.jpg t/b/9.jpg "
		    "t/b/10.jpg t/c12d3.jpg t/c12d.jpg t/c.jpg");
}

/* Bytes that are not UTF-8 are U+DC80..U+DCFF in Python, before U+E000 (EE 80 80). */
TEST_OF(f, bytes_that_are_no_text_sort_as_Python_has_them)
{
	make(f,
	     "t/a/\xee\x80\x80.jpg t/a/\xff.jpg t/a/\xe2\x82.jpg t/a/\xe2\x82\xac.jpg t/a/z.jpg "
	     "t/\xc3\xa9/1.jpg t/\xff/2.jpg t/\xf0\x9f\x98\x80/3.jpg t/\xef\xbf\xae/4.jpg");
	expect_list(f, "t/a/z.jpg", "t as ImageFolder",
		    "t/a/z.jpg t/a/\xe2\x82\xac.jpg t/a/\xe2\x82.jpg t/a/\xff.jpg "
		    "t/a/\xee\x80\x80.jpg t/\xc3\xa9/1.jpg t/\xff/2.jpg t/\xef\xbf\xae/4.jpg "
		    "t/\xf0\x9f\x98\x80/3.jpg");
}

/* --- links ----------------------------------------------------------------------------------- */

TEST_OF(f, links_to_files_and_directories_are_followed)
{
	make(f,
	     "all/1.jpg all/2.jpg all/3.jpg few/a/x.jpg>../../all/3.jpg few/a/y.jpg>x.jpg "
	     "few/a/0.jpg few/b>../all");
	expect(f, "few/a/0.jpg",
	       (struct expected[]){
		       {"few as ImageFolder",
			"few/a/0.jpg all/3.jpg all/3.jpg all/1.jpg all/2.jpg all/3.jpg"},
		       {"images in few/a, sorted", "few/a/0.jpg all/3.jpg all/3.jpg"},
		       {NULL, NULL}});
}

TEST_OF(f, hard_links_count_as_their_file)
{
	uint32_t a, b, file;

	a = add_dir(f, PACK_ROOT, "a");
	b = add_dir(f, PACK_ROOT, "b");
	file = add_file(f, a, "1.jpg", 100);
	add_file(f, b, "0.jpg", 100);
	add_link(f, b, "9.jpg", file);
	finish_and_open(f);
	expect_list(f, "b/0.jpg", "images in b, sorted", "b/0.jpg a/1.jpg");
	expect_list(f, "b/9.jpg", ". as ImageFolder", "a/1.jpg b/0.jpg a/1.jpg");
}

TEST_OF(f, aliases_count_as_files_of_their_own)
{
	uint32_t a, b, file;

	a = add_dir(f, PACK_ROOT, "a");
	b = add_dir(f, PACK_ROOT, "b");
	file = add_file(f, a, "1.jpg", 1000);
	add_file(f, b, "0.jpg", 1000);
	add_alias(f, b, "9.jpg", file);
	finish_and_open(f);
	expect_list(f, "b/0.jpg", "images in b, sorted", "b/0.jpg b/9.jpg");
	expect_list(f, "b/9.jpg", ". as ImageFolder", "a/1.jpg b/0.jpg b/9.jpg");
}

/* It may be a file, and it takes an index; so does an empty one. */
TEST_OF(f, what_has_no_bytes_here_keeps_its_place)
{
	make(f, "a/1.jpg>/elsewhere/1.jpg a/2.jpg a/3.jpg! a/4.jpg>../../up.jpg a/5.jpg a/6>gone");
	expect_list(f, "a/2.jpg", "images in a, sorted", "- a/2.jpg - - a/5.jpg");
}

TEST_OF(f, links_that_lead_back_up_end)
{
	make(f, "t/a/1.jpg t/a/2.jpg t/a/up>.. t/b/x>y t/b/y>x t/b/3.jpg");
	expect_list(f, "t/a/1.jpg", "paths of images below t, sorted",
		    "t/a/1.jpg t/a/2.jpg t/b/3.jpg");
}

/* Each link doubles the way: without a common count it would take 2^40 steps. */
TEST_OF(f, links_that_double_end)
{
	char path[32], target[32];

	add_paths(f, "t/1.jpg t/2.jpg t/d/0/.x");
	for (int i = 1; i < 60; i++) {
		const char *name;
		uint32_t parent;

		snprintf(path, sizeof(path), "t/d/%d", i);
		snprintf(target, sizeof(target), "%d/../%d", i - 1, i - 1);
		parent = folder_of(f, path, &name);
		add_symlink(f, parent, name, target);
	}
	finish_and_open(f);
	expect_list(f, "t/1.jpg", "images in t, sorted", "t/1.jpg t/2.jpg");
}

/* --- limits ---------------------------------------------------------------------------------- */

TEST_OF(f, the_caller_can_stop)
{
	SCOPE(found_release) struct found found = {.f = f, .answer = -EINTR};

	a_tree(f);
	assert_int_equal(lists_find(f->dataset,
				    dataset_first_extent(f->dataset, find(f, "train/b/z.jpg")),
				    UINT64_MAX, note, &found),
			 -EINTR);
	assert_int_equal(found.count, 1);
}

/* Every directory adds lists of its own; there are so many, and those of near ones come first. */
static void many_lists(struct fixture *f)
{
	make(f,
	     "a/b-1/1.jpg a/b/c-1/2.jpg a/b/c/d-1/3.jpg a/b/c/d/e-1/4.jpg a/b/c/d/e/5.jpg "
	     "a/b/c/d/e/6.jpg a/b/c/d/.h/7.jpg a/b/c/.h/8.jpg a/b/.h/9.jpg a/.h/10.jpg "
	     "a/b/c/d/e/11.gif a/b/c/d/12.jpg a/b/c/13.jpg a/b/14.jpg a/15.jpg 16.jpg "
	     "a/b/c/d/e/f/17.png a/b/c/d/e/f/18.jpg");
}

TEST_OF(f, no_more_lists_than_promised)
{
	SCOPE(found_release) struct found found;

	many_lists(f);
	look(f, "a/b/c/d/e/f/18.jpg", &found);
	assert_int_equal(found.count, LISTS_MAX);
	assert_string_equal(found.lists[0].data, "a/b/c/d/e/f/17.png a/b/c/d/e/f/18.jpg");
}

/* Those that are likeliest are there. */
TEST_OF(f, no_more_files_in_lists_than_wanted)
{
	SCOPE(found_release) struct found all, found = {.f = f};
	uint64_t files = 0;

	many_lists(f);
	look(f, "a/b/c/d/e/f/18.jpg", &all);
	assert_done(lists_find(f->dataset,
			       dataset_first_extent(f->dataset, find(f, "a/b/c/d/e/f/18.jpg")), 20,
			       note, &found));
	assert_true(found.count > 0 && found.count < all.count);
	assert_string_equal(found.lists[0].data, all.lists[0].data);
	for (unsigned i = 0; i < found.count; i++)
		for (const char *at = found.lists[i].data; at; at = strchr(at + 1, ' '))
			files++;
	assert_true(files <= 20);
}
