"""Reads an MCAP file with the mcap library, verifies its checksums, and prints one line of JSON per channel.

usage: read.py FILE
"""

import json
import sys

from mcap.reader import make_reader
from mcap.stream_reader import StreamReader


def main(path):
    channels = {}
    with open(path, "rb") as file:
        for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages():
            value = json.loads(message.data)
            known = set(json.loads(schema.data)["properties"])
            entry = channels.setdefault(
                channel.topic,
                {"topic": channel.topic, "schema": schema.name, "count": 0, "first": value, "time": message.log_time},
            )
            entry["count"] += 1
            if not set(value) <= known or message.sequence != entry["count"] - 1:
                sys.exit(f"{channel.topic}: {value} does not match its schema, or is out of sequence")
        file.seek(0)
        summary = make_reader(file, validate_crcs=True).get_summary()
        file.seek(0)
        # StreamReader verifies the checksum of the data.
        records = sum(1 for _ in StreamReader(file, validate_crcs=True).records)
    for entry in channels.values():
        print(json.dumps(entry))
    print(json.dumps({"topic": "", "count": summary.statistics.message_count, "channels": len(summary.channels), "records": records}))


if __name__ == "__main__":
    main(sys.argv[1])
