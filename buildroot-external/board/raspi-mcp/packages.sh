#!/bin/sh
# The packages of an image, a line for each: name, version, package URL. Called with the folder of images by post-build.sh, for
# /usr/share/raspi-mcp/packages, and by sbom.sh. A file `packages` in that folder is it; without one, they are those that Buildroot has
# installed into the target, by its folder of builds (BUILD_DIR).
set -eu

images=$1
{
	if [ -f "$images/packages" ]; then
		cat "$images/packages"
	else
		for stamp in "$BUILD_DIR"/*/.stamp_target_installed; do
			folder=$(basename "$(dirname "$stamp")")
			# Versions begin with a digit; what has none is Buildroot's own skeleton.
			printf '%s\n' "$folder" | sed -n 's/^\(.*[^-]\)-\([0-9v][^-]*\)$/\1 \2 pkg:generic\/\1@\2/p'
		done
	fi
} | LC_ALL=C sort -u
