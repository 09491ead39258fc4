#!/bin/sh
# Creates or updates the environment in .venv.
#
#   tools/setup_env.sh run     what a bake needs
#   tools/setup_env.sh dev     also what the tests and checks need, system packages included
#
# PYTHON names the interpreter to use (default: python3).
set -eu
cd "$(dirname "$0")/.."

kind=${1:-run}
python=${PYTHON:-python3}

fail() {
    echo "setup: $*" >&2
    exit 1
}

# Installs Debian packages where that is allowed without a password; otherwise names them and stops.
install_packages() {
    if ! command -v apt-get >/dev/null 2>&1; then
        fail "needed and missing: $* (the names are Debian's; install them and run again)"
    elif [ "$(id -u)" = 0 ]; then
        as_root="env DEBIAN_FRONTEND=noninteractive"
    elif sudo -n true 2>/dev/null; then
        as_root="sudo -n env DEBIAN_FRONTEND=noninteractive"
    else
        fail "needed and missing: $*; run 'sudo apt-get install $*' and try again"
    fi
    echo "Installing system packages: $*"
    { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends "$@"; } \
        </dev/null >/dev/null || fail "apt-get could not install: $*"
}

case $kind in
    run) what=. ;;
    dev) what='.[dev]' ;;
    *) fail "unknown kind of environment: $kind (run or dev)" ;;
esac

command -v "$python" >/dev/null 2>&1 || fail "$python not found; Python 3.11 or newer is needed"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" --version) is too old; Python 3.11 or newer is needed (PYTHON=... names another one)"

if ! .venv/bin/python -c 'import pip' >/dev/null 2>&1; then
    if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
        install_packages "$("$python" -c 'import sys; print("python3.%d-venv" % sys.version_info[1])')"
    fi
    "$python" -m venv --clear .venv
fi

if [ "$kind" = dev ] && command -v dpkg-query >/dev/null 2>&1; then
    missing=
    for package in $(grep -v '^#' tools/system_packages.txt); do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    # shellcheck disable=SC2086 # a list of names
    [ -z "$missing" ] || install_packages $missing
fi

echo "Installing usd-sim into .venv (the first time, this downloads several hundred megabytes)"
.venv/bin/python -m pip install -qq --disable-pip-version-check --editable "$what"
