/* Which entry has a path. */
#include "pack/tool/import/path_map.h"
#include "pack_fixture.h"

static void an_empty_table_knows_no_path(void **state)
{
	struct fixture *f = *state;
	SCOPE(path_map_release) struct path_map map = {0};
	uint32_t entry;

	start(f);
	assert_int_equal(path_map_find(&map, f->builder, "x", 1, &entry), -ENOENT);
}

static void add_one(struct fixture *f, struct path_map *map, uint32_t folder, const char *path)
{
	uint32_t entry = add_name(f, folder, path + 2);

	assert_done(path_map_add(map, path, strlen(path), entry));
}

/* Of so many paths some twenty have a hash that another one has. */
static void every_path_leads_to_its_own_entry(void **state)
{
	struct fixture *f = *state;
	SCOPE(path_map_release) struct path_map map = {0};
	const unsigned count = 400000;
	char path[32];
	uint32_t entry, folder;

	start(f);
	folder = add_dir(f, BUILDER_ROOT, "d");
	for (unsigned i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "d/%u", i);
		add_one(f, &map, folder, path);
	}
	for (unsigned i = 0; i < count; i++) {
		size_t len = (size_t)snprintf(path, sizeof(path), "d/%u", i);

		assert_done(path_map_find(&map, f->builder, path, len, &entry));
		assert_int_equal(entry, folder + 1 + i);
		path[0] = 'e';
		assert_int_equal(path_map_find(&map, f->builder, path, len, &entry), -ENOENT);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_empty_table_knows_no_path),
		TEST(every_path_leads_to_its_own_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
