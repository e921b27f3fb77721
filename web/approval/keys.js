// The approver's key in this browser: Ed25519 that cannot be exported, or a passkey. Kept in IndexedDB.

import { base64url, fromBase64url, hex, sha256 } from "./protocol.js";

function store(mode, act) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("raspi-mcp-approval", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const request = act(opening.result.transaction("keys", mode).objectStore("keys"));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    };
  });
}

export const load = () => store("readonly", (keys) => keys.get("own"));
export const forget = () => store("readwrite", (keys) => keys.delete("own"));
const keep = (key) => store("readwrite", (keys) => keys.put(key, "own"));

async function kept(kind, spki, device, more) {
  const key = { kind, device, spki: base64url(spki), id: hex(await sha256(spki)), ...more };
  await keep(key);
  return key;
}

/** Passkeys need a name with a certificate that the browser trusts. */
export const passkeysWork = () => Boolean(window.PublicKeyCredential) && !/^[\d.]+$|^\[/.test(location.hostname);

export async function makeBrowserKey(device) {
  const pair = await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
  const spki = new Uint8Array(await crypto.subtle.exportKey("spki", pair.publicKey));
  return kept("browser", spki, device, { secret: pair.privateKey });
}

export async function makePasskey(device, name) {
  const credential = await navigator.credentials.create({
    publicKey: {
      challenge: crypto.getRandomValues(new Uint8Array(32)),
      rp: { id: location.hostname, name: "raspi-mcp" },
      user: { id: crypto.getRandomValues(new Uint8Array(16)), name, displayName: name },
      pubKeyCredParams: [{ type: "public-key", alg: -7 }, { type: "public-key", alg: -8 }],
      authenticatorSelection: { userVerification: "required" },
    },
  });
  const spki = new Uint8Array(credential.response.getPublicKey());
  return kept("passkey", spki, device, { credential: base64url(new Uint8Array(credential.rawId)) });
}

/** The fields of a signature over `challenge`. */
export async function sign(key, challenge) {
  if (key.kind === "browser") {
    const signature = new Uint8Array(await crypto.subtle.sign("Ed25519", key.secret, challenge));
    return { key: key.id, kind: key.kind, signature: base64url(signature) };
  }
  const { response } = await navigator.credentials.get({
    publicKey: {
      challenge,
      rpId: location.hostname,
      allowCredentials: [{ type: "public-key", id: fromBase64url(key.credential) }],
      userVerification: "required",
    },
  });
  const text = (part) => base64url(new Uint8Array(part));
  return {
    key: key.id,
    kind: key.kind,
    signature: text(response.signature),
    authenticator_data: text(response.authenticatorData),
    client_data: text(response.clientDataJSON),
  };
}
