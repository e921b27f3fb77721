# shellcheck shell=sh disable=SC2034
# What this image is a release of; the environment overrules it. Sourced by post-build.sh, root-image.sh,
# post-image.sh and sbom.sh.
#   RASPI_MCP_PRODUCT   devices take updates of their own product only
#   RASPI_MCP_RELEASE   the version of the image (semantic), the program's unless told
#   RASPI_MCP_COUNTER   rises with every release of the product
#   RASPI_MCP_TRUST     root.json of `raspi-mcp bundle trust`: whose updates are taken; without one none are
#   RASPI_MCP_EXPIRES   from when on the bundle is not installed any more
#   RASPI_MCP_LEVEL     how hard zstd works on the bundle
#   RASPI_MCP_BLOCK     bytes of a block of the update, and of a cluster of the root file system (root-image.sh)
#   RASPI_MCP_HOST      our program for the computer that builds
#   SOURCE_DATE_EPOCH   when it was made
top=$(cd "$(dirname "$0")/../../.." && pwd)
: "${RASPI_MCP_PRODUCT:=raspi-mcp}"
: "${RASPI_MCP_RELEASE:=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$top/Cargo.toml" | head -n 1)}"
: "${RASPI_MCP_COUNTER:=1}"
: "${RASPI_MCP_TRUST:=}"
: "${RASPI_MCP_LEVEL:=15}"
: "${RASPI_MCP_BLOCK:=65536}"
: "${RASPI_MCP_HOST:=${HOST_DIR:-/usr}/bin/raspi-mcp}"
: "${SOURCE_DATE_EPOCH:=$(git -C "$top" log -1 --format=%ct)}"
# Two years.
: "${RASPI_MCP_EXPIRES:=$((SOURCE_DATE_EPOCH + 63072000))}"
export SOURCE_DATE_EPOCH

# file_of BOARD NAME: where a file that board.env names comes from: made for this image, or of the board's folder.
file_of() {
	if [ -e "$BINARIES_DIR/$2" ]; then echo "$BINARIES_DIR/$2"; else echo "$1/$2"; fi
}

# fat IMAGE SIZE LABEL BOARD FILE...: a FAT with these files, the same bytes each time.
fat() {
	image=$1 size=$2 label=$3 from=$4
	shift 4
	files=$(mktemp -d)
	for name; do cp -RL "$(file_of "$from" "$name")" "$files/"; done
	find "$files" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
	rm -f "$image"
	truncate -s "$size" "$image"
	mkfs.fat --invariant -n "$label" "$image" >/dev/null
	mcopy -s -m -i "$image" "$files"/* ::
	rm -rf "$files"
}
