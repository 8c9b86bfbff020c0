/* Which files belong together, by where they lie and what they are called. */
#include "pack_fixture.h"

static uint64_t first_of(struct fixture *f, const char *path)
{
	return dataset_first_extent(f->dataset, find(f, path));
}

static void expect_namesake(struct fixture *f, const char *file, const char *from, const char *to,
			    const char *expected)
{
	uint64_t found;

	assert_done(dataset_namesake(f->dataset, first_of(f, file), first_of(f, from),
				     first_of(f, to), &found));
	assert_int_equal(found, first_of(f, expected));
}

static void expect_none(struct fixture *f, const char *file, const char *from, const char *to)
{
	uint64_t found = 77;

	assert_int_equal(dataset_namesake(f->dataset, first_of(f, file), first_of(f, from),
					  first_of(f, to), &found),
			 -ENOENT);
	assert_int_equal(found, 77);
}

static void make(struct fixture *f, const char *const *paths)
{
	struct made made = {0};

	start(f);
	for (; *paths; paths++)
		add_path(f, &made, *paths, 100);
	finish_and_open(f);
}

static void a_branch_is_exchanged_for_another(void **state)
{
	struct fixture *f = *state;

	make(f, (const char *[]){"images/train/x/a.jpg", "images/train/y/b.jpg", "images/val/c.jpg",
				 "images/d.jpg", "images/val/lone.jpg", "masks/train/x/a.png",
				 "masks/train/y/b.png", "masks/val/c.png", "masks/d.png",
				 "other/d.jpg", "e.jpg", NULL});
	for (int i = 0; i < 2; i++) {
		const char *from = i ? "images/d.jpg" : "images/train/x/a.jpg";
		const char *to = i ? "masks/d.png" : "masks/train/x/a.png";

		expect_namesake(f, from, from, to, to);
		expect_namesake(f, "images/train/y/b.jpg", from, to, "masks/train/y/b.png");
		expect_namesake(f, "images/val/c.jpg", from, to, "masks/val/c.png");
		expect_namesake(f, "images/d.jpg", from, to, "masks/d.png");
		expect_none(f, "images/val/lone.jpg", from, to);
		expect_none(f, "other/d.jpg", from, to);
		expect_none(f, "masks/d.png", from, to);
		expect_none(f, "e.jpg", from, to);
	}
	expect_namesake(f, "masks/val/c.png", "masks/d.png", "images/d.jpg", "images/val/c.jpg");
}

static void the_place_may_be_in_the_middle_or_at_the_end(void **state)
{
	struct fixture *f = *state;

	make(f, (const char *[]){"v1/rgb/1.jpg", "v1/flow/1.jpg", "v2/rgb/2.jpg", "v2/flow/2.jpg",
				 "v2/depth/2.jpg", "v1/rgb/s/3.jpg", "v1/flow/s/3.jpg", NULL});
	expect_namesake(f, "v2/rgb/2.jpg", "v1/rgb/1.jpg", "v1/flow/1.jpg", "v2/flow/2.jpg");
	expect_namesake(f, "v1/rgb/s/3.jpg", "v2/rgb/2.jpg", "v2/flow/2.jpg", "v1/flow/s/3.jpg");
	expect_none(f, "v2/depth/2.jpg", "v1/rgb/1.jpg", "v1/flow/1.jpg");
}

static void a_partner_may_lie_below_or_above_or_beside(void **state)
{
	struct fixture *f = *state;

	make(f, (const char *[]){"x/a.jpg", "x/masks/a.png", "y/b.jpg", "y/masks/b.png", "c.jpg",
				 "masks/c.png", "x/a.json", "y/b.json", NULL});
	expect_namesake(f, "y/b.jpg", "x/a.jpg", "x/masks/a.png", "y/masks/b.png");
	expect_namesake(f, "y/masks/b.png", "x/masks/a.png", "x/a.jpg", "y/b.jpg");
	expect_namesake(f, "y/b.jpg", "x/a.jpg", "x/a.json", "y/b.json");
	expect_none(f, "c.jpg", "x/a.jpg", "x/a.json");
	expect_none(f, "c.jpg", "x/a.jpg", "x/masks/a.png"); /* not as deep */
}

