/* Layouts as Lustre's attribute has them: pack/tool/create/lustre.h. There is no Lustre to ask
 * here. */
#include "base/le.h"
#include "pack/tool/create/lustre.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* struct lov_user_md_v1 before its objects: 32 bytes, stripe_count behind 28 of them. */
static void make_layout(uint8_t layout[32], uint32_t magic, uint16_t stripes)
{
	memset(layout, 0xee, 32);
	le_put32(layout, magic);
	le_put16(layout + 28, stripes);
}

static void both_versions_of_the_struct_are_read(void **state)
{
	uint8_t layout[32];

	(void)state;
	make_layout(layout, 0x0bd10bd0, 1);
	assert_int_equal(lustre_stripes(layout, sizeof(layout)), 1);
	make_layout(layout, 0x0bd30bd0, 300);
	assert_int_equal(lustre_stripes(layout, sizeof(layout)), 300);
}

static void what_is_newer_or_cut_off_says_nothing(void **state)
{
	uint8_t layout[32];

	(void)state;
	make_layout(layout, 0x0bd60bd0, 1); /* composite */
	assert_int_equal(lustre_stripes(layout, sizeof(layout)), 0);
	make_layout(layout, 0x0bd10bd0, 1);
	assert_int_equal(lustre_stripes(layout, 29), 0);
	assert_int_equal(lustre_stripes(layout, 0), 0);
}

static void other_filesystems_have_no_stripes(void **state)
{
	(void)state;
	assert_int_equal(lustre_stripes_of("/"), 0);
	assert_int_equal(lustre_stripes_of("/nowhere"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_versions_of_the_struct_are_read),
		cmocka_unit_test(what_is_newer_or_cut_off_says_nothing),
		cmocka_unit_test(other_filesystems_have_no_stripes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
