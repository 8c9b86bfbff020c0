/* Finds single texts in responses of credential services, and in errors of S3. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The text of a member of a JSON object: a string, or a whole number that is not negative. Returns
 * 0, 1 (there is no such member, or it is something else), -EINVAL (not an object) or -ENOMEM. The
 * caller frees the text. */
int response_json(const char *text, const char *name, char **ret);

/* The texts of some members of the next object of an array, which begins at *at: at '[' the first
 * time. The name "a.b" is that of b in the object a. ret[i] stays NULL if there is no such text.
 * The caller frees them in any case. Returns 0, 1 (there are no more), -EINVAL or -ENOMEM. */
int response_json_next(const char **at, const char *const *names, char **ret, size_t count);

/* The text between <name> and the next <, with &amp; and other entities replaced. Returns 0, 1
 * (there is none) or -ENOMEM. */
int response_xml(const char *text, const char *name, char **ret);

/* "2026-11-28T18:24:23.123Z", with or without a fraction, or +hh:mm in the place of the Z, in ns
 * since 1970. Returns 0, 1 (it is of no zone: UTC) or -EINVAL. */
int response_time(const char *text, int64_t *ret);
