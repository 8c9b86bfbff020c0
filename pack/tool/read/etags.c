#include "pack/tool/read/etags.h"

#include "base/reader_members.h"
#include "base/scope.h"
#include <ctype.h>
#include <nettle/base16.h>
#include <nettle/md5.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

#define DIGITS BASE16_ENCODE_LENGTH(MD5_DIGEST_SIZE)

struct etags {
	struct dataset *dataset;
	uint64_t turns; /* pieces that were counted */

	pthread_mutex_t lock;
	pthread_cond_t moved;
	uint64_t turn;	    /* the piece to be hashed */
	struct md5_ctx md5; /* of the file that it is of */
	bool lost;	    /* a piece of that could not be read */
};

int etags_new(struct dataset *dataset, struct etags **ret)
{
	struct etags *etags = calloc(1, sizeof(*etags));

	if (!etags)
		return -ENOMEM;
	etags->dataset = dataset;
	pthread_mutex_init(&etags->lock, NULL);
	pthread_cond_init(&etags->moved, NULL);
	*ret = etags;
	return 0;
}

void etags_free(struct etags *etags)
{
	if (!etags)
		return;
	pthread_cond_destroy(&etags->moved);
	pthread_mutex_destroy(&etags->lock);
	free(etags);
}

uint64_t etags_turn(struct etags *etags, const struct batch *batch)
{
	return batch->piece ? etags->turns++ : 0;
}

static bool is_md5(const char *tag)
{
	size_t digits = 0;

	while (*tag == '"' && isxdigit((unsigned char)tag[1 + digits]))
		digits++;
	return digits == DIGITS && strcmp(tag + 1 + digits, "\"") == 0;
}

/* Objects lie so far apart that a batch has one, and files without bytes. */
static enum etag compare(struct etags *etags, const struct batch *batch, struct md5_ctx *md5)
{
	SCOPE(buf_release) struct buf tag = BUF_INIT;
	uint8_t digest[MD5_DIGEST_SIZE];
	char digits[DIGITS];

	md5_digest(md5, sizeof(digest), digest);
	base16_encode_update(digits, sizeof(digest), digest);
	if (reader_members_tag(dataset_reader(etags->dataset), batch->start, &tag) < 0 || !tag.len)
		return ETAG_NONE;
	if (!is_md5(tag.data))
		return ETAG_OTHER;
	return strncasecmp(tag.data + 1, digits, DIGITS) == 0 ? ETAG_SAME : ETAG_DIFFERS;
}

static enum etag compare_piece(struct etags *etags, uint64_t turn, const struct batch *batch,
			       const struct batch_reader *reader, bool read)
{
	enum etag etag = ETAG_NONE;

	SCOPE_LOCK(&etags->lock);
	while (etags->turn != turn)
		pthread_cond_wait(&etags->moved, &etags->lock);
	if (batch->from == 0) {
		md5_init(&etags->md5);
		etags->lost = false;
	}
	etags->lost |= !read;
	if (!etags->lost)
		md5_update(&etags->md5, batch->len,
			   (uint8_t *)reader->memory + (batch->start - reader->start));
	if (batch->last && !etags->lost)
		etag = compare(etags, batch, &etags->md5);
	etags->turn++;
	pthread_cond_broadcast(&etags->moved);
	return etag;
}

enum etag etags_compare(struct etags *etags, uint64_t turn, const struct batch *batch,
			const struct batch_reader *reader, bool read)
{
	struct md5_ctx md5;

	if (batch->piece)
		return compare_piece(etags, turn, batch, reader, read);
	if (!read || !batch->len)
		return ETAG_NONE;
	md5_init(&md5);
	md5_update(&md5, batch->len, (uint8_t *)reader->memory + (batch->start - reader->start));
	return compare(etags, batch, &md5);
}
