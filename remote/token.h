/* A token that the user has for a server: where it is, and whom it is for (remote/bearer.h). */
#pragma once

#include "base/err.h"
#include "remote/object_auth.h"
#include "remote/settings.h"
#include "remote/url.h"

struct token {
	char *text;	      /* NULL: there is none */
	char *file;	      /* it comes from; NULL: from no file */
	const char *of_other; /* a variable with a token for another server; NULL: none */
	bool of_hub;	      /* the server is the Hugging Face Hub's */
};

/* The token for this server. What is empty is none. Returns 0, also if there is none; -EACCES (it
 * would be sent in clear), -EINVAL, -ENOMEM, or why its file cannot be read. `ret` must be released
 * in any case. */
int token_find(const struct url *server, const struct remote_settings *settings, struct token *ret,
	       struct err *err);
/* Reads its file again. Returns 0, 1 (there is none in it), or -errno: then it stays as it was. */
int token_read(struct token *token, struct err *err);
/* What is left of a text without blanks and line ends around it, as editors, 'echo' and Windows
 * leave them; the caller frees it. NULL: no memory. */
char *token_trim(const char *text);
void token_release(struct token *token);
