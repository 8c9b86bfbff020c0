#compdef foldpack foldfs foldstat
# zsh completion for foldpack, foldfs and foldstat.
#
# What the programs take: see table.sh.
_foldfs_table='
@TABLE@
'

# _foldfs_action VALUE: what _arguments does for a value that --help calls so.
_foldfs_action() {
    case $1 in
    *'|'*) REPLY="(${${1//\|/ }//:/\\:})" ;;
    FILE*) REPLY=_files ;;
    DIR*) REPLY='_files -/' ;;
    *) REPLY=' ' ;;
    esac
}

# _foldfs_specs PROGRAM [COMMAND]: `specs` for _arguments, `words_of_o` for _values.
_foldfs_specs() {
    local of letter name value text REPLY
    specs=() words_of_o=()
    while IFS=$'\t' read -r of letter name value text; do
        [[ $of == "${1:t}${2:+ $2}" && $letter$name == *-[-a-zA-Z]* ]] || continue
        text="[${text//(#m)[\]\[\\:]/\\$MATCH}]"
        # -o without a long name is mount(8)'s.
        if [[ $letter$name == -o- ]]; then
            specs+=("*-o$text:mount option:_values -s , 'mount option' \$words_of_o")
            continue
        fi
        if [[ $value != - ]]; then
            _foldfs_action $value
            text+=:${value//:/\\:}:$REPLY
        fi
        [[ $letter == - ]] || specs+=("*$letter$text")
        [[ $name == - ]] && continue
        [[ $name == --(help|version) ]] || words_of_o+=("${name#--}$text")
        [[ $value == - ]] && specs+=("*$name$text") || specs+=("*$name=$text")
    done <<<$_foldfs_table
}

_foldfs_mounts() {
    local line mounts=()
    while read -r line; do
        [[ $line == *' - fuse.foldfs '* ]] && mounts+=("${(g::)${${=line}[5]}//\\/\\0}")
    done </proc/self/mountinfo
    compadd -f -- $mounts
}

# The paths in a pack, a folder at a time. Only of packs that are listed quickly: the rest of the
# line waits for it.
_foldpack_paths() {
    local folder=
    local -a before=(${(Q)words[2,-1]:#-*}) paths
    [[ $PREFIX == */* ]] && folder=${PREFIX%/*}/
    paths=(${(f)"$(timeout 2 $program list ${~before[1]} ${folder%/} 2>/dev/null |
        awk -v folder="$folder" '
            index($0, folder) == 1 {
                rest = substr($0, length(folder) + 1)
                if (slash = index(rest, "/"))
                    rest = substr(rest, 1, slash)
                if (!(rest in seen)) {
                    seen[rest]
                    print folder rest
                }
            }')"})
    compadd -S '' -- $paths
}

_foldfs_of_foldpack() {
    local program=$words[1] command=$words[2] of letter name value text
    local -a specs words_of_o commands
    if ((CURRENT == 2)); then
        while IFS=$'\t' read -r of letter name value text; do
            [[ $of == foldpack && $name == [a-z]* ]] && commands+=("$name:$text")
        done <<<$_foldfs_table
        _describe command commands
        compadd -- --help --version
        return
    fi
    _foldfs_specs $program $command
    shift words
    ((CURRENT--))
    case $command in
    create | export) _arguments -S $specs ':source:_files' ':target:_files' ;;
    diff) _arguments -S $specs ':folder:_files -/' ':pack:_files' ;;
    list | cat) _arguments -S $specs ':pack:_files' ':path:_foldpack_paths' ;;
    extract) _arguments -S $specs ':pack:_files' ':folder:_files -/' '*:path:_foldpack_paths' ;;
    *) _arguments -S $specs '*:pack:_files' ;;
    esac
}

_foldfs_of_foldfs() {
    local -a specs words_of_o
    local dashes=${words[(i)--]}
    if ((dashes < CURRENT)); then
        shift $dashes words
        ((CURRENT -= dashes))
        _normal
        return
    fi
    _foldfs_specs $words[1]
    _arguments -S $specs '*:pack or mount point:_files'
}

_foldfs_of_foldstat() {
    local -a specs words_of_o
    _foldfs_specs $words[1]
    _arguments -S $specs ':mount point:_foldfs_mounts'
}

_foldfs_of_$service
