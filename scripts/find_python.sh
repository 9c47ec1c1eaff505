#!/bin/sh
# Prints a Python >= 3.11 that can make virtual environments; says on stderr what is missing if there is none.
# PYTHON=... decides alone; else the one that the last set-up used, else the usual names.
check='import sys; sys.exit(2 if sys.version_info < (3, 11) else 0)'
parts='import ensurepip, venv'
note="$(dirname "$0")/../.build/python"

try() { "$1" -I -S -c "$check" </dev/null >/dev/null 2>&1; }

if [ -n "${PYTHON:-}" ]; then
    if try "$PYTHON"; then echo "$PYTHON"; exit 0; fi
    echo "set-up: PYTHON=$PYTHON is not a Python >= 3.11 that runs; name another one" >&2
    exit 1
fi

last=
if [ -r "$note" ]; then last=$(cat "$note"); fi
if [ -n "$last" ] && try "$last"; then echo "$last"; exit 0; fi

incomplete=
for name in python3.13 python3.12 python3.11 python3.14 python3; do
    command -v "$name" >/dev/null 2>&1 || continue
    try "$name" || continue
    if "$name" -I -c "$parts" </dev/null >/dev/null 2>&1; then echo "$name"; exit 0; fi
    incomplete=${incomplete:-$name}
done

# setup.py explains what is missing in an incomplete Python.
if [ -n "$incomplete" ]; then echo "$incomplete"; exit 0; fi

found=$(python3 --version 2>&1) || found="no python3"
echo "set-up: Python 3.11 or newer is needed, found $found; install one (Debian, Ubuntu: apt install python3 python3-venv; macOS: brew install python) or name it: make PYTHON=/path/to/python" >&2
exit 1
