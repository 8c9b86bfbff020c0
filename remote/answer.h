/* Finds single texts in what credential services answer, and in the errors of S3. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The text of a member of a JSON object. Returns 0, 1 (there is no such member, or it is null),
 * -EINVAL (not an object) or -ENOMEM. The caller frees the text. */
int answer_json(const char *text, const char *name, char **ret);

/* The same for a number, which is whole and not negative; 1 for anything else. */
int answer_json_number(const char *text, const char *name, uint64_t *ret);

/* The texts of some members of the next object of an array, which begins at *at: at '[' the first
 * time. ret[i] stays NULL if names[i] is no string there. The caller frees them in any case.
 * Returns 0, 1 (there are no more), -EINVAL or -ENOMEM. */
int answer_json_next(const char **at, const char *const *names, char **ret, size_t count);

/* The text between <name> and the next <, with &amp; and other entities replaced. Returns 0, 1
 * (there is none) or -ENOMEM. */
int answer_xml(const char *text, const char *name, char **ret);
