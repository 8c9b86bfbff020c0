#!/bin/sh
# loaders.sh VENV: makes the venv that tests/bench/loaders.py runs in.
#
# It is made once, by pip; remove it to have newer ones. What cannot be installed is not measured:
# FFCV is compiled, which takes g++, libopencv-dev and libturbojpeg0-dev.
set -eu

venv=$1
wheels=https://download.pytorch.org/whl/cpu
# MosaicML asks for an older huggingface_hub than datasets, and runs with the newer.
wanted='lmdb webdataset mosaicml-streaming litdata spdl torchdata datasets transformers'

say() {
    printf 'loaders: %s\n' "$*" >&2
}

quietly_install() {
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
}

[ ! -e "$venv/installed" ] || exit 0
say "installing torch, $wanted, ffcv into $venv; this takes some minutes, and up to 7 GB"
if ! python3 -m venv "$venv"; then
    say "'python3 -m venv' fails; on Debian, install python3-venv"
    exit 1
fi
if ! quietly_install --retries 0 torch torchvision --index-url "$wheels" 2>/dev/null &&
    ! quietly_install torch torchvision; then
    say "pip cannot install torch; is the network there?"
    exit 1
fi
for name in $wanted; do
    quietly_install --upgrade "$name" 2>/dev/null || say "$name cannot be installed"
done
quietly_install setuptools wheel numba opencv-python-headless || :
quietly_install --no-build-isolation ffcv >"$venv/ffcv.log" 2>&1 ||
    say "ffcv does not build here: $venv/ffcv.log"
touch "$venv/installed"
