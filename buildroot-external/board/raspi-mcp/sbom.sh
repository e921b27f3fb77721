#!/bin/sh
# What is in an image, as CycloneDX 1.5: the packages of the system, and the crates our program is locked to. Called by post-image.sh
# with the folder of images. `packages` there has a line for each package: name, version, package URL. Without it they are those that
# Buildroot has installed into the target, by its folder of builds (BUILD_DIR).
set -eu

images=$1
# shellcheck source=buildroot-external/board/raspi-mcp/release.sh
. "$(dirname "$0")/release.sh"

packages() {
	if [ -f "$images/packages" ]; then
		cat "$images/packages"
		return
	fi
	for stamp in "$BUILD_DIR"/*/.stamp_target_installed; do
		folder=$(basename "$(dirname "$stamp")")
		# Versions begin with a digit; what has none is Buildroot's own skeleton.
		printf '%s\n' "$folder" | sed -n 's/^\(.*[^-]\)-\([0-9v][^-]*\)$/\1 \2 pkg:generic\/\1@\2/p'
	done
}

crates() {
	awk -F'"' '
		/^\[\[package\]\]/ { name = version = "" }
		/^name = / { name = $2 }
		/^version = / { version = $2 }
		/^checksum = / { print name, version, "pkg:cargo/" name "@" version, $2 }' "$top/Cargo.lock"
}

{
	packages
	crates
} | LC_ALL=C sort -u | awk -v product="$RASPI_MCP_PRODUCT" -v release="$RASPI_MCP_RELEASE" -v time="$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)" '
	function quoted(text) { gsub(/["\\]/, "\\\\&", text); return "\"" text "\"" }
	BEGIN {
		printf "{\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.5\",\"version\":1,\n\"metadata\":{\"timestamp\":\"%s\",", time
		printf "\"component\":{\"type\":\"operating-system\",\"name\":%s,\"version\":%s}},\n\"components\":[", quoted(product), quoted(release)
	}
	{
		printf "%s\n{\"type\":\"library\",\"bom-ref\":%s,\"name\":%s,\"version\":%s,\"purl\":%s", (NR > 1) ? "," : "", quoted($3), quoted($1), quoted($2), quoted($3)
		if ($4 != "") printf ",\"hashes\":[{\"alg\":\"SHA-256\",\"content\":%s}]", quoted($4)
		printf "}"
	}
	END { print "\n]}" }'
