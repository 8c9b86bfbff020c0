#!/bin/sh
# curl.sh OUT: builds a static libcurl in the folder OUT, for static programs: with http and https,
# by OpenSSL, and with c-ares. libc would find servers by modules that must be of its own version.
#
# The source is that of this release of Debian, or of bookworm, with its security updates. apt
# checks it by Debian's keys. Its configuration and lists are private: those of the machine are
# neither needed nor changed. CC and CFLAGS say how to compile.
#
# OUT gets libcurl.a, curl/*.h, and, for packaging/licenses.py, `copyright` and `source`: name and
# version.
set -eu

out=${1:?"usage: curl.sh OUT"}
mirror=http://deb.debian.org
keys=/usr/share/keyrings/debian-archive-keyring.gpg
# shellcheck source=/dev/null
suite=$(. /etc/os-release && [ "$ID" = debian ] && echo "${VERSION_CODENAME:-}") || :
suite=${suite:-bookworm}

rm -rf "$out"
work=$(mktemp -d)
log=$work/log
trap '[ $? = 0 ] || tail -n 20 "$log" >&2; rm -rf "$work"' EXIT

fetch() {
    cd "$work"
    mkdir -p lists/partial archives/partial
    for where in "debian $suite" "debian-security $suite-security"; do
        echo "deb-src [signed-by=$keys] $mirror/$where main"
    done >sources.list
    cat >configuration <<END
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State "$work";
Dir::State::Status "/dev/null";
Dir::Cache "$work";
APT::Sandbox::User "";
END
    APT_CONFIG=$work/configuration
    export APT_CONFIG
    apt-get -q --error-on=any update
    apt-get -q source --download-only curl
    dpkg-source --no-check -x curl_*.dsc "$work/source"
}

# Unused parts of http, too, are left out. That of OpenSSL here may name modules, which
# static programs cannot load; so may that of libc say of users.
compile() {
    cd "$work/source"
    ac_cv_func_getpwuid=no ac_cv_func_getpwuid_r=no ./configure \
        --host="$($CC -dumpmachine)" --disable-shared --disable-dependency-tracking \
        --with-openssl --disable-openssl-auto-load-config --enable-ares \
        --without-ca-bundle --without-ca-path \
        --without-zlib --without-brotli --without-zstd --without-nghttp2 --without-libidn2 \
        --without-libpsl --without-librtmp --without-libssh2 --without-libgsasl \
        --disable-ftp --disable-file --disable-ldap --disable-ldaps --disable-rtsp \
        --disable-dict --disable-telnet --disable-tftp --disable-pop3 --disable-imap \
        --disable-smb --disable-smtp --disable-gopher --disable-mqtt \
        --disable-manual --disable-alt-svc --disable-hsts --disable-cookies --disable-doh \
        --disable-mime --disable-ntlm --disable-tls-srp --disable-unix-sockets \
        --disable-get-easy-options --disable-headers-api
    # Debian's patches are newer than what was made of the files that they change.
    make -C lib -j"$(nproc)" ACLOCAL=: AUTOCONF=: AUTOMAKE=: AUTOHEADER=:
}

: "${CC:=cc}"
(fetch; compile) >"$log" 2>&1
mkdir -p "$out/curl"
cp "$work/source/include/curl/"*.h "$out/curl/"
cp "$work/source/debian/copyright" "$out/"
echo "curl $(dpkg-parsechangelog -S Version -l "$work/source/debian/changelog")" >"$out/source"
cp "$work/source/lib/.libs/libcurl.a" "$out/"
