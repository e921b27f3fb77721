#!/bin/sh
# What is in an image, as CycloneDX 1.5: the packages of the system, and the crates our program is locked to. Called by post-image.sh
# with the folder of images, in which packages.sh finds the former.
set -eu

images=$1
# shellcheck source=buildroot-external/board/raspi-mcp/release.sh
. "$(dirname "$0")/release.sh"

crates() {
	awk -F'"' '
		/^\[\[package\]\]/ { name = version = "" }
		/^name = / { name = $2 }
		/^version = / { version = $2 }
		/^checksum = / { print name, version, "pkg:cargo/" name "@" version, $2 }' "$top/Cargo.lock"
}

{
	"$(dirname "$0")/packages.sh" "$images"
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
