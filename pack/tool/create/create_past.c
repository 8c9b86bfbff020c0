/* What a run says of each file to one that goes on after it: the note of builder_mark().
 *
 *	flags, [the hash of its bytes], [damage, a tab, the reason]
 *
 * From it the list of bad inputs, the counts and the table of equal files become again what they
 * would be. */
#include "base/scope.h"
#include "pack/tool/create/create.h"
#include "pack/tool/import/source.h"
#include <string.h>

enum note_flags {
	NOTE_HASH = 1, /* its bytes may be those of later files */
	NOTE_BAD = 2,  /* it stands in the list of bad inputs */
	NOTE_KEPT = 4, /* and was packed all the same */
	NOTE_MADE = 8, /* its bytes are not those of the source */
};

static int add_reason(struct buf *note, const char *damage, const char *reason)
{
	note->data[0] |= NOTE_BAD;
	return buf_addf(note, "%s\t%s", damage, reason);
}

static int make_note(const struct create *create, const struct item *item, struct buf *note)
{
	bool hash = !item->error && create_is_deduped(create, item);
	char flags = (char)((hash ? NOTE_HASH : 0) | (item->is_made ? NOTE_MADE : 0));
	int r = buf_add(note, &flags, 1);

	if (r == 0 && hash)
		r = buf_add(note, &item->hash, sizeof(item->hash));
	if (r < 0)
		return r;
	if (item->error)
		return add_reason(note, DAMAGE_UNREADABLE, source_error_text(item->error));
	if (!item->is_bad)
		return 0;
	if (!item->finding.usable)
		note->data[0] |= NOTE_KEPT;
	return add_reason(note, item->finding.damage, item->finding.text);
}

int create_mark(struct create *create, const struct item *item)
{
	SCOPE(buf_release) struct buf note = BUF_INIT;
	int r = make_note(create, item, &note);

	return r < 0 ? r : builder_mark(create->builder, item->fingerprint, note.data, note.len);
}

/* Lists what is said to be bad. `text` is damage, a tab and the reason. */
static int list_again(struct create *create, const struct item *item, const char *text, size_t len)
{
	SCOPE_FREE char *damage = strndup(text, len);
	char *reason;

	if (!damage)
		return -ENOMEM;
	reason = damage + strcspn(damage, "\t");
	if (*reason)
		*reason++ = '\0';
	return create_list_bad(create, item->path.data, damage, reason);
}

static int take_up(struct create *create, struct item *item, const struct builder_past *past)
{
	const char *at = past->note, *end = past->note + past->note_len;
	char flags = at < end ? *at++ : 0;
	int r = 0;

	create_list_held(create, &item->listed);
	if ((flags & NOTE_HASH) && (size_t)(end - at) >= sizeof(item->hash)) {
		memcpy(&item->hash, at, sizeof(item->hash));
		at += sizeof(item->hash);
		if (past->stored)
			r = dedup_table_add(&create->dedup_table, item->hash, item->id);
	}
	if (r == 0 && (flags & NOTE_BAD))
		r = list_again(create, item, at, (size_t)(end - at));
	create->bytes_in += past->dropped ? 0 : item->size;
	create->made += (flags & NOTE_MADE) != 0;
	create->skipped += past->dropped;
	create->kept += !past->dropped && (flags & NOTE_KEPT);
	return r;
}

int create_resumed(struct create *create, struct item *item)
{
	struct builder_past past;
	struct err err = {0};
	int r = builder_resumed(create->builder, item->id, item->fingerprint, &past, &err);

	if (r == -ESTALE)
		return create_fail(create, r, &err);
	if (r <= 0)
		return r;
	r = take_up(create, item, &past);
	progress_add(&create->progress, 1, item->size);
	return r < 0 ? r : 1;
}
