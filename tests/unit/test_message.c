/* What a script says of the tree: pack/foreign/message.h. */
#include "base/scope.h"
#include "pack/foreign/message.h"
#include "pack/foreign/tree_internal.h"
#include "tests/unit/foreign_bytes.h"
#include "tests/unit/test.h"

struct fixture {
	struct foreign_bytes bytes;
	struct foreign_tree tree;
	struct err err;
	char line[128];
};

static void setup(struct fixture *f)
{
	foreign_bytes_init(&f->bytes, "\xff\xd8\xff one two", 11);
	assert_int_equal(foreign_tree_init(&f->tree, &f->bytes.source, &f->err), 0);
}

static void teardown(struct fixture *f)
{
	foreign_tree_release(&f->tree);
	foreign_bytes_release(&f->bytes);
}

FIXTURE(f, struct fixture, setup, teardown);

/* Takes a message: its letter, and its fields, each of which ends with a bar. */
static int says(struct fixture *f, const char *text)
{
	const struct held_page page = {0};
	size_t len = strlen(text + 1);
	SCOPE_FREE char *fields = malloc(len);
	struct message message = {.letter = *text, .at = fields, .end = fields + len};

	for (size_t i = 0; i < len; i++)
		fields[i] = (char)(text[i + 1] == '|' ? '\0' : text[i + 1]);
	return message_take(&message, &page, &f->tree, &f->err);
}

static void refused(struct fixture *f, const char *text)
{
	assert_int_equal(says(f, text), -EPROTO);
	assert_string_equal(f->err.text, "the script that reads it says what makes no sense");
}

/* "LABEL NAME: " of its class, then its path below that. */
static const char *file(struct fixture *f, size_t i)
{
	const struct tree_row *row = &tree_rows(&f->tree)[i];
	struct foreign_text path = foreign_tree_path(&f->tree, i);
	const struct label_classes *found = &f->tree.found;
	const struct label_class *class = label_class_rows(&found->rows) + row->class - 1;
	int len = 0;

	if (row->class)
		len = snprintf(f->line, sizeof(f->line), "%d %.*s: ", (int)class->label,
			       (int)class->name, label_class_name(found, class));
	snprintf(f->line + len, sizeof(f->line) - (size_t)len, "%.*s at %d, %d", (int)path.len,
		 path.data, (int)row->offset, (int)row->size);
	return f->line;
}

TEST_OF(f, test_files_are_added_by_their_fields)
{
	assert_int_equal(says(f, "Fr7|o0|s3|l2|"), 0);
	assert_string_equal(file(f, 0), "2 : 00000007.JPEG at 0, 3");
	assert_int_equal(says(f, "Fcx/y|nb.jpg|o4|s3|m33188|M-5|"), 0);
	assert_string_equal(file(f, 1), "x_y/b.jpg at 4, 3");
	assert_int_equal(tree_rows(&f->tree)[1].mode, 0644);
	assert_int_equal(tree_rows(&f->tree)[1].mtime, -5);
	refused(f, "FCx/y|Nb|o0|s4||");
	assert_int_equal(says(f, "Faup/|Cx/y|Nb|o0|s4|"), 0);
	assert_string_equal(file(f, 2), "up/x/y/b.JPEG at 0, 4");
	assert_int_equal(says(f, "Fpd/e.png|o1|s1|"), 0);
	assert_int_equal(says(f, "Fqd/f.1|o4|s4|bMM|*|"), 0);
	assert_string_equal(file(f, 4), "d/f.1.tiff at 4, 4");
	assert_string_equal(file(f, 3), "d/e.png at 1, 1");
}

TEST_OF(f, test_files_of_pieces_and_of_pixels)
{
	assert_int_equal(says(f, "Fpa|s9000|h0 0 4 8192 4 3|"), 0);
	assert_int_equal(tree_rows(&f->tree)[0].volume, TREE_MADE);
	assert_int_equal(says(f, "Fpb|s9000|h|"), 0);
	assert_int_equal(says(f, "Fpc|s6|x1 2 bgr|"), 0);
	assert_int_equal(says(f, "Fpd|s9|h0 9 4|"), -EBADMSG);
	assert_int_equal(says(f, "Fpd|s9|h4 0 2 5 0 1|"), -EBADMSG);
	assert_string_equal(f->err.text, "record 0: a piece of it is out of order");
	assert_int_equal(says(f, "Fpd|s9|h8 0 2|"), -EBADMSG);
	assert_int_equal(says(f, "Fpd|s9000000000000000000|h|"), -EBADMSG);
	assert_string_equal(f->err.text, "record 0: nearly all of it is holes");
	assert_int_equal(says(f, "Fpd|s6|x1 3 bgr|"), -EBADMSG);
}

