/* The settings for packs on other machines: options that foldfs and foldpack share. */
#pragma once

#include "base/opt.h"

struct remote_settings {
	uint64_t retry; /* seconds for which what fails is repeated; see remote_retry() */
	const char *endpoint, *region, *profile; /* of buckets; NULL: see remote/s3.h */
	bool anonymous;				 /* buckets: requests are not signed */
	bool requester_pays;   /* S3: this user pays for requests to buckets of others */
	const char *ca_file;   /* certificates to trust; NULL: see remote_trust() */
	const char *first_url; /* on the command line; NULL: none. FOLDFS_TOKEN is for its server */
	/* Gets a line for the user, without a full stop: what keeps failing, and when it works
	 * again. Called by any thread. May be NULL. */
	void (*notice)(const char *line);
};

#define REMOTE_DEFAULTS             \
	{                           \
		.retry = UINT64_MAX \
	}

/* Seconds by default: for requests to servers, and for reads of files that a mount is made of. */
#define REMOTE_RETRY	  600
#define REMOTE_RETRY_FILE 30

static inline uint64_t remote_retry(const struct remote_settings *settings, uint64_t by_default)
{
	return settings->retry == UINT64_MAX ? by_default : settings->retry;
}

/* Rows for a table of options. `member`: the field of the settings that is a struct
 * remote_settings. */
#define REMOTE_OPTIONS(type, member)                                                             \
	OPT_SHARED("packs on servers"),                                                          \
		OPT_NUMBER(                                                                      \
			0, "retry", "SEC", type, member.retry,                                   \
			"how long to repeat requests that fail (default: 600; in foldfs 30 for " \
			"files on network filesystems)"),                                        \
		OPT_STRING(0, "endpoint", "URL", type, member.endpoint,                          \
			   "server of s3:// and gs://, instead of Amazon's and Google's"),       \
		OPT_STRING(0, "region", "NAME", type, member.region, "region of s3:// buckets"), \
		OPT_STRING(0, "profile", "NAME", type, member.profile,                           \
			   "credentials and settings of this profile of the AWS tools"),         \
		OPT_FLAG(0, "anonymous", type, member.anonymous,                                 \
			 "send no credentials for s3:// and gs://"),                             \
		OPT_FLAG(0, "requester-pays", type, member.requester_pays,                       \
			 "pay for requests to other people's buckets"),                          \
		OPT_STRING(0, "ca-file", "FILE", type, member.ca_file,                           \
			   "certificates of the authorities to trust for https")

/* The server of gs://, as a URL. */
const char *remote_google(const struct remote_settings *settings);

/* The certificates that are trusted, and no others: a file, a folder that 'openssl rehash' has
 * made, or both. Both NULL: those that libcurl was built with. */
struct remote_trust {
	const char *file, *folder;
};

/* What the settings name; or AWS_CA_BUNDLE, CURL_CA_BUNDLE or REQUESTS_CA_BUNDLE: a file or a
 * folder. Without these, the file that SSL_CERT_FILE names, or the system's, beside the folder of
 * SSL_CERT_DIR. */
struct remote_trust remote_trust(const struct remote_settings *settings);

/* Whether libcurl may open the files that it reads by their names: the certificates, and ~/.netrc.
 * Returns 0, or -ESPIPE (one is a named pipe) with a sentence that names it. */
int remote_check_files(const struct remote_settings *settings, struct err *err);
