#!/bin/sh
# threads.sh "PROGRAM.." UNIT..: whether PROGRAM.. are those of all units that begin threads.
set -u
threaded=$1
shift
wrong=0
for program in "$@"; do
    case " $threaded " in *" $program "*) listed=0 ;; *) listed=1 ;; esac
    nm -uD "$program" | grep -q pthread_create
    if [ $? -ne $listed ]; then
        echo "$program: whether it begins threads is not what the Makefile's \`threaded' says" >&2
        wrong=1
    fi
done
exit $wrong