static void a_suffix_begins_at_the_last_dot(void **state)
{
	struct fixture *f = *state;
	struct dataset_kin a, b;

	make(f, (const char *[]){"i/case.1.jpg", "m/case.1.txt", "i/.hidden", "m/.hidden", "i/bare",
				 "m/bare", "m/bare.txt", "e.jpg", NULL});
	expect_namesake(f, "i/case.1.jpg", "i/case.1.jpg", "m/case.1.txt", "m/case.1.txt");
	expect_namesake(f, "i/.hidden", "i/bare", "m/bare", "m/.hidden");
	expect_namesake(f, "i/bare", "i/case.1.jpg", "m/case.1.txt", "m/bare.txt");
	dataset_kin(f->dataset, first_of(f, "i/case.1.jpg"), &a);
	dataset_kin(f->dataset, first_of(f, "m/case.1.txt"), &b);
	assert_int_equal(a.stem, b.stem);
	assert_int_not_equal(a.suffix, b.suffix);
	dataset_kin(f->dataset, first_of(f, "e.jpg"), &b);
	assert_int_equal(a.suffix, b.suffix);
	dataset_kin(f->dataset, first_of(f, "i/.hidden"), &b);
	assert_int_not_equal(a.stem, b.stem);
}

static void a_hard_link_stands_for_its_file_and_an_empty_file_for_nothing(void **state)
{
	struct fixture *f = *state;
	uint32_t images, masks, target;

	start(f);
	images = add_dir(f, BUILDER_ROOT, "images");
	masks = add_dir(f, BUILDER_ROOT, "masks");
	add_file(f, images, "a.jpg", 10);
	target = add_file(f, masks, "a.png", 10);
	add_file(f, images, "b.jpg", 10);
	add_link(f, masks, "b.png", target);
	add_file(f, images, "c.jpg", 10);
	add_file(f, masks, "c.png", 0);
	add_file(f, images, "d.jpg", 10);
	add_dir(f, masks, "d.png");
	finish_and_open(f);
	expect_namesake(f, "images/b.jpg", "images/a.jpg", "masks/a.png", "masks/a.png");
	expect_none(f, "images/c.jpg", "images/a.jpg", "masks/a.png");
	expect_none(f, "images/d.jpg", "images/a.jpg", "masks/a.png");
}

/* Whatever else lies between them. */
static void the_files_of_a_directory_are_consecutive_extents(void **state)
{
	struct fixture *f = *state;
	struct dataset_kin kin;
	uint32_t folder, file;

	start(f);
	add_file(f, BUILDER_ROOT, "0", 10);
	folder = add_dir(f, BUILDER_ROOT, "folder");
	add_dir(f, folder, "0");
	file = add_file(f, folder, "1", 10);
	add_file(f, folder, "2", 2 * MIB + 1);
	add_file(f, folder, "3", 0);
	add_file(f, add_dir(f, folder, "4"), "deeper", 10);
	add_file(f, folder, "5", 10);
	add_link(f, folder, "6", file);
	finish_and_open(f);
	for (uint64_t e = 1; e < 6; e++) {
		dataset_kin(f->dataset, e, &kin);
		assert_int_equal(kin.directory, 1);
		assert_int_equal(kin.directory_end, 6);
		assert_int_equal(kin.file, e == 1 ? 1 : e == 5 ? 5 : 2);
		assert_int_equal(kin.file_end, e == 1 ? 2 : e == 5 ? 6 : 5);
	}
	dataset_kin(f->dataset, first_of(f, "0"), &kin);
	assert_int_equal(kin.directory, 0);
	assert_int_equal(kin.directory_end, 1);
	dataset_kin(f->dataset, first_of(f, "folder/4/deeper"), &kin);
	assert_int_equal(kin.directory, 6);
	assert_int_equal(kin.directory_end, 7);
}

static void trees_too_deep_have_no_namesakes(void **state)
{
	struct fixture *f = *state;
	uint32_t folder = BUILDER_ROOT;
	uint64_t found;

	start(f);
	for (int i = 0; i < 40; i++)
		folder = add_dir(f, folder, "d");
	add_file(f, folder, "a.jpg", 10);
	add_file(f, folder, "a.txt", 10);
	finish_and_open(f);
	assert_int_equal(dataset_namesake(f->dataset, 0, 0, 1, &found), -ENOENT);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		T(a_branch_is_exchanged_for_another),
		T(the_place_may_be_in_the_middle_or_at_the_end),
		T(a_partner_may_lie_below_or_above_or_beside),
		T(a_suffix_begins_at_the_last_dot),
		T(a_hard_link_stands_for_its_file_and_an_empty_file_for_nothing),
		T(the_files_of_a_directory_are_consecutive_extents),
		T(trees_too_deep_have_no_namesakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
