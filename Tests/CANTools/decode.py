#!/usr/bin/env python3
"""Decodes frames with cantools, as an independent reader of DBC files.

usage: decode.py FILE FRAMES
FRAMES has lines "IDENTIFIER DATA", hexadecimal, the identifier with bit 31 set in the extended format. Prints a line "SIGNAL
VALUE" for each signal of each frame, in order of their names, and an empty line after each frame; numbers so that they are read
back as they are."""

import sys

import cantools

database = cantools.database.load_file(sys.argv[1], encoding="utf-8")
by_identifier = {
    message.frame_id | (0x80000000 if message.is_extended_frame else 0): message for message in database.messages
}
for line in open(sys.argv[2], encoding="ascii"):
    identifier, data = line.split()
    message = by_identifier[int(identifier, 16)]
    values = message.decode(bytes.fromhex(data), decode_choices=False)
    for name in sorted(values):
        print(name, repr(float(values[name])))
    print()
