/* Names as users give them: paths and URLs, and what of them may be shown. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NAMES_MOST 100000 /* packs of a command line; more must be a mistake in a range */

/* The length of the scheme in front of "://"; 0: there is none, the name is a path. */
size_t name_scheme(const char *name);
bool name_has_scheme(const char *name, const char *scheme);
/* Where the query of a URL begins, with its '?' or '#'; otherwise the length of the name. The keys
 * of s3:// and gs://, and the paths of hf://, have any characters. */
size_t name_query(const char *name);

/* Bytes of the folder, with its slash, that is in front of both, whose first ones are given. */
size_t name_common_folder(const char *a, size_t a_len, const char *b, size_t b_len);

/* Whether it is that of an index file, which patterns leave out: it is found with its file. */
#define NAME_INDEX ".foldfs-index"
bool name_is_index(const char *name);

/* The name in a word: in NAME/=name and @name where it begins, otherwise the word itself. */
char *name_of_word(char *word);
/* The byte that the %XX at the beginning of `text` is. Below 0: there is none, or it is 0, which
 * ends a text. */
int name_percent_byte(const char *text);
/* Makes a URL of a file on this machine, file:///PATH or file://localhost/PATH, the path that it
 * means, in place, where it is the name in a word; any other word stays as it is. */
void name_take_file(char *word);
/* The first name with http://, https://, gs:// or hf:// in the words; NULL: there is none. */
const char *name_first_url(char *const *words, size_t count);
/* Removes secrets from a word, in place: user:password@ and the query of a URL. */
void name_hide_secrets(char *word);
/* The same for all words of a command line, which all users can see; argv then has copies of those
 * with URLs. They lie in *ret, from malloc, which the caller frees; NULL: there are none. Returns 0
 * or -ENOMEM. */
int name_hide_argv(char **argv, char **ret);
/* A copy without secrets, for messages. The caller frees it. NULL: no memory. */
char *name_shown(const char *name);
