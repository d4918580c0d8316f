#!/usr/bin/env bash
# installation.sh CHECKOUT BUILD_FOLDER PART: what `cmake --install` makes of a build is complete and works elsewhere.
#
#   program       a prefix that was moved: the program with its catalogue, manual page and completions
#   consumer      a project outside (tests/consumer) finds the library there, links it, runs
#   examples      the examples of docs/library.md do what it says; ```cpp blocks, each followed by what it prints
#   subdirectory  a project that takes this one in keeps its own flags and gets no tests of ours
#   package       the Debian package needs no -dev package, and what is in it runs
set -euo pipefail
checkout=$(realpath "$1") build=$(realpath "$2") part=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset ORRERY_CATALOG

fail() {
  printf 'installation: %s\n' "$*" >&2
  exit 1
}
quietly() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "failed: $*"; }; }
configured() { quietly cmake -S "$1" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug "${@:2}"; }

# The installation, in a prefix that was moved.
prefix=$scratch/moved
installed() {
  quietly cmake --install "$build" --prefix "$scratch/first"
  mv "$scratch/first" "$prefix"
  library=$(find "$prefix" -name liborrery.a)
}

program() {
  installed
  [[ $("$prefix/bin/orrery" doctor) == *"$prefix/share/orrery/catalog"* ]] || fail "the catalogue is another one"
  [[ $("$prefix/bin/orrery" map --chip gemmini --gemm 512,64,512) == *optimal* ]] || fail "map proves nothing"
  local file
  for file in share/man/man1/orrery.1 share/bash-completion/completions/orrery share/zsh/site-functions/_orrery \
    share/fish/vendor_completions.d/orrery.fish share/doc/orrery/copyright include/orrery/orrery.h; do
    [[ -s $prefix/$file ]] || fail "there is no $file"
  done
  local page link
  while read -r page link; do
    [[ -e $(dirname "$page")/$link ]] || fail "$page links to $link, which is not installed"
  done < <(grep -roE '\]\([^)#: ]+' --include='*.md' "$prefix/share/doc/orrery" | sed 's/:](/ /')
  ! find "$prefix" -name '*_test*' -o -name '*_bench*' | grep . || fail "tests are installed"
  ! command -v groff >/dev/null || [[ -z $(groff -man -Tutf8 -ww -z "$prefix/share/man/man1/orrery.1" 2>&1) ]] ||
    fail "groff has something to say of the manual page"

  mv "$prefix/share/orrery" "$scratch/hidden"
  [[ $("$prefix/bin/orrery" catalog 2>&1) == *O1110* ]] || fail "without its catalogue it reads another one"
  mv "$scratch/hidden" "$prefix/share/orrery"

  # Every option of every verb is in the manual page and offered.
  PATH=$prefix/bin:$PATH # completions ask the program for names
  # shellcheck disable=SC1091
  source "$prefix/share/bash-completion/completions/orrery"
  local verb option manual
  manual=$(sed 's/\\-/-/g' "$prefix/share/man/man1/orrery.1")
  complete_words() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _orrery
  }
  complete_words orrery ''
  for verb in "${COMPREPLY[@]}"; do
    [[ $verb != -* ]] || continue
    complete_words orrery "$verb" --
    for option in $("$prefix/bin/orrery" "$verb" --help | grep -oE '^ +(-[a-z],)?--[a-z0-9_-]+' | grep -oE -e '--[a-z0-9_-]+'); do
      [[ " ${COMPREPLY[*]} " == *" $option "* ]] || fail "bash does not offer $option of $verb"
      [[ $manual == *"$option"* ]] || fail "no $option in the manual page"
      grep -q -e " -l ${option#--} " "$prefix/share/fish/vendor_completions.d/orrery.fish" || fail "fish: no $option"
      grep -q -e "'\*$option\[" "$prefix/share/zsh/site-functions/_orrery" || fail "zsh: no $option"
    done
  done
  ! command -v zsh >/dev/null || zsh -n "$prefix/share/zsh/site-functions/_orrery" || fail "zsh does not understand"
  ! command -v fish >/dev/null || fish -n "$prefix/share/fish/vendor_completions.d/orrery.fish" ||
    fail "fish does not understand"

  complete_words orrery map --chip ''
  [[ " ${COMPREPLY[*]} " == *" gemmini "* && " ${COMPREPLY[*]} " != *" bert-base "* ]] || fail "bash: --chip offers other names"
  complete_words orrery train --schedule ''
  [[ " ${COMPREPLY[*]} " == *" 1f1b "* ]] || fail "bash: --schedule offers no values"

  # Position-independent: all of it goes into a shared library.
  quietly g++ -shared -o "$scratch/all.so" -Wl,--whole-archive "$library" -Wl,--no-whole-archive
}

