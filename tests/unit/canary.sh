#!/bin/sh
# canary.sh CANARY KIND[,KIND]: whether the sanitizers of a build start, and see what they are for.
# Without this, tests would pass as well where they are not there.
set -u
canary=${1:?usage: canary.sh CANARY KIND[,KIND]}
failed=0
for kind in $(echo "${2:?}" | tr ',' ' '); do
    said=$("$canary" "$kind" 2>&1)
    status=$?
    case $kind in
    address) wanted='AddressSanitizer: heap-buffer-overflow' ;;
    undefined) wanted='runtime error: signed integer overflow' ;;
    thread) wanted='ThreadSanitizer: data race' ;;
    *) wanted='a sanitizer that canary.c knows' ;;
    esac
    case $status:$said in
    0:*) echo "the $kind sanitizer sees nothing" ;;
    *"$wanted"*) continue ;;
    *) printf 'the %s sanitizer does not start:\n%s\n' "$kind" "$said" ;;
    esac
    failed=1
done
exit $failed
