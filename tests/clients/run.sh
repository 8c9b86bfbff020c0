#!/bin/sh
# run.sh [--no-fuse] [PYTEST OPTION..]: the oracle against current releases of torch and of what is
# built on it, over the programs in FOLDFS_BUILD. With --no-fuse, the loaders and frameworks of the
# matrix read without a mount. Orders under drawn seeds take searches of all seeds, which get hardly
# more than idle processors: beside other work they are not found in the 300 s that a test waits.
#
# They are installed by pip into a folder of their own, ${XDG_CACHE_HOME:-~/.cache}/foldfs/clients,
# once; remove it to have newer ones. FOLDFS_CLIENTS is another interpreter to use, which may lack
# some of them (/usr/bin/python3: Debian's torch): what is missing is skipped.
set -eu
cd "$(dirname "$0")/../.."

venv=${XDG_CACHE_HOME:-$HOME/.cache}/foldfs/clients
wheels=https://download.pytorch.org/whl/cpu
wanted='timm accelerate lightning transformers datasets nbclient ipykernel moto[server]'

say() {
    printf 'clients: %s\n' "$*" >&2
}

give_up() {
    say "$@"
    exit 1
}

quietly_install() {
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# Torch for processors only is a tenth of the size, and is not on PyPI.
install() {
    say "installing torch, $wanted into $venv; this takes some minutes, and up to 6 GB"
    python3 -m venv "$venv" || give_up "'python3 -m venv' fails; on Debian, install python3-venv"
    quietly_install pytest || give_up "pip cannot install pytest; is the network there?"
    quietly_install --retries 0 torch torchvision --index-url "$wheels" 2>/dev/null ||
        quietly_install torch torchvision ||
        give_up "pip cannot install torch; FOLDFS_CLIENTS=/usr/bin/python3 takes Debian's"
    for name in $wanted; do
        quietly_install "$name" || say "$name cannot be installed: its tests are skipped"
    done
    touch "$venv/installed"
}

python=${FOLDFS_CLIENTS:-$venv/bin/python}
if [ -z "${FOLDFS_CLIENTS:-}" ] && [ ! -e "$venv/installed" ]; then
    install
fi

tests=tests/clients
if [ "${1:-}" = --no-fuse ]; then
    shift
    set -- -p without_fuse -k 'not without_a_pid' "$@"
    tests='tests/clients/test_frameworks.py tests/clients/test_matrix.py'
fi

# The fixtures are those of the mount tests.
# shellcheck disable=SC2086  # words
PYTHONPATH=tests/mount:tests/clients exec "$python" -B -m pytest -q -p no:cacheprovider \
    -p conftest --rootdir=tests/clients $tests "$@"
