// One server: its address, the certificate that it must have, and the token that it wants. The token is sent to nobody else.

import { createHash } from "node:crypto";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import tls from "node:tls";

const CONNECT_MS = 10_000;
// Longer than any tool may take, an approval before it included.
const SILENCE_MS = 900_000;
// After a request was sent and no answer came.
export const PERHAPS = "what was asked may have been done; look before asking again";

// remote(settings): how to ask it. Throws an Error that tells a person which setting is wrong.
export function remote({ url, fingerprint, token }) {
  const address = parsed(url);
  const pin = fingerprint ? digits(fingerprint) : null;
  const isEncrypted = address.protocol === "https:";
  if (pin && !isEncrypted) throw new Error("a fingerprint is that of a certificate, and http:// has none: write the address with https://");
  if (token && !isEncrypted && !isLocal(address.hostname)) {
    throw new Error("the token would travel to another machine unencrypted: write the address with https://");
  }
  if (token && !/^[\x21-\x7e]+$/.test(token)) throw new Error("the token is not one line of printable characters without spaces");
  const agent = isEncrypted
    ? new https.Agent({ keepAlive: true, maxCachedSessions: pin ? 0 : 100 })
    : new http.Agent({ keepAlive: true });
  if (pin) agent.createConnection = (options, done) => void pinned(options, pin, done);
  return { address, ask: (method, headers, body) => ask(address, agent, token, method, headers, body), close: () => agent.destroy() };
}

function parsed(url) {
  let address;
  try {
    address = new URL(url);
  } catch {
    throw new Error(`the address ${url} is none: write it like https://pi.local:8443`);
  }
  if (!["http:", "https:"].includes(address.protocol)) throw new Error(`the address ${url} begins with neither https:// nor http://`);
  if (address.pathname === "/") address.pathname = "/mcp";
  return address;
}

// The digits of `sha256:...`, with or without the colons that openssl puts between them.
function digits(fingerprint) {
  const found = /^sha256:([0-9a-f]{64})$/.exec(fingerprint.trim().toLowerCase().replaceAll(":", "").replace(/^sha256/, "sha256:"));
  if (!found) throw new Error("the fingerprint is not sha256: and 64 hexadecimal digits, as `raspi-mcp tls show` prints it");
  return found[1];
}

function isLocal(host) {
  const bare = host.replace(/^\[|\]$/g, "");
  return bare === "localhost" || bare === "::1" || (net.isIPv4(bare) && bare.startsWith("127."));
}

// A connection that nothing is sent through until its certificate is the pinned one. Who has it does not matter then: no authority is asked.
function pinned(options, pin, done) {
  const socket = tls.connect({ ...options, host: options.host, servername: net.isIP(options.host) ? "" : options.host, rejectUnauthorized: false });
  const late = setTimeout(() => socket.destroy(new Error(`no answer within ${CONNECT_MS / 1000} s`)), CONNECT_MS);
  let isDone = false;
  const end = (error, found) => {
    clearTimeout(late);
    if (!isDone) done(error, found);
    isDone = true;
  };
  socket.on("error", (error) => end(error));
  socket.once("secureConnect", () => {
    const certificate = socket.getPeerCertificate(true)?.raw;
    const found = certificate ? createHash("sha256").update(certificate).digest("hex") : "none";
    if (found === pin) return end(null, socket);
    socket.destroy(
      new Error(`its certificate is another one (sha256:${found}): if it was replaced, enter the new fingerprint, which \`raspi-mcp tls show\` prints on it`),
    );
  });
}

// One request. Resolves with the response once its headers are there.
function ask(address, agent, token, method, headers, body) {
  return new Promise((resolve, reject) => {
    const all = { ...headers, ...(token && { authorization: `Bearer ${token}` }), ...(body && { "content-length": Buffer.byteLength(body) }) };
    const request = (agent instanceof https.Agent ? https : http).request(address, { method, agent, headers: all, timeout: SILENCE_MS }, resolve);
    let isConnected = false;
    request.on("socket", (socket) => {
      if (!socket.connecting && !socket.pending) isConnected = true;
      else socket.once(agent instanceof https.Agent ? "secureConnect" : "connect", () => (isConnected = true));
    });
    request.on("timeout", () => request.destroy(new Error(`silent for ${SILENCE_MS / 60_000} minutes`)));
    request.on("error", (error) => {
      const why = error.message || error.code;
      reject(new Error(isConnected ? `the connection to ${address.origin} broke before the answer came (${why}): ${PERHAPS}` : `no server answers at ${address.origin}: ${why}`));
    });
    request.end(body);
  });
}

// The whole body as text.
export async function text(response) {
  response.setEncoding("utf8");
  let all = "";
  for await (const piece of response) all += piece;
  return all;
}
