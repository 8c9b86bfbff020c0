#!/bin/sh
# run.sh BUILD FLAG...: holds the tree, and the programs in BUILD, which were compiled with these
# FLAGs, against its own rules.
#
# One line a check, "ok - name" or "not ok - name: N found", with what was found below it.
# A check whose tool is not installed says so. Status 1 if any check failed.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: run.sh BUILD FLAG...}
shift
here=tests/lint
failed=0
names=
said=$(mktemp -d) || exit 1
trap 'rm -rf "$said"' EXIT
export PYTHONDONTWRITEBYTECODE=1

# report NAME STATUS OUTPUT: a check's status 77 is "cannot be told here", as everywhere.
report() {
    case $2 in
    0) echo "ok - $1" ;;
    77) echo "ok - $1 # skip: $3" ;;
    *)
        failed=1
        echo "not ok - $1: $(printf '%s\n' "$3" | wc -l) found"
        printf '%s\n' "$3" | sed 's/^/#   /'
        ;;
    esac
}

# check NAME COMMAND..: all begin at once, and are reported in turn.
check() {
    names="$names $1"
    at=$said/$1
    shift
    { "$@" >"$at" 2>&1; echo $? >"$at.status"; } &
}

check layering "$here/layering.py" "$build"
check headers "$here/headers.sh"
check clang "$here/clang.sh" "$@"
check statics "$here/statics.py" "$build"
check prints "$here/words.py" prints
check banned "$here/words.py" banned
check size "$here/size.py"
check format "$here/format.sh"
check text "$here/text.py"
check terms "$here/terms.py"
check map "$here/map.py"
check promises "$here/promises.py"
check shell "$here/shell.sh"
check man "$here/man.sh"
check options "$here/options.py" "$build"
check stats "$here/stats.py"
check figures "$here/../bench/figures.py" --check
wait
for name in $names; do
    report "$name" "$(cat "$said/$name.status")" "$(cat "$said/$name")"
done
exit $failed
