#!/bin/sh
# run.sh OPTION...: mount tests, by pytest with these options; of those in TESTS there may be none.
# With AGAIN=1, as CI has it, those that failed are run once more, one after the other, and count if
# they fail again, if a sanitizer has spoken or if something was left mounted.
set -u
failed=$FOLDFS_BUILD/failed
rm -rf "$failed"
# Each worker of each run reads all tests: compiled ones in a third of the time.
unset PYTHONDONTWRITEBYTECODE

run() {
    "${PYTHON:-/usr/bin/python3}" -m pytest -q -o cache_dir="$failed" "$@"
}

run "$@"
status=$?
if [ $status = 1 ] && [ -n "${AGAIN:-}" ] && [ ! -e "$failed/for-good" ]; then
    echo 'once more, what failed:'
    run --last-failed -m '' tests/mount
    status=$?
fi
[ $status = 0 ] || { [ $status = 5 ] && [ -n "${TESTS:-}" ]; }
