#include "remote/settings.h"
#include "base/io.h"
#include "base/scope.h"
#include "remote/environment.h"
#include <errno.h>
#include <unistd.h>

/* A libcurl.so knows where its system has the certificates of authorities; a static program may be
 * on any. */
static const char *ca_file_here(void)
{
#if FOLDFS_STATIC
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
#endif
	return NULL;
}

/* What is named for foldfs and curl, and not for all that OpenSSL serves. */
static const char *named_file(const struct remote_settings *settings)
{
	const char *file = settings->ca_file;

	file = file ? file : environment_get("AWS_CA_BUNDLE");
	return file ? file : environment_get("CURL_CA_BUNDLE");
}

const char *remote_ca_file(const struct remote_settings *settings)
{
	const char *file = named_file(settings);

	file = file ? file : environment_get("SSL_CERT_FILE");
	return file ? file : ca_file_here();
}

const char *remote_ca_folder(const struct remote_settings *settings)
{
	return named_file(settings) ? NULL : environment_get("SSL_CERT_DIR");
}

const char *remote_google(const struct remote_settings *settings)
{
	return settings->endpoint ? settings->endpoint : "https://storage.googleapis.com";
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
	const char *certificates = remote_ca_file(settings), *home = environment_get("HOME");
	SCOPE_FREE char *netrc = NULL;
	int r = certificates ? check_option_file(certificates, err) : 0;

	if (r < 0 || !home)
		return r;
	return asprintf(&netrc, "%s/.netrc", home) < 0 ? -ENOMEM : check_option_file(netrc, err);
}
