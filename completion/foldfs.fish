# fish completion for foldpack, foldfs and foldstat.
#
# What the programs take: see table.sh.
set -g __foldfs_table '
@TABLE@
'

# __foldfs_help PROGRAM [COMMAND]: its rows, without the first field.
function __foldfs_help
    string split \n -- $__foldfs_table | string replace -f -r "^$argv\t" ''
end

# __foldfs_value VALUE: the words of `complete` for a value that --help calls so, one a line.
function __foldfs_value
    switch "$argv[1]"
        case -
        case '*|*'
            printf '%s\n' -x -a (string replace -a '|' ' ' -- $argv[1])
        case 'FILE*'
            printf '%s\n' -r -F
        case 'DIR*'
            printf '%s\n' -x -a '(__fish_complete_directories)'
        case '*'
            echo -x
    end
end

# __foldfs_options PROGRAM [COMMAND]
function __foldfs_options
    set -l only
    set -q argv[2]; and set only -n "__fish_seen_subcommand_from $argv[2]"
    for line in (__foldfs_help $argv)
        set -l field (string split \t -- $line)
        # -o without a long name is mount(8)'s.
        contains -- "$field[1]$field[2]" -o-; and continue
        set -l flags
        test $field[1] != -; and set -a flags -s (string sub -s 2 -- $field[1])
        test $field[2] != -; and set -a flags -l (string sub -s 3 -- $field[2])
        complete -c $argv[1] $only $flags (__foldfs_value "$field[3]") -d "$field[4]"
    end
end

# The words of -o: the long options of foldfs.
function __foldfs_mount_words
    for line in (__foldfs_help foldfs)
        set -l field (string split \t -- $line)
        contains -- $field[2] - --help --version; and continue
        test $field[3] != -; and set field[2] "$field[2]="
        printf '%s\t%s\n' (string sub -s 3 -- $field[2]) $field[4]
    end
end

function __foldpack_commands
    __foldfs_help foldpack | string replace -f -r '^-\t([a-z]+)\t-\t' '$1\t'
end

# The arguments before the cursor that are no options, without the program.
function __foldfs_arguments
    set -l words (commandline -opc)
    string match -v -- '-*' $words[2..]
end

# Whether there are so many.
function __foldfs_place
    test (count (__foldfs_arguments)) -eq $argv[1]
end

# __foldpack_at COMMAND PLACE..: whether that argument of the command is at the cursor.
function __foldpack_at
    set -l before (__foldfs_arguments)
    test "$before[1]" = $argv[1]; and contains (math (count $before) - 1) $argv[2..]
end

# The paths in a pack, a folder at a time. Only of packs that are listed quickly.
function __foldpack_paths
    set -l before (__foldfs_arguments)
    set -l current (commandline -ct)
    set -l folder (string match -r '.*/' -- $current)
    timeout 2 foldpack list (string replace -r '^~/' "$HOME/" -- $before[2]) \
        (string trim -r -c / -- $folder) 2>/dev/null | awk -v folder="$folder" '
            index($0, folder) == 1 {
                rest = substr($0, length(folder) + 1)
                if (slash = index(rest, "/"))
                    rest = substr(rest, 1, slash)
                if (!(rest in seen)) {
                    seen[rest]
                    print folder rest
                }
            }'
end

function __foldfs_has_command
    contains -- -- (commandline -opc)
end

# The command after --, as it is completed alone.
function __foldfs_command
    set -l words (commandline -opc)
    set -l first (math (contains -i -- -- $words) + 1)
    set -l command (commandline -ct)
    if set -q words[$first]
        set command "$words[$first..-1] $command"
    end
    complete -C "$command"
end

# The mount points of foldfs.
function __foldfs_mounts
    string match -r '^(?:\S+ ){4}\S+(?=.* - fuse\.foldfs )' </proc/self/mountinfo |
        string replace -r '.* ' '' | string replace -a -r '\\\\(\d{3})' '\\\\0$1' |
        while read -l mount
            printf '%b\n' $mount
        end
end

__foldfs_options foldfs
complete -c foldfs -f
complete -c foldfs -n 'not __foldfs_has_command' -F
complete -c foldfs -s o -x -a '(__fish_complete_list , __foldfs_mount_words)' \
    -d 'the same options by name, as in fstab'
complete -c foldfs -n __foldfs_has_command -a '(__foldfs_command)'

__foldfs_options foldstat
complete -c foldstat -f
complete -c foldstat -n '__foldfs_place 0' -a '(__foldfs_mounts)'

complete -c foldpack -f
complete -c foldpack -n '__foldfs_place 0' -a '(__foldpack_commands)'
complete -c foldpack -n '__foldfs_place 0' -s h -l help -d 'show this help'
complete -c foldpack -n '__foldfs_place 0' -s V -l version -d 'show the version'
for command in (__foldpack_commands | cut -f 1)
    __foldfs_options foldpack $command
    # The pack, or what becomes one.
    switch $command
        case create diff export
            complete -c foldpack -n "__foldpack_at $command 0 1" -F
        case verify fetch index
            complete -c foldpack -n "__fish_seen_subcommand_from $command" -F
        case '*'
            complete -c foldpack -n "__foldpack_at $command 0" -F
    end
end
complete -c foldpack -n '__foldpack_at list 1; or __foldpack_at cat 1' -a '(__foldpack_paths)'
complete -c foldpack -n '__foldpack_at extract 1' -a '(__fish_complete_directories)'
