#!/bin/sh
# A publisher's work, for the tour of docs/first-update.md: sh dist/examples/release.sh VERSION COUNTER TEXT
# In the folder RASPI_MCP_TOUR, which build/serve/env names: keys and a root of trust the first time; then a release for the simulated Raspberry Pi, whose
# root file system is TEXT, and the channel that offers it. Real keys are made on a machine that is not in a network, and several must sign.
set -eu
folder=${RASPI_MCP_TOUR:?is not set: run ". build/serve/env" first, which ./ci/serve --tour writes}
mkdir -p "$folder/web"
cd "$folder"
SOURCE_DATE_EPOCH=$(date +%s)
export SOURCE_DATE_EPOCH
expires=$((SOURCE_DATE_EPOCH + 30 * 86400))

if [ ! -e root.signed ]; then
  for name in owner release channel; do raspi-mcp bundle keygen "$name"; done
  raspi-mcp bundle trust init --product tour --expires "$expires" --out root.signed \
    --root-key owner.pub --root-threshold 1 --release-key release.pub --release-threshold 1 \
    --channel-key channel.pub --channel-threshold 1
  raspi-mcp bundle trust sign root.signed --key owner.key
fi

printf '%s\n' "$3" >"$1.root"
truncate -s 64K "$1.root"
raspi-mcp bundle build --root "$1.root" --simulated-boot --product tour --version "$1" --counter "$2" \
  --hardware raspi-mcp,simulated --expires "$expires" --out "$1.bundle"
raspi-mcp bundle sign "$1.bundle" --key release.key
raspi-mcp channel publish web --key channel.key --trust root.signed --bundle "$1.bundle"
