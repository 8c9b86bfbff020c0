# completion.zsh COMPLETION LINE..: what zsh offers at the end of each line: one word a line, and a
# line "." after those of each.
zmodload zsh/zpty
scratch=$(mktemp -d) || exit
trap 'rm -rf $scratch' EXIT
cp $1 $scratch/_foldfs
shift
export PATH
zpty shell zsh -f -i
expect() {
    local line
    while zpty -r shell line "*$1*"; do
        [[ $line == *$1* ]] && return
    done
}
# Whatever is offered goes through compadd; the lists that it fills for its callers are not offered.
cat >$scratch/setup <<'END'
unset HISTFILE
fpath=($scratch $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-[OAD]\ * ]]; then
        builtin compadd "$@"
        return
    fi
    local -a offered
    builtin compadd -A offered "$@"
    print -rl -- $offered >>$scratch/offered
    builtin compadd "$@"
}
complete-and-clear() {
    zle complete-word
    BUFFER=
    print . >>$scratch/offered
    print -n "complete"d
}
zle -N complete-and-clear
bindkey '^I' complete-and-clear
zstyle ':completion:*' completer _complete
LISTMAX=100000
print set" "up
END
zpty -w shell "scratch=$scratch; source $scratch/setup"
expect "set up"
for line; do
    zpty -n -w shell $line$'\t'
    expect completed
done
cat $scratch/offered