TEST_OF(f, test_what_makes_no_sense_is_refused)
{
	static const char *const fields[] = {
		"",	   "?",	   "r",	   "r-1",	"r 1", "r1x",  "s99999999999999999999",
		"l",	   "l1.5", "x1 2", "x1 2 rgba", "h1",  "h1 2", "h1 2 x",
		"h1  2 3", "m",	   "mx"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		snprintf(f->line, sizeof(f->line), "F%s|", fields[i]);
		refused(f, f->line);
	}
	refused(f, "?|");
	refused(f, "N");
	refused(f, "Na note|");
	refused(f, "N{} notes||x|");
	refused(f, "N{} {} {}||1|2|3|");
	refused(f, "Tpath|");
	refused(f, "G3|0|");
	refused(f, "G0|");
	refused(f, "Lleft out: {}||-1|");
	assert_int_equal(tree_count(&f->tree), 0);
}

static char said[128];

static void hear(const char *line)
{
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

TEST_OF(f, test_what_else_is_said_of_the_tree)
{
	assert_int_equal(says(f, "P|"), 0);
	assert_int_equal(says(f, "Ccat|dog|"), 0);
	assert_int_equal(says(f, "G1|2|"), 0);
	assert_int_equal(says(f, "Lleft out: {} {}|'a'|4|"), 0);
	assert_int_equal(says(f, "N{} of {} are %odd||2|3|"), 0);
	assert_int_equal(says(f, "Tlabels.tsv|one|two|"), 0);
	assert_int_equal(says(f, "Fl1|o0|s3|"), 0);
	assert_string_equal(file(f, 0), "labels.tsv at 0, 7");
	assert_string_equal(file(f, 1), "1 dog: bytes-00000000.JPEG at 0, 3");
	notices_say(&f->tree.notes, hear);
	assert_string_equal(said, "bytes: left out: 4 {}, such as 'a'\nbytes: 2 of 3 are %odd\n");
	assert_int_equal(f->tree.lacks, 4);
	assert_int_equal(f->tree.style.several, LABELS_FIRSTS);
	assert_int_equal(says(f, "Nforgotten||"), 0);
	assert_int_equal(says(f, "Z|"), 0);
	assert_int_equal(tree_count(&f->tree), 0);
	assert_int_equal(f->tree.notes.all.len, 0);
}

TEST_OF(f, test_what_an_archive_has)
{
	assert_int_equal(says(f, "Fpd|d|m493|"), 0);
	assert_int_equal(says(f, "Fpd/a|o0|s3|"), 0);
	assert_int_equal(says(f, "Fpd/l|ta|"), 0);
	assert_int_equal(says(f, "Fpd/b|21|"), 0);
	assert_int_equal(tree_rows(&f->tree)[3].links, tree_rows(&f->tree)[1].links);
	refused(f, "Fpd/c|22|");
	refused(f, "Fpd/c|24|");
	assert_int_equal(says(f, "X1|"), 0);
	assert_true(tree_rows(&f->tree)[1].dropped);
	refused(f, "X4|");
	assert_int_equal(says(f, "M0|448|-5|"), 0);
	assert_int_equal(tree_rows(&f->tree)[0].mode, 0700);
	assert_int_equal(tree_rows(&f->tree)[0].mtime, -5);
	refused(f, "M0|448|");
	refused(f, "Oa|no name|0|"); /* nobody watches */
	assert_int_equal(says(f, "Hcut off|"), -EBADMSG);
	assert_string_equal(f->err.text, "cut off");
}

TEST_OF(f, test_a_failure_has_its_sentence)
{
	static const char damaged[] = "damaged\0record 3: odd", other[] = "odd\0x",
			  lone[] = "damaged", number[] = "28\0no room", bare[] = "28\0";
	struct message message = {'E', damaged, damaged + sizeof(damaged)};

	assert_int_equal(message_fail(&message, &f->err), -EBADMSG);
	assert_string_equal(f->err.text, "record 3: odd");
	message = (struct message){'E', other, other + sizeof(other)};
	assert_int_equal(message_fail(&message, &f->err), -EPROTO);
	message = (struct message){'E', number, number + sizeof(number)};
	assert_int_equal(message_fail(&message, &f->err), -ENOSPC);
	assert_string_equal(f->err.text, "no room");
	message = (struct message){'E', bare, bare + sizeof(bare)};
	assert_int_equal(message_fail(&message, &f->err), -ENOSPC);
	assert_string_equal(f->err.text, strerror(ENOSPC));
	assert_int_equal(says(f, "H|"), -EBADMSG);
	assert_string_equal(f->err.text, strerror(EBADMSG));
	message = (struct message){'E', lone, lone + sizeof(lone)};
	assert_int_equal(message_fail(&message, &f->err), -EPROTO);
}
