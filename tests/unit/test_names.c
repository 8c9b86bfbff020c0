/* Words of a command line that mean packs: pack/names.h. */
#include "base/io.h"
#include "base/scope.h"
#include "pack/names.h"
#include "tests/unit/test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A directory of one's own, and the one to go back to. */
struct place {
	char dir[64];
	int before;
	struct names names;
	struct err err;
};

static const char *const files[] = {"a-2.lmdb",
				    "a-1.lmdb",
				    "b{1,2}.lmdb",
				    "x/=y",
				    "set-00000-of-00002.lmdb",
				    "set-00001-of-00002.lmdb"};

/* Lists come from a table. */
static const struct {
	const char *name, *text;
} lists[] = {
	{"list", "a.lmdb\n# a comment\n\n  b.lmdb\r\nval/=c.lmdb\n"},
	{"/sets/list", "a-{0..1}.lmdb\n/abs.lmdb\nhttp://host/z.lmdb\n"},
	{"https://host/sets/list", "a.lmdb"},
	{"https://u:p@host/sets/own",
	 "../a.lmdb\nval/=b.lmdb?x\nhttps://u:p@host/c\nHTTPS://U:P@HOST"},
	{"https://host/query?a/b", "a.lmdb"},
	{"https://host", "evil/a.lmdb"},
	{"https://host/sets/others",
	 "https://other/a\nhttps://host:8/b\nhttps://host.other/c\n"
	 "https://host@other/d\nhttps://{host,other}/e\n"},
	{"s3://bucket/list", "a?b.lmdb\ns3://other/c\n"},
	{"nested", "@list\n"},
	{"empty", "# nothing\n"},
};

static const char *served; /* the text of a list whose name ends so, or with a query */

static int read_listed(void *context, const char *name, struct buf *ret, struct err *err)
{
	(void)context;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (strcmp(lists[i].name, name) == 0)
			return buf_adds(ret, lists[i].text);
	if (strstr(name, "/served"))
		return buf_adds(ret, served);
	return err_set(err, -ENOENT, "%s: no such list", name);
}

