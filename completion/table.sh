#!/bin/sh
# table.sh BUILD: what the programs in BUILD take, for the completions: what --help says, so that
# nobody needs to run them to complete a word. In single quotes, which all three shells read alike.
#
# A row has five fields by tabs, "-" for none: the words before, a letter, a name, what its
# value is called, a text. A command of foldpack has its name without dashes.
#
# EMULATOR runs programs of another architecture.
set -eu
build=$1
emulator=${EMULATOR:-}

# rows WORD..: of one --help.
rows() {
    text=$($emulator "$build/$1" $2 --help) || exit 1
    printf '%s\n' "$text" | awk -v words="$1${2:+ $2}" '
        function end_row(    letter, name, value) {
            if (label == "")
                return
            letter = name = value = "-"
            if (match(label, /^-[a-zA-Z0-9]/))
                letter = substr(label, 1, 2)
            if (match(label, /--[a-z][a-z_-]*/))
                name = substr(label, RSTART, RLENGTH)
            if (match(label, /=[^ ]+$/) || match(label, / [A-Z][^ ]*$/))
                value = substr(label, RSTART + 1)
            sub(/^ +/, "", text)
            print words "\t" letter "\t" name "\t" value "\t" text
            label = ""
        }
        /^(  |      )-/ {
            end_row()
            sub(/^ +/, "")
            label = text = $0
            sub(/  .*/, "", label)
            text = substr(text, length(label) + 1)
            next
        }
        label != "" && sub(/^ +/, " ") { text = text $0 }
        /^[a-z]/ { heading = $0 }
        heading == "commands:" && /^  / {
            # Behind what its arguments are called.
            for (i = 2; $i == "[options]" || $i !~ /^[a-z]/; i++)
                ;
            line = words "\t-\t" $1 "\t-\t" $i
            while (i++ < NF)
                line = line " " $i
            print line
        }
        END { end_row() }'
}

table() {
    rows foldfs ''
    rows foldstat ''
    rows foldpack ''
    shared=$(rows foldpack '')
    for command in $(printf '%s\n' "$shared" | cut -f 3 | grep -v '^-'); do
        rows foldpack "$command"
        case $text in
        *': foldpack --help.')
            printf '%s\n' "$shared" | awk -F '\t' -v OFS='\t' -v command="$command" '
                $3 ~ /^--/ && $2 == "-" { $1 = $1 " " command; print }'
            ;;
        esac
    done
}

whole=$(table)
printf '%s\n' "$whole" | sed "s/'/'\\\\''/g"