consumer() {
  installed
  cp -r "$checkout/tests/consumer" "$scratch/consumer"
  configured "$scratch/consumer" "-DCMAKE_PREFIX_PATH=$prefix"
  quietly cmake --build "$scratch/consumer/build"
  [[ $(cd / && "$scratch/consumer/build/consumer") == *", proven" ]] || fail "the consumer proves nothing"
}

examples() {
  installed
  local folder=$scratch/examples
  mkdir "$folder"
  sed 's/consumer\.cc/examples.cc/' "$checkout/tests/consumer/CMakeLists.txt" >"$folder/CMakeLists.txt"
  # One function an example; a line of its own tells their outputs apart.
  awk -v folder="$folder" '
    BEGIN { print "#include <cstdio>\n#include <string>\n#include <utility>\n#include \"orrery/orrery.h\"" }
    /^```cpp/ { inside = 1; printf "#line %d \"docs/library.md\"\nstatic void example%d() {\n", NR + 1, ++count; next }
    /^```text/ { shown = 1; printf "=== %d\n", count >(folder "/expected"); next }
    /^```/ { if (inside) print "}"; inside = shown = 0; next }
    inside { print }
    shown { print >(folder "/expected") }
    END {
      print "int main() {"
      for (i = 1; i <= count; i++) printf "  std::puts(\"=== %d\");\n  example%d();\n", i, i
      print "}"
    }' "$checkout/docs/library.md" >"$folder/examples.cc"
  configured "$folder" "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_CXX_FLAGS=-DEXAMPLES='\"$checkout/examples\"'"
  quietly cmake --build "$folder/build"
  ORRERY_CATALOG=$prefix/share/orrery/catalog "$folder/build/consumer" >"$folder/printed"
  awk -f "$checkout/tests/match.awk" "$folder/expected" "$folder/printed" || {
    cat "$folder/printed"
    fail "docs/library.md shows something else"
  }
}

subdirectory() {
  local folder=$scratch/parent
  cp -r "$checkout/tests/consumer" "$folder"
  sed -i "s,find_package(orrery REQUIRED),add_subdirectory($checkout orrery EXCLUDE_FROM_ALL)," "$folder/CMakeLists.txt"
  configured "$folder" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
  quietly cmake --build "$folder/build" --target orrery_base
  ! ninja -C "$folder/build" -t targets all | grep -E 'orrery_[a-z_]+_(tests|bench):' || fail "tests of ours are built"
  ! grep -B1 'consumer\.cc"' "$folder/build/compile_commands.json" | grep -E -e '-W|-O3' || fail "flags of ours are forced on it"
  [[ $(ninja -C "$folder/build" -t commands consumer | tail -n 1) == *liborrery.a* ]] || fail "it does not link the library"
}

package() {
  if ! command -v dpkg-shlibdeps >/dev/null || ! command -v file >/dev/null; then
    echo "dpkg-dev or file is not installed: no package was made"
    exit 77
  fi
  quietly cpack --config "$build/CPackConfig.cmake" -B "$scratch"
  local package needs
  package=$(find "$scratch" -maxdepth 1 -name '*.deb')
  needs=$(dpkg-deb --field "$package" Depends)
  printf 'Depends: %s\n' "$needs"
  [[ $needs == *libc6* && $needs != *-dev* ]] || fail "the package depends on: $needs"
  dpkg-deb --extract "$package" "$scratch/root"
  [[ $("$scratch/root/usr/bin/orrery" doctor) == *"$scratch/root/usr/share/orrery/catalog"* ]] || fail "it has no catalogue"
  [[ $("$scratch/root/usr/bin/orrery" map --chip gemmini --gemm 512,64,512) == *optimal* ]] || fail "map proves nothing"
}

"$part"
