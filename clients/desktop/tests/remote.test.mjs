import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { remote, text } from "../server/remote.mjs";

const PIN = `sha256:${"0".repeat(64)}`;

test("settings that would send the token to somebody else are refused", () => {
  const url = "https://pi.local:8443";
  assert.equal(remote({ url, fingerprint: PIN, token: "rmcp_x" }).address.href, "https://pi.local:8443/mcp");
  assert.equal(remote({ url: "http://127.0.0.1:1/mcp", token: "rmcp_x" }).address.pathname, "/mcp");
  for (const [settings, why] of [
    [{ url: "pi.local" }, /is none/],
    [{ url: "ftp://pi.local" }, /neither/],
    [{ url, fingerprint: "sha256:12" }, /64 hexadecimal digits/],
    [{ url: "http://pi.local", fingerprint: PIN }, /has none/],
    [{ url: "http://pi.local", token: "rmcp_x" }, /unencrypted/],
    [{ url: "http://127.0.0.1.example.org", token: "rmcp_x" }, /unencrypted/],
    [{ url, token: "two\nlines" }, /printable/],
  ]) assert.throws(() => remote(settings), why);
});

test("only the pinned certificate gets the token, whoever signed it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "desktop-"));
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(folder, name));
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=other.example",
    "-keyout", key, "-out", cert], { stdio: "ignore" });
  const heard = [];
  const server = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    heard.push(request.headers.authorization);
    response.end("hello");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const url = `https://127.0.0.1:${server.address().port}`;
    const digest = createHash("sha256").update(new X509Certificate(readFileSync(cert)).raw).digest("hex");
    const stranger = remote({ url, fingerprint: PIN, token: "rmcp_secret" });
    await assert.rejects(stranger.ask("POST", {}, "{}"), /another one \(sha256:/);
    assert.deepEqual(heard, []);
    const colons = digest.toUpperCase().match(/../g).join(":");
    for (const fingerprint of [`sha256:${digest}`, `sha256:${colons}`]) {
      const known = remote({ url, fingerprint, token: "rmcp_secret" });
      assert.equal(await text(await known.ask("POST", {}, "{}")), "hello");
      known.close();
    }
    assert.deepEqual(heard, ["Bearer rmcp_secret", "Bearer rmcp_secret"]);
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  }
});
