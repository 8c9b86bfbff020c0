# bash completion for foldpack, foldfs and foldstat.
#
# What the programs take: see table.sh.
_foldfs_table='
@TABLE@
'

# _foldfs_help PROGRAM [COMMAND]: its options, one a line: "LETTER NAME VALUE", "-" for none.
_foldfs_help() {
    local words letter name value rest
    while IFS=$'\t' read -r words letter name value rest; do
        [[ $words == "${1##*/}${2:+ $2}" && $letter$name == *-[-a-zA-Z]* ]] &&
            echo "$letter $name $value"
    done <<<"$_foldfs_table"
}

# The commands of foldpack.
_foldpack_commands() {
    local words letter name
    while IFS=$'\t' read -r words letter name _; do
        [[ $words == foldpack && $name == [a-z]* ]] && echo "$name"
    done <<<"$_foldfs_table"
}

# _foldfs_reply PREFIX WORD..: offers the words that begin with the word at the cursor.
_foldfs_reply() {
    local prefix=$1 word
    shift
    COMPREPLY=()
    for word; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("$prefix$word")
    done
    return 0
}

_foldfs_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -"$1" -- "$cur")
}

# The mount points of foldfs, or of none.
_foldfs_mounts() {
    local line mounts=() fields
    while read -r line; do
        [[ $line == *" - fuse.foldfs "* ]] || continue
        read -ra fields <<<"$line"
        mounts+=("$(printf '%b' "${fields[4]//\\/\\0}")")
    done </proc/self/mountinfo
    compopt -o filenames 2>/dev/null
    _foldfs_reply "" "${mounts[@]}"
}

# _foldfs_value VALUE: what may stand for a value that --help calls so.
_foldfs_value() {
    local words
    case $1 in
    *'|'*)
        IFS='|' read -ra words <<<"$1"
        _foldfs_reply "" "${words[@]}"
        ;;
    FILE*) _foldfs_files f ;;
    DIR*) _foldfs_files d ;;
    *) COMPREPLY=() ;;
    esac
}

# _foldfs_mount_words HELP: the word of -o at the cursor, after its last comma.
_foldfs_mount_words() {
    local prefix="" letter name value words=()
    [[ $cur == *,* ]] && prefix=${cur%,*},
    cur=${cur##*,}
    while read -r letter name value; do
        [[ $name == - || $name == --help || $name == --version ]] && continue
        [[ $value == - ]] && words+=("${name#--}") || words+=("${name#--}=")
    done <<<"$1"
    compopt -o nospace 2>/dev/null
    _foldfs_reply "$prefix" "${words[@]}"
}

# _foldfs_options HELP: completes an option or its value; false if neither is at the cursor.
_foldfs_options() {
    local letter name value words=() owner=
    # readline splits --name=value at the =.
    if [[ $cur == = ]]; then
        cur=
        owner=$prev
    elif [[ $prev == = ]]; then
        owner=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $prev == -* ]]; then
        owner=$prev
    fi
    if [[ -n $owner && $owner != -* && $cur == *,* ]]; then
        owner=-o
    elif [[ -n $owner && $owner != -* ]]; then
        owner=--${owner##*,}
    fi
    # -o alone is mount(8)'s; with a long name it is an option like others.
    if [[ $owner == -o && $1 != *"-o --"* ]]; then
        _foldfs_mount_words "$1"
        return 0
    fi
    while read -r letter name value; do
        if [[ $value != - && -n $owner && ($owner == "$name" || $owner == "$letter") ]]; then
            _foldfs_value "$value"
            return 0
        fi
        [[ $letter != - ]] && words+=("$letter")
        if [[ $name != - ]]; then
            [[ $value == - ]] && words+=("$name") || words+=("$name=")
        fi
    done <<<"$1"
    [[ $cur == -* ]] || return 1
    _foldfs_reply "" "${words[@]}"
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}

# _foldfs_place FIRST HELP: how many arguments stand between word FIRST and the cursor.
_foldfs_place() {
    local i count=0 letter name value takes=" "
    while read -r letter name value; do
        [[ $value != - ]] && takes+="$letter $name "
    done <<<"$2"
    for ((i = $1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        =) ((i++)) ;;
        -*) [[ $takes == *" ${COMP_WORDS[i]} "* && ${COMP_WORDS[i + 1]} != = ]] && ((i++)) ;;
        *) ((count++)) ;;
        esac
    done
    echo "$count"
}

_foldpack() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words help
    if ((COMP_CWORD == 1)); then
        mapfile -t words < <(_foldpack_commands)
        _foldfs_reply "" "${words[@]}" --help --version
        return
    fi
    help=$(_foldfs_help "$1" "${COMP_WORDS[1]}")
    _foldfs_options "$help" && return
    case ${COMP_WORDS[1]}-$(_foldfs_place 2 "$help") in
    diff-0 | extract-1) _foldfs_files d ;;
    create-0 | create-1 | list-0 | info-0 | verify-* | cat-0 | diff-1 | extract-0 | export-0 | \
        export-1 | fetch-* | index-* | report-0)
        _foldfs_files f
        ;;
    list-1 | cat-1 | extract-*) _foldpack_paths "$1" ;;
    esac
}

# The paths in a pack, a folder at a time. Only of packs that are listed quickly: the rest of
# the line waits for it.
_foldpack_paths() {
    local pack=${COMP_WORDS[2]} folder="" i
    for ((i = 2; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* ]] || { pack=${COMP_WORDS[i]} && break; }
    done
    # As it was typed.
    pack=${pack/#\~\//$HOME/}
    pack=${pack//[\\\"\']/}
    [[ $cur == */* ]] && folder=${cur%/*}/
    compopt -o filenames -o nospace 2>/dev/null
    mapfile -t COMPREPLY < <(
        timeout 2 "$1" list "$pack" ${folder:+"${folder%/}"} 2>/dev/null |
            awk -v folder="$folder" -v cur="$cur" '
                index($0, folder) == 1 {
                    rest = substr($0, length(folder) + 1)
                    slash = index(rest, "/")
                    if (slash)
                        rest = substr(rest, 1, slash)
                    word = folder rest
                    if (index(word, cur) == 1 && !(word in seen)) {
                        seen[word]
                        print word
                    }
                }'
    )
}

_foldfs() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i help
    for ((i = 1; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -- ]] || continue
        if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
        elif ((i + 1 == COMP_CWORD)); then
            mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        else
            _foldfs_files f
        fi
        return
    done
    help=$(_foldfs_help "$1")
    _foldfs_options "$help" || _foldfs_files f # packs, and the mount point behind them
}

_foldstat() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} help
    help=$(_foldfs_help "$1")
    _foldfs_options "$help" && return
    (($(_foldfs_place 1 "$help") == 0)) && _foldfs_mounts
}

complete -F _foldpack foldpack
complete -F _foldfs foldfs
complete -F _foldstat foldstat