static void setup(struct place *p)
{
	strcpy(p->dir, "/tmp/test_names.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	p->before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(chdir(p->dir), 0);
	assert_int_equal(mkdir("x", 0755), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		SCOPE_FILE FILE *file = fopen(files[i], "we");

		(void)file;
	}
	p->names.read = read_listed;
}

static void teardown(struct place *p)
{
	names_release(&p->names);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(files[i]);
	rmdir("x");
	assert_int_equal(fchdir(p->before), 0);
	close(p->before);
	assert_int_equal(rmdir(p->dir), 0);
}

static void add(struct place *p, const char *word)
{
	int r = names_add(&p->names, word, &p->err);

	if (r < 0)
		fail_msg("'%s': %s", word, err_text(&p->err, r));
}

/* The packs of a word: their names, with the folders that they go below in front. */
static void expect(struct place *p, const char *word, const char *want)
{
	SCOPE(buf_release) struct buf have = BUF_INIT;

	names_release(&p->names);
	add(p, word);
	for (size_t i = 0; i < p->names.count; i++)
		assert_int_equal(buf_addf(&have, "%s%s%s%s", i ? " " : "", p->names.all[i].below,
					  *p->names.all[i].below ? ":" : "", p->names.all[i].name),
				 0);
	assert_string_equal(have.data, want);
}

static void expect_refused(struct place *p, const char *word, int error, const char *sentence)
{
	p->err.text[0] = '\0';
	assert_int_equal(names_add(&p->names, word, &p->err), error);
	assert_string_equal(p->err.text, sentence);
}

FIXTURE(p, struct place, setup, teardown);

TEST_OF(p, a_name_is_itself)
{
	expect(p, "data.lmdb", "data.lmdb");
	expect(p, "/abs/data.lmdb", "/abs/data.lmdb");
	expect(p, "s3://bucket/key.lmdb", "s3://bucket/key.lmdb");
	expect(p, "@", "@");
	expect(p, "a{b", "a{b");
	expect(p, "a{b}c", "a{b}c");
	expect(p, "https://host/what?*[x]", "https://host/what?*[x]");
}

TEST_OF(p, braces_are_expanded_as_by_the_shell)
{
	expect(p, "x-{008..011}-of-100.lmdb",
	       "x-008-of-100.lmdb x-009-of-100.lmdb x-010-of-100.lmdb x-011-of-100.lmdb");
	expect(p, "{9..11}", "9 10 11");
	expect(p, "{train,val}.lmdb", "train.lmdb val.lmdb");
	expect(p, "s3://b/{a,b}-{0..1}.lmdb",
	       "s3://b/a-0.lmdb s3://b/a-1.lmdb s3://b/b-0.lmdb s3://b/b-1.lmdb");
	expect(p, "{x}{1..2}", "{x}1 {x}2");
	expect(p, "x{,-new}.lmdb", "x.lmdb x-new.lmdb");
}

TEST_OF(p, globs_find_files_in_order)
{
	expect(p, "a-*.lmdb", "a-1.lmdb a-2.lmdb");
	expect_refused(p, "c-*.lmdb", -ENOENT, "'c-*.lmdb' matches no file");
}

/* A name as it was given to foldpack create, and one that its ".lmdb" is missing of. */
TEST_OF(p, what_lies_beside_a_missing_file_is_named)
{
	expect_refused(p, "set.lmdb", -ENOENT,
		       "'set.lmdb' is not here, but a set is: 'set-*-of-00002.lmdb'");
	expect_refused(p, "set", -ENOENT, "'set' is not here, but a set is: 'set-*-of-00002.lmdb'");
	expect_refused(p, "./a-1", -ENOENT, "'./a-1' is not here, but './a-1.lmdb' is");
	expect(p, "a-1.tar", "a-1.tar"); /* for those who open it to find missing */
	expect(p, "https://host/set.lmdb", "https://host/set.lmdb");
}

TEST_OF(p, a_file_that_exists_is_no_pattern)
{
	expect(p, "b{1,2}.lmdb", "b{1,2}.lmdb");
	expect(p, "x/=y", "x/=y");
}

TEST_OF(p, packs_go_below_folders)
{
	expect(p, "train/=a.lmdb", "train:a.lmdb");
	expect(p, "sets/train/=a-*.lmdb", "sets/train:a-1.lmdb sets/train:a-2.lmdb");
	expect(p, "a/=b//c/=s3://b/k", "a/b/c:s3://b/k");
	expect_refused(p, "../=a.lmdb", -EINVAL, "'../=': no name for a folder");
	expect_refused(p, "a/./b/=a.lmdb", -EINVAL, "'a/./b/=': no name for a folder");
	expect_refused(p, "a/=", -EINVAL, "'a/=': names no pack");
}

TEST_OF(p, lists_name_packs_from_their_own_folder_on)
{
	expect(p, "@list", "a.lmdb b.lmdb val:c.lmdb");
	expect(p, "all/=@list", "all:a.lmdb all:b.lmdb all/val:c.lmdb");
	expect(p, "@/sets/list", "/sets/a-0.lmdb /sets/a-1.lmdb /abs.lmdb http://host/z.lmdb");
	expect(p, "@https://host/sets/list", "https://host/sets/a.lmdb");
	expect_refused(p, "@missing", -ENOENT, "missing: no such list");
	expect_refused(p, "@nested", -EINVAL, "'@list': a list in a list");
	expect_refused(p, "@empty", -ENOENT, "'@empty': names no pack");
}

TEST_OF(p, lists_on_a_server_name_what_is_there)
{
	expect(p, "@https://u:p@host/sets/own",
	       "https://u:p@host/sets/../a.lmdb val:https://u:p@host/sets/b.lmdb?x "
	       "https://u:p@host/c HTTPS://U:P@HOST");
	expect(p, "@https://host/query?a/b", "https://host/a.lmdb");
	expect(p, "@https://host", "https://host/evil/a.lmdb");
	expect(p, "@s3://bucket/list", "s3://bucket/a?b.lmdb s3://other/c");
}

TEST_OF(p, a_list_on_a_server_names_nothing_else)
{
	static const char *const lines[] = {"/etc/x",
					    "/etc/{x,y}",
					    "/etc/*",
					    "file:///etc/x",
					    "http://host/x",
					    "s3://bucket/x",
					    "{/etc/x,a}",
					    "gs://bucket/x",
					    "a/=/etc/x",
					    "{s3://a/b,/etc/x}",
					    "x://{https://host/a,b}"};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		served = lines[i];
		p->err.text[0] = '\0';
		assert_int_equal(names_add(&p->names, "@https://u:p@host/served", &p->err),
				 i == 6 ? 0 : -EACCES);
		assert_true(i == 6 || strstr(p->err.text, "a list on a server names packs by"));
	}
}

