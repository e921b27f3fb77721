# shellcheck shell=bash
# Downloads Debian packages that must not be installed on this machine: of arm64, and of backports. apt uses separate lists and
# sources below build/apt; the system's are not changed. Sourced, after ci/lib.sh.

DEBIAN_APT=$BUILD/apt
HOST_ARCH=$(dpkg --print-architecture)

# Options for apt-get and apt-cache that add arm64 and backports.
DEBIAN_OPTIONS=(-o "Dir::Etc::SourceList=$DEBIAN_APT/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$DEBIAN_APT/lists" -o "Dir::Cache=$DEBIAN_APT/cache" -o APT::Sandbox::User=
  # Debian's container images switch these off, and then each call reads all lists: 2 s of processor time.
  -o Dir::Cache::pkgcache=pkgcache.bin -o Dir::Cache::srcpkgcache=srcpkgcache.bin
  -o "APT::Architectures::=$HOST_ARCH" -o APT::Architectures::=arm64)

# debian_update: downloads the lists, once per run.
debian_update() {
  if [ -n "${DEBIAN_UPDATED:-}" ]; then return; fi
  mkdir -p "$DEBIAN_APT/lists/partial" "$DEBIAN_APT/cache/archives/partial"
  # A new machine has no lists, and apt names the sources of those only.
  if [ "$(id -u)" = 0 ] && ! compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then apt-get -qq update; fi
  debian_sources >"$DEBIAN_APT/sources.list"
  apt-get "${DEBIAN_OPTIONS[@]}" -qq update
  DEBIAN_UPDATED=yes
}

# The main archives of this machine's own mirror, and their backports.
debian_sources() {
  local codename
  # shellcheck source=/dev/null
  codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
  # The words in $( ) are apt's, not the shell's.
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI) $(COMPONENT)' 'Created-By: Packages' |
    awk -v here="$codename" '
      $1 == "Debian" && $4 == "main" && index($2, here) == 1 { print "deb", $3, $2, "main" }
      $1 == "Debian" && $4 == "main" && $2 == here { print "deb", $3, here "-backports main"; found = 1 }
      END { exit !found }' | sort -u ||
    die "apt on this machine has no Debian main archive of \"$codename\": run apt-get update, on Debian 12 or newer"
}

# debian_unpack INTO PACKAGE...: downloads packages and unpacks them into a fresh folder, kept until that is deleted.
# Packages may be NAME, NAME:ARCH or NAME/SUITE; all names of one call come from the same state of the archive.
debian_unpack() {
  local into=$1 debs=$1.debs deb
  shift
  if [ -s "$into/.packages" ]; then return; fi
  debian_update
  say "downloading from Debian: $*"
  rm -rf "$into" "$debs"
  mkdir -p "$into" "$debs"
  (cd "$debs" && apt-get "${DEBIAN_OPTIONS[@]}" -qq download "$@")
  for deb in "$debs"/*.deb; do dpkg-deb --extract "$deb" "$into"; done
  (cd "$debs" && printf '%s\n' *.deb) >"$into/.packages"
  rm -rf "$debs"
}

# debian_suite PACKAGE: prints the suite with its newest version.
debian_suite() {
  apt-cache "${DEBIAN_OPTIONS[@]}" madison "$1" |
    awk -F'|' '{ split($3, from, " "); sub("/.*", "", from[2]); print from[2]; exit }'
}
