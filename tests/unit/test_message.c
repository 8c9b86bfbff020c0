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

/* A message of these bytes and the NUL behind them. */
#define SAYS(f, letter, fields) take(f, letter, fields, sizeof(fields))

static int take(struct fixture *f, char letter, const char *fields, size_t len)
{
	struct message message = {.letter = letter, .at = fields, .end = fields + len};
	const struct held_page page = {0};

	return message_take(&message, &page, &f->tree, &f->err);
}

static const char *file(struct fixture *f, size_t i)
{
	const struct tree_row *row = &tree_rows(&f->tree)[i];
	struct foreign_text path = foreign_tree_path(&f->tree, i);

	snprintf(f->line, sizeof(f->line), "%.*s at %d, %d", (int)path.len, path.data,
		 (int)row->offset, (int)row->size);
	return f->line;
}

TEST_OF(f, test_files_are_added_by_their_fields)
{
	assert_int_equal(SAYS(f, 'F', "r7\0o0\0s3\0l2"), 0);
	assert_string_equal(file(f, 0), "0002/00000007.JPEG at 0, 3");
	assert_int_equal(SAYS(f, 'F', "cx/y\0nb.jpg\0o4\0s3\0m33188\0M-5"), 0);
	assert_string_equal(file(f, 1), "x_y/b.jpg at 4, 3");
	assert_int_equal(tree_rows(&f->tree)[1].mode, 0644);
	assert_int_equal(tree_rows(&f->tree)[1].mtime, -5);
	assert_int_equal(SAYS(f, 'F', "Cx/y\0Nb\0o0\0s4\0"), -EPROTO);
	assert_int_equal(SAYS(f, 'F', "aup/\0Cx/y\0Nb\0o0\0s4"), 0);
	assert_string_equal(file(f, 2), "up/x/y/b.JPEG at 0, 4");
	assert_int_equal(SAYS(f, 'F', "pd/e.png\0o1\0s1"), 0);
	assert_int_equal(SAYS(f, 'F', "qd/f.1\0o4\0s4\0bMM\0*"), 0);
	assert_string_equal(file(f, 4), "d/f.1.tiff at 4, 4");
	assert_string_equal(file(f, 3), "d/e.png at 1, 1");
}

TEST_OF(f, test_files_of_pieces_and_of_pixels)
{
	assert_int_equal(SAYS(f, 'F', "pa\0s9000\0h0 0 4 8192 4 3"), 0);
	assert_int_equal(tree_rows(&f->tree)[0].volume, TREE_MADE);
	assert_int_equal(SAYS(f, 'F', "pb\0s9000\0h"), 0);
	assert_int_equal(SAYS(f, 'F', "pc\0s6\0x1 2 bgr"), 0);
	assert_int_equal(SAYS(f, 'F', "pd\0s9\0h0 9 4"), -EBADMSG);
	assert_int_equal(SAYS(f, 'F', "pd\0s9\0h4 0 2 5 0 1"), -EBADMSG);
	assert_string_equal(f->err.text, "record 0: a piece of it is out of order");
	assert_int_equal(SAYS(f, 'F', "pd\0s9\0h8 0 2"), -EBADMSG);
	assert_int_equal(SAYS(f, 'F', "pd\0s9000000000000000000\0h"), -EBADMSG);
	assert_string_equal(f->err.text, "record 0: nearly all of it is holes");
	assert_int_equal(SAYS(f, 'F', "pd\0s6\0x1 3 bgr"), -EBADMSG);
}

TEST_OF(f, test_what_makes_no_sense_is_refused)
{
	static const char *const fields[] = {
		"",	   "?",	   "r",	   "r-1",	"r 1", "r1x",  "s99999999999999999999",
		"l",	   "l1.5", "x1 2", "x1 2 rgba", "h1",  "h1 2", "h1 2 x",
		"h1  2 3", "m",	   "mx"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		assert_int_equal(take(f, 'F', fields[i], strlen(fields[i]) + 1), -EPROTO);
		assert_string_equal(f->err.text,
				    "the script that reads it says what makes no sense");
	}
	assert_int_equal(SAYS(f, '?', ""), -EPROTO);
	assert_int_equal(take(f, 'N', "", 0), -EPROTO);
	assert_int_equal(SAYS(f, 'N', "a note"), -EPROTO);
	assert_int_equal(SAYS(f, 'N', "{} notes\0\0x"), -EPROTO);
	assert_int_equal(SAYS(f, 'N',
			      "{} {} {}\0\0"
			      "1\0"
			      "2\0"
			      "3"),
			 -EPROTO);
	assert_int_equal(take(f, 'T', "path", 5), -EPROTO);
	assert_int_equal(SAYS(f, 'G',
			      "3\0"
			      "0"),
			 -EPROTO);
	assert_int_equal(SAYS(f, 'G', "0"), -EPROTO);
	assert_int_equal(SAYS(f, 'L', "left out: {}\0\0-1"), -EPROTO);
	assert_int_equal(tree_count(&f->tree), 0);
}