/* "b{1,2}.lmdb" and "x/=y" are files here. */
TEST_OF(p, a_server_does_not_learn_which_files_exist)
{
	served = "b{1,2}.lmdb";
	expect(p, "@https://h/served", "https://h/b1.lmdb https://h/b2.lmdb");
	served = "x/=y";
	expect(p, "@https://h/served", "x:https://h/y");
	served = "~/a*";
	expect(p, "@https://h/served", "https://h/~/a*");
}

TEST_OF(p, what_a_list_names_on_another_server_is_apart)
{
	static const bool apart[] = {true, true, true, true, false, true};

	add(p, "@https://host/sets/others");
	assert_int_equal(p->names.count, 6);
	for (size_t i = 0; i < p->names.count; i++)
		assert_int_equal(p->names.all[i].apart, apart[i]);
	names_release(&p->names);
	add(p, "@https://u:p@host/sets/own");
	add(p, "@/sets/list");
	add(p, "https://other/x");
	for (size_t i = 0; i < p->names.count; i++)
		assert_false(p->names.all[i].apart);
}

TEST_OF(p, messages_have_no_secrets)
{
	served = "# nothing";
	expect_refused(p, "@https://u:p@h/served?sig=1", -ENOENT,
		       "'@https://h/served': names no pack");
	expect_refused(p, "https://u:p@h/{5..3}?sig=1", -EINVAL,
		       "'https://h/{5..3}': a range goes up, by less than 100000");
}

/* Each pair of braces would hold a copy of the word: a list may come from a server. */
TEST_OF(p, absurd_words_are_refused)
{
	SCOPE_FREE char *word = calloc(1, 100001);
	char sentence[128];

	for (size_t i = 0; i < 100000; i += 5)
		memcpy(word + i, "{a,a}", 5);
	snprintf(sentence, sizeof(sentence), "'%.40s...': an argument of over 16 KiB", word);
	expect_refused(p, word, -EINVAL, sentence);
	word[17 * 5] = '\0'; /* 2^17 packs */
	expect_refused(p, word, -E2BIG, "more than 100000 packs");
}

TEST_OF(p, absurd_ranges_are_refused)
{
	expect_refused(p, "x-{5..3}", -EINVAL, "'x-{5..3}': a range goes up, by less than 100000");
	expect_refused(p, "x-{0..99999999}", -EINVAL,
		       "'x-{0..99999999}': a range goes up, by less than 100000");
	expect_refused(p, "{1..9999}{1..9999}", -E2BIG, "more than 100000 packs");
}

/* --- sets ------------------------------------------------------------------------------------- */

static void expect_missing(struct place *p, const char *sentence)
{
	p->err.text[0] = '\0';
	assert_int_equal(names_check_sets(&p->names, &p->err), -ENOENT);
	assert_string_equal(p->err.text, sentence);
}

