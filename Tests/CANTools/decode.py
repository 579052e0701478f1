#!/usr/bin/env python3
"""Decodes frames with cantools, an independent reader of DBC files.

usage: decode.py FILE FRAMES [FILE FRAMES ...]
FRAMES has lines "IDENTIFIER DATA", hexadecimal, the identifier with bit 31 set in the extended format. Prints a line "SIGNAL
VALUE" for each signal of each frame, in order of names, and an empty line after each frame. Numbers are printed exactly."""

import sys

import cantools
from cantools.database.utils import decode_data


def decode(message, node, data):
    """Decodes a frame as Message.decode does, but accepts a multiplexor value that selects no signal."""
    values = decode_data(data, message.length, node["signals"], node["formats"], False, True, False, True)
    for name, branches in node["multiplexers"].items():
        branch = branches.get(values[name])
        if branch is not None:
            values.update(decode(message, branch, data))
    return values


for path, frames in zip(sys.argv[1::2], sys.argv[2::2]):
    # Signals of different branches may overlap.
    database = cantools.database.load_file(path, encoding="utf-8", strict=False)
    by_identifier = {
        message.frame_id | (0x80000000 if message.is_extended_frame else 0): message for message in database.messages
    }
    for line in open(frames, encoding="ascii"):
        identifier, data = line.split()
        message = by_identifier[int(identifier, 16)]
        values = decode(message, message._codecs, bytes.fromhex(data))
        for name in sorted(values):
            print(name, repr(float(values[name])))
        print()
