"""Reads the statuses of a fleet, or its log, as docs/fleet.md describes them, with nats-py and nothing of raspi-mcp.

    python3 read_statuses.py DIR [log]

DIR is the folder of the fleet's owner. Prints one line of JSON for each message: name, sequence, and version or kind. Exits with 1
if a message is not signed by the device that its subject names."""

import asyncio
import base64
import hashlib
import json
import pathlib
import ssl
import sys
import tomllib

import nats
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_der_public_key

# Of each kind: its longest message, and what of it is printed.
KINDS = {"status": (1024, ("name", "version", "sequence")), "log": (2048, ("name", "kind", "sequence"))}


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def checked(kind, message, name, fleet, entry):
    """The document of a message, if the device signed it."""
    purpose = f"raspi-mcp {kind} 1"
    if len(message) > KINDS[kind][0]:
        raise ValueError(f"{len(message)} bytes")
    document, signature = message.split(b"\n")
    challenge = hashlib.sha256(purpose.encode() + b"\0" + hashlib.sha256(document).digest()).digest()
    load_der_public_key(unpadded(entry["key"])).verify(unpadded(signature.decode()), challenge)
    told = json.loads(document)
    if (told["purpose"], told["fleet"], told["name"], told["device"]) != (purpose, fleet, name, entry["device"]):
        raise ValueError("it is about another device")
    return told


async def main(folder, kind):
    fleet = tomllib.loads((folder / "fleet.toml").read_text())
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    context.load_cert_chain(folder / "console.pem", folder / "console.key")
    client = await nats.connect(fleet["servers"], tls=context, inbox_prefix=b"_INBOX_console")
    stream = fleet["name"].replace("-", "_") + f"_{kind}"
    jetstream = client.jetstream()
    wrong = 0
    # Of each device the stream of statuses keeps one message: all of them are the newest ones.
    known = set()
    consumer = await jetstream.pull_subscribe(
        f"rmcp.1.{fleet['name']}.{kind}.*",
        stream=stream,
        config=nats.js.api.ConsumerConfig(ack_policy=nats.js.api.AckPolicy.NONE, inactive_threshold=30),
    )
    left = (await consumer.consumer_info()).num_pending
    while left > 0:
        for message in await consumer.fetch(min(left, 200), timeout=5):
            left -= 1
            name = message.subject.rsplit(".", 1)[1]
            try:
                entry = json.loads((folder / "devices" / f"{name}.json").read_text())
                told = checked(kind, message.data, name, fleet["name"], entry)
            except (ValueError, KeyError, OSError, InvalidSignature) as error:
                print(f"{message.subject}: {error!r}", file=sys.stderr)
                wrong += 1
                continue
            # A message may come twice: its number tells.
            if (name, told["sequence"]) not in known:
                known.add((name, told["sequence"]))
                print(json.dumps({key: told[key] for key in KINDS[kind][1]}))
    await client.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "status")))
