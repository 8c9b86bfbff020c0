#include "remote/settings.h"
#include "base/io.h"
#include "base/scope.h"
#include "remote/environment.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *ca_file_here(void)
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt",		     /* Debian */
		"/etc/pki/tls/certs/ca-bundle.crt",		     /* EL */
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora */
		"/etc/ssl/ca-bundle.pem",			     /* SUSE */
		"/etc/ssl/cert.pem",				     /* Alpine */
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (access(places[i], R_OK) == 0)
			return places[i];
	return environment_get("FOLDFS_CA_FILE");
}

struct remote_trust remote_trust(const struct remote_settings *settings)
{
	/* What is named for foldfs, and for what fetches, and not for all that OpenSSL serves. */
	const char *named = settings->ca_file
				    ?: environment_get("AWS_CA_BUNDLE")
				    ?: environment_get("CURL_CA_BUNDLE")
				    ?: environment_get("REQUESTS_CA_BUNDLE");
	struct stat st;

	if (named && stat(named, &st) == 0 && S_ISDIR(st.st_mode))
		return (struct remote_trust){.folder = named};
	if (named)
		return (struct remote_trust){.file = named};
	return (struct remote_trust){.file = environment_get("SSL_CERT_FILE") ?: ca_file_here(),
				     .folder = environment_get("SSL_CERT_DIR")};
}

const char *remote_google(const struct remote_settings *settings)
{
	return settings->endpoint ?: "https://storage.googleapis.com";
}

/* Whatever else is wrong with a file, libcurl says. */
static int check_option_file(const char *path, struct err *err)
{
	struct err reason = {0};
	SCOPE_CLOSE int fd = io_open_given(path, &reason);

	return fd == -ESPIPE ? err_set(err, fd, "%s: %s", path, err_text(&reason, fd)) : 0;
}

int remote_check_files(const struct remote_settings *settings, struct err *err)
{
	const char *certificates = remote_trust(settings).file, *home = environment_get("HOME");
	SCOPE_FREE char *netrc = NULL;
	int r = certificates ? check_option_file(certificates, err) : 0;

	if (r < 0 || !home)
		return r;
	return asprintf(&netrc, "%s/.netrc", home) < 0 ? -ENOMEM : check_option_file(netrc, err);
}