static char said[128];

static void hear(const char *line)
{
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", line);
}

TEST_OF(f, test_what_else_is_said_of_the_tree)
{
	assert_int_equal(SAYS(f, 'P', ""), 0);
	assert_int_equal(SAYS(f, 'C', "cat\0dog"), 0);
	assert_int_equal(SAYS(f, 'G',
			      "1\0"
			      "2"),
			 0);
	assert_int_equal(SAYS(f, 'L',
			      "left out: {} {}\0'a'\0"
			      "4"),
			 0);
	assert_int_equal(SAYS(f, 'N',
			      "{} of {} are %odd\0\0"
			      "2\0"
			      "3"),
			 0);
	assert_int_equal(SAYS(f, 'T', "labels.tsv\0one\0two"), 0);
	assert_int_equal(SAYS(f, 'F', "l1\0o0\0s3"), 0);
	assert_string_equal(file(f, 0), "labels.tsv at 0, 7");
	assert_string_equal(file(f, 1), "dog/bytes-00000000.JPEG at 0, 3");
	notices_say(&f->tree.notes, hear);
	assert_string_equal(said, "bytes: left out: 4 {}, such as 'a'\nbytes: 2 of 3 are %odd\n");
	assert_int_equal(f->tree.lacks, 4);
	assert_int_equal(f->tree.style.several, LABELS_FIRSTS);
	assert_int_equal(SAYS(f, 'N', "forgotten\0"), 0);
	assert_int_equal(SAYS(f, 'Z', ""), 0);
	assert_int_equal(tree_count(&f->tree), 0);
	assert_int_equal(f->tree.notes.all.len, 0);
}

TEST_OF(f, test_what_an_archive_has)
{
	assert_int_equal(SAYS(f, 'F', "pd\0d\0m493"), 0);
	assert_int_equal(SAYS(f, 'F', "pd/a\0o0\0s3"), 0);
	assert_int_equal(SAYS(f, 'F', "pd/l\0ta"), 0);
	assert_int_equal(SAYS(f, 'F',
			      "pd/b\0"
			      "21"),
			 0);
	assert_int_equal(tree_rows(&f->tree)[3].links, tree_rows(&f->tree)[1].links);
	assert_int_equal(SAYS(f, 'F',
			      "pd/c\0"
			      "22"),
			 -EPROTO);
	assert_int_equal(SAYS(f, 'F',
			      "pd/c\0"
			      "24"),
			 -EPROTO);
	assert_int_equal(SAYS(f, 'X', "1"), 0);
	assert_true(tree_rows(&f->tree)[1].dropped);
	assert_int_equal(SAYS(f, 'X', "4"), -EPROTO);
	assert_int_equal(SAYS(f, 'M',
			      "0\0"
			      "448\0-5"),
			 0);
	assert_int_equal(tree_rows(&f->tree)[0].mode, 0700);
	assert_int_equal(tree_rows(&f->tree)[0].mtime, -5);
	assert_int_equal(SAYS(f, 'M',
			      "0\0"
			      "448"),
			 -EPROTO);
	assert_int_equal(SAYS(f, 'O',
			      "a\0no name\0"
			      "0"),
			 -EPROTO); /* nobody watches */
	assert_int_equal(SAYS(f, 'H', "cut off"), -EBADMSG);
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
	assert_int_equal(SAYS(f, 'H', ""), -EBADMSG);
	assert_string_equal(f->err.text, strerror(EBADMSG));
	message = (struct message){'E', lone, lone + sizeof(lone)};
	assert_int_equal(message_fail(&message, &f->err), -EPROTO);
}
