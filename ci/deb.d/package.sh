# shellcheck shell=bash
# How a Debian package is made from a prepared folder, and the list of what is in it. Sourced by ci/deb and ci/selftest, after ci/cross.d/rust.sh.

# version_and_date: sets VERSION, and the date of all files. The same commit produces the same package.
version_and_date() {
  VERSION=$(sed -n '/^\[workspace\.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
  [ -n "$VERSION" ] || die "Cargo.toml has no version"
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
}

# debian_name MACHINE: Debian's word for it.
debian_name() {
  case $1 in
    aarch64) echo arm64 ;;
    armv7) echo armhf ;;
    x86_64) echo amd64 ;;
  esac
}

# source_tree TREE NAME: adds to TREE/debian, which has control and rules, what follows from the version and the commit.
source_tree() {
  local tree=$1 name=$2
  mkdir -p "$tree/debian/source"
  echo '3.0 (native)' >"$tree/debian/source/format"
  printf '%s (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the source.\n\n -- %s  %s\n' "$name" "$VERSION" \
    "$(sed -n 's/^Maintainer: //p' "$tree/debian/control")" "$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")" \
    >"$tree/debian/changelog"
}

# build_deb MACHINE TREE NAME BINARY: builds NAME from TREE, into build/deb. BINARY says which glibc the package depends on.
build_deb() {
  local machine=$1 tree=$2 name=$3 arch glibc log=$2.log
  arch=$(debian_name "$machine")
  glibc=$(glibc_needed "$4")
  (cd "$tree" && GLIBC=$glibc dpkg-buildpackage --host-arch "$arch" --build=binary --no-check-builddeps --unsigned-changes \
    --unsigned-buildinfo) >"$log" 2>&1 || {
    cat "$log" >&2
    die "the package $name for $machine was not built"
  }
  rm -f "$BUILD/deb/${name}"_*_"$arch".{deb,cdx.json}
  mv "$(dirname "$tree")/${name}_${VERSION}_$arch.deb" "$BUILD/deb/"
}

# list_contents MACHINE DEB BINARY CARGO-TREE-OPTION...: writes the list of what is in DEB, beside it.
list_contents() {
  local machine=$1 deb=$2 binary=$3 locks=("$RUST"/usr/src/rustc-*/library/Cargo.lock)
  shift 3
  need_rust
  ci/deb.d/contents.py "$deb" "$binary" "${locks[0]}" --target "$(rust_triple "$machine")" "$@" >"${deb%.deb}.cdx.json.part" ||
    die "there is no list of what is in $deb"
  mv "${deb%.deb}.cdx.json.part" "${deb%.deb}.cdx.json"
}

# lint_deb MACHINE DEB: checks it with lintian, and says what it is.
lint_deb() {
  lintian --allow-root --fail-on error,warning "$2" || die "lintian reports errors or warnings for $2"
  printf '%-8s %s, %s, %s parts listed, depends on %s\n' "$1" "$(basename "$2")" "$(numfmt --to=iec-i --suffix=B "$(stat -c %s "$2")")" \
    "$(grep -c '"type": "library"' "${2%.deb}.cdx.json")" "$(dpkg-deb --field "$2" Depends)"
}
