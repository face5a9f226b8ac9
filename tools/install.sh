#!/bin/sh
# install.sh BINARY PREFIX: installs the program, its man pages and its shell completions. Man pages
# and completions are written by the program itself, from its option records. The training program
# septule-train goes with it if it was built beside BINARY.
set -eu

if [ "$#" -ne 2 ]; then
  echo "usage: install.sh BINARY PREFIX" >&2
  exit 2
fi
binary=$1
prefix=$2
bash_dir=$prefix/share/bash-completion/completions
zsh_dir=$prefix/share/zsh/site-functions
fish_dir=$prefix/share/fish/vendor_completions.d
man_dir=$prefix/share/man/man1

if ! mkdir -p "$prefix/bin" "$bash_dir" "$zsh_dir" "$fish_dir" "$man_dir"; then
  echo "install.sh: cannot write under $prefix; run as root, or choose another PREFIX=" >&2
  exit 1
fi
install -m 755 "$binary" "$prefix/bin/septule"
trainer=$(dirname "$binary")/septule-train
if [ -x "$trainer" ]; then
  install -m 755 "$trainer" "$prefix/bin/septule-train"
  echo "installed septule-train beside it"
fi
"$binary" completion bash >"$bash_dir/septule"
"$binary" completion zsh >"$zsh_dir/_septule"
"$binary" completion fish >"$fish_dir/septule.fish"
"$binary" man --directory "$man_dir"
echo "installed septule, its man pages and completions under $prefix"
