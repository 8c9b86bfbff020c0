/* A delta on its base: which one is right, and what a hostile delta may ask for. */
#include "pack/dataset_internal.h"
#include "pack/dataset_merge.h"
#include "pack/delta.h"
#include "pack_fixture.h"

/*	0 (root)   1 a: 3000   2 b: 3000   3 new: 100, in the delta alone
 */
struct both {
	struct fixture base, delta;
	char lines[DELTA_LINES];
};

static void build_base(struct both *t, const char *a)
{
	uint32_t id;

	start(&t->base);
	id = add_name(&t->base, PACK_ROOT, "a");
	store(&t->base, id, a, 3000);
	add_file(&t->base, PACK_ROOT, "b", 3000);
	finish_and_open(&t->base);
}

/* Both files of the base, and one more. */
static void build_delta(struct both *t, struct dataset *base)
{
	const struct builder_params params = {
		.path = t->delta.path, .replace = true, .options = t->lines, .base = base};
	static const char *const names[] = {"a", "b"};

	assert_done(dataset_load(base, DATASET_CHECKSUMS | DATASET_IMAGES, NULL));
	assert_done(delta_name_base(base, t->lines));
	assert_done(builder_new(&params, &t->delta.builder, &t->delta.err));
	for (uint32_t i = 0; i < 2; i++)
		assert_done(builder_refer(t->delta.builder,
					  add_name(&t->delta, PACK_ROOT, names[i]), i + 1, false,
					  &t->delta.err));
	add_file(&t->delta, PACK_ROOT, "new", 100);
	finish_and_open(&t->delta);
}

static void setup(struct both *t)
{
	fixture_setup(&t->base);
	fixture_setup(&t->delta);
	build_base(t, "a");
	build_delta(t, t->base.dataset);
}

static void teardown(struct both *t)
{
	fixture_teardown(&t->base);
	fixture_teardown(&t->delta);
}

FIXTURE(t, struct both, setup, teardown);

static void expect_applied(struct both *t, int code, const char *sentence)
{
	struct dataset *base = t->base.dataset;
	struct err err = {0};
	int r = delta_apply(t->delta.dataset, base, &err);

	if (r == 0)
		t->base.dataset = NULL;
	assert_string_equal(err.text, sentence);
	assert_int_equal(r, code);
}

/* As a column of 8 bytes, such as a file may have. */
static void widen_sizes(struct index *index)
{
	struct index_section wide, *sizes = &index->sections[SECTION_SIZE];

	assert_done(index_section_alloc(&wide, index->entries, 8));
	for (uint32_t e = 0; e < index->entries; e++)
		le_put64(wide.data + 8 * e, index_get(index, SECTION_SIZE, e));
	free(sizes->data);
	*sizes = wide;
}

TEST_OF(t, sizes_that_a_delta_says_ask_for_no_memory)
{
	struct index *index = &t->delta.dataset->index;

	widen_sizes(index);
	index_put(index, SECTION_SIZE, 2, (uint64_t)1 << 62);
	expect_applied(t, -EBADMSG, "damaged index: entry 2 is not in the base");
}

TEST_OF(t, another_base_does_not_fit_whatever_its_paths)
{
	struct err err = {0};

	assert_done(delta_fits(t->delta.dataset, t->base.dataset, &err));
	build_base(t, "other");
	assert_int_equal(delta_fits(t->delta.dataset, t->base.dataset, &err), -ENOENT);
	damage(&t->delta, "options[0]", 'B');
	open_pack(&t->delta);
	assert_int_equal(delta_fits(t->delta.dataset, t->base.dataset, &err), -EBADMSG);
	assert_string_equal(err.text, "damaged index: a delta that does not name its base");
}

/* A merged dataset has the id of its words; as one pack it has that of one pack. */
TEST_OF(t, a_set_is_known_by_its_own_id_or_by_that_of_one_pack)
{
	struct dataset *empty = NULL, *set = NULL;
	struct fixture other = {0};
	struct dataset_merge_params params = {.count = 2};
	struct err err = {0};

	fixture_setup(&other);
	start(&other);
	finish_and_open(&other);
	empty = other.dataset;
	other.dataset = NULL;
	params.packs = (const struct dataset_pack[]){
		{.name = "base", .below = "", .dataset = t->base.dataset},
		{.name = "empty", .below = "", .dataset = empty}};
	assert_done(dataset_merge(&params, &set, &err));
	t->base.dataset = set;
	assert_done(delta_fits(t->delta.dataset, set, &err));
	build_delta(t, set);
	assert_non_null(strstr(t->lines, dataset_info(set)->id));
	assert_done(delta_fits(t->delta.dataset, set, &err));
	build_base(t, "a");
	assert_done(delta_fits(t->delta.dataset, t->base.dataset, &err));
	fixture_teardown(&other);
}