TEST_OF(p, whole_sets_and_other_names_are_complete)
{
	add(p, "x-{00000..00002}-of-00003.lmdb");
	add(p, "http://me:secret@host/y-0-of-2.lmdb?sig=1");
	add(p, "http://me:secret@host/y-1-of-2.lmdb?sig=2");
	add(p, "left-of-centre.lmdb");
	add(p, "/x-0-of-2/data.lmdb");
	add(p, "x-5-of-2.lmdb");
	assert_int_equal(names_check_sets(&p->names, &p->err), 0);
}

TEST_OF(p, what_a_set_lacks_is_named)
{
	add(p, "/data/x-{00000..00002}-of-00004.lmdb");
	expect_missing(p, "x-00003-of-00004.lmdb is missing of a set of 4");
	add(p, "/data/x-00003-of-00004.lmdb");
	add(p, "http://me:secret@host/y-3-of-9.lmdb?sig=1");
	expect_missing(p,
		       "y-0-of-9.lmdb, y-1-of-9.lmdb, y-2-of-9.lmdb and 5 more are missing of a "
		       "set of 9");
}

static void expect_mixed(struct place *p, const char *a, const char *b)
{
	SCOPE_FREE char *sentence = NULL;

	assert_true(asprintf(&sentence,
			     "%s and %s are of two sets, of which an earlier run may have left "
			     "one: name the packs of one, or give each set a folder by NAME/=",
			     a, b) > 0);
	p->err.text[0] = '\0';
	assert_int_equal(names_check_mixed(&p->names, &p->err), -EEXIST);
	assert_string_equal(p->err.text, sentence);
}

/* Fewer files of a set than an earlier run made leave some of those beside it. */
TEST_OF(p, two_sets_of_one_name_are_not_one)
{
	add(p, "http://me:secret@host/x-{0..1}-of-2.lmdb?sig=1");
	add(p, "a/x-0-of-1.lmdb");
	add(p, "y-{0..1}-of-2.lmdb");
	assert_int_equal(names_check_mixed(&p->names, &p->err), 0);
	add(p, "old/=y-0-of-1.lmdb");
	assert_int_equal(names_check_mixed(&p->names, &p->err), 0);
	add(p, "http://me:secret@host/x-0-of-1.lmdb?sig=1");
	expect_mixed(p, "x-0-of-1.lmdb", "x-0-of-2.lmdb");
}

TEST_OF(p, two_pushes_of_one_name_are_not_one)
{
	add(p, "y-0-of-1-0123456789abcdef.tar");
	add(p, "y-0-of-1-fedcba9876543210.tar");
	expect_mixed(p, "y-0-of-1-0123456789abcdef.tar", "y-0-of-1-fedcba9876543210.tar");
}

/* Each set was compared with all names: this took over a minute. */
TEST_OF(p, many_sets_are_checked_at_once)
{
	add(p, "{10000..59999}/x-0-of-1");
	assert_int_equal(names_check_sets(&p->names, &p->err), 0);
}

/* As push_to_hub() of Hugging Face datasets did before 2.15. */
TEST_OF(p, files_of_a_set_may_have_a_hash_each)
{
	add(p, "data/train-00000-of-00003-6f3344faa23e9b0a.parquet");
	add(p, "data/train-00002-of-00003-bd3344faa23e9b0b.parquet");
	expect_missing(p, "train-00001-of-00003.parquet is missing of a set of 3");
	add(p, "data/train-00001-of-00003-cd3344faa23e9b0b.parquet");
	assert_int_equal(names_check_sets(&p->names, &p->err), 0);
}

TEST_OF(p, sets_of_other_folders_are_others)
{
	add(p, "a/x-0-of-2.lmdb");
	add(p, "b/x-1-of-2.lmdb");
	expect_missing(p, "x-1-of-2.lmdb is missing of a set of 2");
}
