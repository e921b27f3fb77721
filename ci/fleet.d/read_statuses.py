"""Reads the statuses of a fleet as docs/fleet.md describes them, with nats-py and nothing of raspi-mcp.

    python3 read_statuses.py DIR

DIR is the folder of the fleet's owner. Prints one line of JSON for each device: name, version, sequence. Exits with 1 if a message
is not signed by the device that its subject names."""

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

PURPOSE = "raspi-mcp status 1"


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def checked(message, name, fleet, entry):
    """The document of a status, if the device signed it."""
    if len(message) > 1024:
        raise ValueError("more than 1,024 bytes")
    document, signature = message.split(b"\n")
    challenge = hashlib.sha256(PURPOSE.encode() + b"\0" + hashlib.sha256(document).digest()).digest()
    load_der_public_key(unpadded(entry["key"])).verify(unpadded(signature.decode()), challenge)
    status = json.loads(document)
    if (status["purpose"], status["fleet"], status["name"], status["device"]) != (PURPOSE, fleet, name, entry["device"]):
        raise ValueError("it is about another device")
    return status


async def main(folder):
    fleet = tomllib.loads((folder / "fleet.toml").read_text())
    context = ssl.create_default_context(cafile=folder / "ca.pem")
    context.load_cert_chain(folder / "console.pem", folder / "console.key")
    client = await nats.connect(fleet["servers"], tls=context, inbox_prefix=b"_INBOX_console")
    stream = fleet["name"].replace("-", "_") + "_status"
    jetstream = client.jetstream()
    wrong = 0
    # Of each device the stream keeps one message: all of them are the newest ones.
    consumer = await jetstream.pull_subscribe(
        f"rmcp.1.{fleet['name']}.status.*",
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
                status = checked(message.data, name, fleet["name"], entry)
            except (ValueError, KeyError, OSError, InvalidSignature) as error:
                print(f"{message.subject}: {error!r}", file=sys.stderr)
                wrong += 1
                continue
            print(json.dumps({key: status[key] for key in ("name", "version", "sequence")}))
    await client.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(pathlib.Path(sys.argv[1]))))
