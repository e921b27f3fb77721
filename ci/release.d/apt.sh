# shellcheck shell=bash
# A signed apt repository with one suite, "stable", and one component, "main" (https://wiki.debian.org/DebianRepository/Format).
# Sourced by ci/release, after ci/lib.sh.

# gpg_here HOME ARGUMENTS...: gpg with a key ring of its own, no questions, and the commit's date in what it signs.
gpg_here() {
  local home=$1
  shift
  gpg --homedir "$home" --batch --quiet --no-tty --faked-system-time "$SOURCE_DATE_EPOCH!" "$@" 2> >(grep -v "faked system time" >&2)
}

# end_gpg HOME: ends the agent that gpg has started for this key ring.
end_gpg() {
  if [ -d "$1" ]; then gpgconf --homedir "$1" --kill all; fi
}

# apt_repository INTO KEY HOME PACKAGE...: makes it, with the public key beside it. HOME is for the key ring, and does not exist yet.
apt_repository() {
  local into=$1 key=$2 home=$3 arch architectures fingerprint
  shift 3
  mkdir -p "$into/pool"
  install -m 644 -t "$into/pool" "$@"
  mapfile -t architectures < <(for deb; do dpkg-deb --field "$deb" Architecture; done | sort -u)
  (
    cd "$into" || exit
    for arch in "${architectures[@]}"; do
      mkdir -p "dists/stable/main/binary-$arch"
      apt-ftparchive --arch "$arch" packages pool >"dists/stable/main/binary-$arch/Packages"
      # -n: without a time.
      gzip -9n --keep "dists/stable/main/binary-$arch/Packages"
    done
    apt-ftparchive -o APT::FTPArchive::Release::Origin=raspi-mcp -o APT::FTPArchive::Release::Label=raspi-mcp \
      -o APT::FTPArchive::Release::Suite=stable -o APT::FTPArchive::Release::Codename=stable \
      -o APT::FTPArchive::Release::Components=main -o "APT::FTPArchive::Release::Architectures=${architectures[*]}" \
      release dists/stable | sed "s/^Date: .*/Date: $(LC_ALL=C date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S UTC')/" >Release
    mv Release dists/stable/Release
  )
  install -d -m 700 "$home"
  gpg_here "$home" --import "$key" || die "gpg does not take the key $key: export it with gpg --export-secret-keys --armor"
  fingerprint=$(gpg_here "$home" --with-colons --list-secret-keys | awk -F: '/^fpr/ {print $10; exit}')
  [ -n "$fingerprint" ] || die "$key has no secret key: export it with gpg --export-secret-keys --armor"
  gpg_here "$home" --local-user "$fingerprint" --digest-algo SHA256 --clearsign --output "$into/dists/stable/InRelease" "$into/dists/stable/Release" ||
    die "the apt repository was not signed: is the key $key without passphrase, and older than the commit?"
  gpg_here "$home" --local-user "$fingerprint" --digest-algo SHA256 --armor --detach-sign --output "$into/dists/stable/Release.gpg" "$into/dists/stable/Release"
  gpg_here "$home" --export "$fingerprint" >"$into/raspi-mcp.gpg"
}
