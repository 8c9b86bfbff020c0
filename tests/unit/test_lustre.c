/* Layouts as Lustre's attribute has them: pack/tool/create/lustre.h. There is no Lustre to ask
 * here. */
#include "base/le.h"
#include "pack/tool/create/lustre.h"
#include "tests/unit/test.h"
#include <string.h>

/* struct lov_user_md_v1 before its objects: 32 bytes, stripe_count behind 28 of them. */
static void make_layout(uint8_t layout[32], uint32_t magic, uint16_t stripes)
{
	memset(layout, 0xee, 32);
	le_put32(layout, magic);
	le_put16(layout + 28, stripes);
}

TEST(both_versions_of_the_struct_are_read)
{
	uint8_t layout[32];

	make_layout(layout, 0x0bd10bd0, 1);
	assert_int_equal(lustre_stripes(layout, sizeof(layout)), 1);
	make_layout(layout, 0x0bd30bd0, 300);
	assert_int_equal(lustre_stripes(layout, sizeof(layout)), 300);
}

TEST(what_is_newer_or_cut_off_says_nothing)
{
	uint8_t layout[32];

	make_layout(layout, 0x0bd60bd0, 1); /* composite */
	assert_int_equal(lustre_stripes(layout, sizeof(layout)), 0);
	make_layout(layout, 0x0bd10bd0, 1);
	assert_int_equal(lustre_stripes(layout, 29), 0);
	assert_int_equal(lustre_stripes(layout, 0), 0);
}

TEST(other_filesystems_have_no_stripes)
{
	assert_int_equal(lustre_stripes_of("/"), 0);
	assert_int_equal(lustre_stripes_of("/nowhere"), 0);
}
