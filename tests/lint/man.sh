#!/bin/sh
# mandoc has nothing to say about the manual pages; they refer to pages that there are, and name
# each environment variable that the programs read.
cd "$(dirname "$0")/../../man" || exit 1
command -v mandoc >/dev/null || { echo "mandoc is not installed" && exit 77; }
status=0
# Which foreign pages are installed here says nothing about ours.
mandoc -T lint ./*.[1-8] 2>/dev/null | grep -v 'referenced manual not found' && status=1
missing=$(sed -n 's/^\.Xr \(fold[a-z-]*\) \([1-8]\).*/\1.\2/p' ./*.[1-8] | sort -u |
    while read -r page; do
        [ -f "$page" ] || echo "$page is referred to and missing"
    done)
[ -z "$missing" ] || { printf '%s\n' "$missing" && status=1; }
unsaid=$(cd .. && grep -rhoE '"(AWS|CURL|FOLDFS|HF|NO|SSL|XDG)_[A-Z0-9_]+"' --include='*.c' \
    base cache fs lists pack remote | tr -d '"' | sort -u |
    while read -r variable; do
        grep -qw "$variable" man/*.[1-8] || echo "$variable is read and in no page"
    done)
[ -z "$unsaid" ] || { printf '%s\n' "$unsaid" && status=1; }
exit $status
