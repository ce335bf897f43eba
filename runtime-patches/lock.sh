#!/bin/sh
# Makes the hash-locked requirement files anew. Needs `uv` on the path (or in $UV).
set -eu
cd "$(dirname "$0")"
uv="${UV:-uv}"
lock() { # platform-name file
    common="--python-version 3.11 --python-platform $1 --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links --no-config --quiet"
    {
        echo "# Made by lock.sh from requirements.in and mlx-vlm.in. Install with --no-deps --require-hashes."
        # shellcheck disable=SC2086
        "$uv" pip compile $common requirements.in
        # shellcheck disable=SC2086
        "$uv" pip compile $common --no-deps mlx-vlm.in
    } >"$2.new"
    mv "$2.new" "$2"
}
lock x86_64-manylinux_2_35 requirements-linux-x86_64.txt
lock aarch64-manylinux_2_35 requirements-linux-aarch64.txt
MACOSX_DEPLOYMENT_TARGET=14.0
export MACOSX_DEPLOYMENT_TARGET
lock aarch64-apple-darwin requirements-macos-arm64.txt
