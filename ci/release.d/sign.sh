# shellcheck shell=bash
# SHA256SUMS of a folder, signed by a release key (Ed25519, docs/bundle-format.md), and that key's public half as OpenSSL reads it.
# Sourced by ci/release, after ci/lib.sh.

# The beginnings of an Ed25519 private key in PKCS #8, version 1, and of a public key (RFC 8410, sections 7 and 4).
PRIVATE_ED25519=302e020100300506032b657004220420
PUBLIC_ED25519=302a300506032b6570032100

# of_hex LABEL: reads hexadecimal digits and prints them as PEM.
of_hex() {
  printf -- '-----BEGIN %s-----\n' "$1"
  tr -d ' \n' | basenc --base16 --decode | base64 --wrap=64
  printf -- '-----END %s-----\n' "$1"
}

# private_key FILE: prints it as OpenSSL 3.0 reads it. Keys of `raspi-mcp bundle keygen` are version 2, with the public key in them
# (RFC 5958): the private half of 32 bytes comes behind a header of 16.
private_key() {
  local hex
  hex=$(sed '/^-----/d' "$1" | base64 --decode | basenc --base16 --wrap=0) || true
  [[ $hex =~ ^30510201013005 && ${#hex} = 166 ]] || die "$1 is not a secret key of \`raspi-mcp bundle keygen\`"
  printf '%s%s' "${PRIVATE_ED25519^^}" "${hex:32:64}" | of_hex "PRIVATE KEY"
}

# sign_checksums FOLDER KEY: writes SHA256SUMS, SHA256SUMS.sig and release-key.pem, and checks the signature.
sign_checksums() {
  local folder=$1 key=$2 public sums
  private_key "$key" >/dev/null
  # openssl reads the message's size first: no pipe for that.
  sums=$(cd "$folder" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum)
  printf '%s\n' "$sums" >"$folder/SHA256SUMS"
  openssl pkeyutl -sign -rawin -inkey <(private_key "$key") -in "$folder/SHA256SUMS" -out "$folder/SHA256SUMS.sig" ||
    die "SHA256SUMS was not signed with $key"
  public=$(sed '/^-----/d' "$key" | base64 --decode | tail -c 32 | basenc --base16 --wrap=0)
  printf '%s%s' "${PUBLIC_ED25519^^}" "$public" | of_hex "PUBLIC KEY" >"$folder/release-key.pem"
  openssl pkeyutl -verify -pubin -inkey "$folder/release-key.pem" -rawin -in "$folder/SHA256SUMS" -sigfile "$folder/SHA256SUMS.sig" >/dev/null ||
    die "the signature of SHA256SUMS does not hold: the halves of $key do not belong together"
}
