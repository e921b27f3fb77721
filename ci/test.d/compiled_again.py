#!/usr/bin/env python3
"""Reads cargo's messages (--message-format=json) and prints the crates that it compiled and that are no test."""

import json
import sys


def main():
    again = set()
    for line in sys.stdin:
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and not message["fresh"] and not message["profile"]["test"]:
            # Integration tests have test = true; what is left are libraries, programs and build scripts.
            again.add(message["target"]["name"])
    print(" ".join(sorted(again)), end="")


main()
