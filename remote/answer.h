/* Single texts out of the answers of credential services, and of the errors of S3. */
#ifndef REMOTE_ANSWER_H
#define REMOTE_ANSWER_H

/* The text of a member of a JSON object whose values are no objects or arrays. Returns 0, 1 (there
 * is none, or it is null), -EINVAL (no such JSON) or -ENOMEM. The caller frees it: secret_free()
 * where it is one. */
int answer_json(const char *text, const char *name, char **ret);

/* The text between <name> and the next <, with &amp; and its like replaced. Returns 0, 1 (there is
 * none) or -ENOMEM. */
int answer_xml(const char *text, const char *name, char **ret);

#endif
