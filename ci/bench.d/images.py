"""Contents like those of root images, the same for the same seed."""

import random


def blocks_of(seed, size, changed=0.0, other=0):
    """A root image's bytes, in pieces of 64 KiB: a tenth zeros, three tenths text, the rest half compressible, as binaries are. A share
    `changed` of the pieces is made with the seed `other`."""
    choose = random.Random(other)
    for number in range(size // 65536):
        of = other if choose.random() < changed else seed
        dice = random.Random(of * 1_000_003 + number)
        kind = dice.random()
        if kind < 0.1:
            yield bytes(65536)
        elif kind < 0.4:
            yield (f"piece {number} of {of} says line after line the same. " * 1500).encode()[:65536]
        else:
            noise = dice.randbytes(32768)
            yield b"".join(noise[at:at + 64] * 2 for at in range(0, 32768, 64))


def write_image(path, pieces):
    with open(path, "wb") as out:
        for piece in pieces:
            out.write(piece)
