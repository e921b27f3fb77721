# shellcheck shell=bash
# ROOT, BUILD and work belong to whoever sources it.
# shellcheck disable=SC2153,SC2154
# The delta of the image that is shipped, with its hash tree. Sourced by ci/bench-delta.

BOARDS=$ROOT/buildroot-external/board/raspi-mcp
tree=$BUILD/image/target
[ -x "$tree/usr/bin/raspi-mcp" ] || ci/image
read -ra seeds <<<"${SEEDS:-1 2 3 4 5}"

# verity IMAGE: the hash tree behind it, as post-image.sh makes it.
verity() {
  local blocks salt
  salt=$(sed -n 's/^SALT=//p' "$BOARDS/post-image.sh")
  truncate -s %4096 "$1"
  blocks=$(($(stat -c %s "$1") / 4096))
  veritysetup format --no-superblock --hash sha256 --salt "$salt" --data-blocks "$blocks" --hash-offset $((blocks * 4096)) "$1" "$1" >/dev/null
}

# image FORMAT TREE OUT: FORMAT is erofs, which was shipped up to 0.1.0, or ext4 and the bytes of its clusters.
image() {
  rm -f "$3"
  case $1 in
    erofs) mkfs.erofs --quiet --all-root -T0 -U 72617370-692d-6d63-702d-62656e636800 "$3" "$2" >/dev/null 2>&1 ;;
    *) RASPI_MCP_BLOCK=${1#ext4-} "$BOARDS/root-image.sh" --all-root "$2" "$3" ;;
  esac
  verity "$3"
}

# row OLD NEW: image, index, bundle, delta and share of each format, where blocks are as large as clusters.
row() {
  local format block
  for format in ${FORMATS:-erofs:65536 erofs:4096 ext4-65536:65536 ext4-32768:32768 ext4-16384:16384}; do
    block=${format#*:} format=${format%:*}
    image "$format" "$1" "$work/old.img"
    image "$format" "$2" "$work/new.img"
    compare "$work/old.img" "$work/new.img" "$block" | awk -v name="$format" '{ printf "  %-11s blocks of %6d: image %6.1f MB, index %5.0f kB, bundle %5.2f MB, delta %5.2f MB, %s\n",
      name, $1, $4 / 1e6, $5 / 1e3, $6 / 1e6, $7 / 1e6, $8 }'
  done
  rm -f "$work/old.img" "$work/new.img"
}

# packages_of VERSION INTO: what ci/image unpacks, of the last point release alone (old), or with all updates since (new).
packages_of() (
  . ci/debian.sh
  . ci/image.d/root.sh
  IMAGE=$work/packages-$1 DEBIAN_APT=$work/apt-$1 DEBIAN_UPDATED=''
  DEBIAN_OPTIONS=("${DEBIAN_OPTIONS[@]//$BUILD\/apt/$DEBIAN_APT}")
  mkdir -p "$IMAGE"
  if [ "$1" = old ]; then
    eval "all_$(declare -f debian_sources)"
    # shellcheck source=/dev/null
    debian_sources() { all_debian_sources | awk -v here="$(. /etc/os-release && printf %s "$VERSION_CODENAME")" '$3 == here'; }
  fi
  need_base
  rm -rf "$2"
  cp -a "$IMAGE/base" "$2"
  install -D -m 755 "$tree/usr/bin/raspi-mcp" "$2/usr/bin/raspi-mcp"
)

for seed in "${seeds[@]}"; do
  say "5 % of the files changed, with other sizes (seed $seed): $(python3 -B ci/bench.d/change_files.py some "$tree" "$work/new" 0.05 "$seed")"
  row "$tree" "$work/new"
done
say "only our program replaced: $(python3 -B ci/bench.d/change_files.py one "$tree" "$work/new" usr/bin/raspi-mcp)"
row "$tree" "$work/new"
packages_of old "$work/old"
packages_of new "$work/new"
say "the distribution's updates since its last point release: $(diff "$work/packages-old/packages" "$work/packages-new/packages" | grep -c '^>' || true) of $(wc -l <"$work/packages-new/packages") packages"
row "$work/old" "$work/new"
