#!/bin/sh
# install_packages.sh LIST...: installs the Debian packages of tools/packages/LIST.txt that are
# missing. Needs no root and says nothing when none is missing. Otherwise it prints the packages and
# the command, and runs that command as root or by sudo (which asks for the password, except where
# CI is set). SEPTULE_PACKAGES_DIR replaces tools/packages (for tests).
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
lists=${SEPTULE_PACKAGES_DIR:-$here/packages}

say() { printf '%s\n' "$*" >&2; }

if [ "$#" -eq 0 ]; then
  say "usage: install_packages.sh LIST..., where LIST is one of:"
  for file in "$lists"/*.txt; do say "  $(basename "$file" .txt)"; done
  exit 2
fi

wanted=''
for list in "$@"; do
  if [ ! -r "$lists/$list.txt" ]; then
    say "install_packages.sh: there is no package list \"$list\" ($lists/$list.txt)"
    exit 2
  fi
  wanted="$wanted $(sed 's/#.*//' "$lists/$list.txt" | tr '\n' ' ')"
done

if ! command -v dpkg-query >/dev/null 2>&1; then
  say "This is not a Debian system, so packages are not looked after. Needed, by Debian's names:"
  say " $wanted"
  exit 0
fi

missing=''
for package in $wanted; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  case "$status" in
    installed*) ;;
    *) missing="$missing $package" ;;
  esac
done
if [ -z "$missing" ]; then
  exit 0
fi

say "Packages that are missing:$missing"
say "To install them, as root:"
say "  apt-get update && apt-get install -y --no-install-recommends$missing"

if [ "$(id -u)" -eq 0 ]; then
  as_root=''
elif ! command -v sudo >/dev/null 2>&1; then
  say "This is not root, and there is no sudo here: run the command above as root, then go on."
  exit 1
elif [ -n "${CI:-}" ] || [ ! -t 2 ]; then
  as_root='sudo -n'
else
  as_root='sudo'
  say "This is not root: sudo may ask for your password."
fi

# shellcheck disable=SC2086  # as_root and missing are lists of words
{
  if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update \
    </dev/null >&2; then
    say "apt-get update failed (see above); going on with the package lists that are there."
  fi
  if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 install -y --no-install-recommends $missing </dev/null >&2; then
    say "The packages could not be installed:$missing. apt-get says why above."
    exit 1
  fi
}
