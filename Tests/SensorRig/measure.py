#!/usr/bin/env python3
"""Measures a running rig: plays a ramp through iiod and checks every received sample.

measure.py IIOD_PORT CONTROL_PORT [--rate HZ] [--seconds S] [--samples-per-block N] [--clock NAME] [--sensors a,b]
           [--kernel-time]

Fails if a sample is missing, duplicated, out of order, or has a wrong raw value or time, and if a sensor still has power 10 s
after the last reader has disconnected. --kernel-time permits the larger errors of timestamps by the kernel, which depend on the
load of the machine.
"""
import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rigctl import Rig  # noqa: E402

# IIO device, channel, columns of the recording, IIO units per unit of the column
SENSORS = {
    "accel": ("accel_3d", "accel_x", ("ax", "ay", "az"), 1.0),
    "gyro": ("gyro_3d", "anglvel_x", ("gx", "gy", "gz"), 1.0),
    "magn": ("magn_3d", "magn_x", ("mx", "my", "mz"), 0.01),
    "pressure": ("press", "pressure", ("pressure",), 0.001),
}


def ramp(bits, rows, number):
    """Returns the raw values of axis `number`: different in each row and for each axis, and within the field."""
    step = 1 if bits == 16 else 10007
    return [(row + 1) * step * (-1) ** number + 7 * number for row in range(rows)]


def recording(rate, rows, raw, scales):
    """Returns the ramps as CSV. `raw`: raw values by sensor and axis; `scales`: IIO units per raw step."""
    columns, cells = ["t"], [[f"{i / rate:.9f}" for i in range(rows)]]
    for sensor, axes in raw.items():
        _, _, names, unit = SENSORS[sensor]
        columns += names
        cells += [[f"{value * scales[sensor] / unit:.9f}" for value in axis] for axis in axes]
    return "\n".join([",".join(columns)] + [",".join(row) for row in zip(*cells)]).encode()


def attribute(uri, arguments):
    """Runs iio_attr and returns its output."""
    done = subprocess.run(["iio_attr", "-u", uri, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def decode(data, axes, bits, stamped):
    """Yields (raw values, timestamp) of every scan."""
    # The offset of the timestamp is a multiple of 8 bytes.
    size = (24 if axes == 3 else 16) if stamped else 4 * axes
    for at in range(0, len(data) - size + 1, size):
        raw = struct.unpack_from(f"<{axes}i", data, at)
        if bits == 16:
            # The upper half is not the sign: the driver copies 32 bits, including the next bytes of the report.
            raw = tuple((value & 0xFFFF ^ 0x8000) - 0x8000 for value in raw)
        yield raw, struct.unpack_from("<q", data, at + size - 8)[0] if stamped else 0


def check(sensor, scans, raw, period_ns, kernel_time, stamped):
    """Compares captured samples with played ones, and prints a line. Returns True if they agree."""
    rows = len(raw[0])
    row_of = {value: row for row, value in enumerate(raw[0])}
    played = [(row_of[values[0]], values, stamp) for values, stamp in scans if values[0] in row_of]
    missing = rows - len({row for row, _, _ in played})
    doubled = len(played) - (rows - missing)
    disordered = sum(b[0] <= a[0] for a, b in zip(played, played[1:]))
    wrong = sum(values != tuple(axis[row] for axis in raw) for row, values, _ in played)
    # Compared with the ideal grid. The times of the recording are rounded to whole nanoseconds.
    off = [abs((stamp - played[0][2]) - (row - played[0][0]) * period_ns) for row, _, stamp in played] or [0]
    good = missing == 0 and doubled == 0 and disordered == 0 and wrong == 0
    good = good and (kernel_time or (stamped and max(off) <= 2))
    time_error = f"worst time error {max(off) / 1e6:.6f} ms" if stamped else "no timestamps"
    print(f"{sensor}: {len(played)}/{rows} rows, missing {missing}, doubled {doubled}, out of order {disordered}, "
          f"wrong values {wrong}, {time_error}: {'ok' if good else 'FAILED'}")
    return good


def main():
    """Runs the measurement; returns the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("control", type=int)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--samples-per-block", type=int, default=20)
    parser.add_argument("--clock", default="boottime")
    parser.add_argument("--sensors", default="accel,gyro,magn")
    parser.add_argument("--kernel-time", action="store_true")
    options = parser.parse_args()
    sensors = options.sensors.split(",")
    uri = f"ip:127.0.0.1:{options.port}"
    rig = Rig(options.control)
    rows = int(options.rate * options.seconds)
    bits = int(dict(rig.status())["device"]["bits"])
    readers, scales, stamped, raw = {}, {}, {}, {}
    try:
        for sensor in sensors:
            device, channel, _, _ = SENSORS[sensor]
            # Without timestamps in its reports, the magnetometer has none in IIO either, and no selectable clock.
            listing = subprocess.run(["iio_attr", "-u", uri, "-d", device], capture_output=True, text=True, check=False)
            stamped[sensor] = "current_timestamp_clock" in listing.stdout
            if stamped[sensor]:
                attribute(uri, ["-d", device, "current_timestamp_clock", options.clock])
            attribute(uri, ["-c", device, channel, "sampling_frequency", f"{options.rate:.6f}"])
            scales[sensor] = float(re.findall(r"[-0-9.e]+$", attribute(uri, ["-c", device, channel, "scale"]))[0])
            raw[sensor] = [ramp(bits, rows, number) for number in range(len(SENSORS[sensor][2]))]
        rig.load(recording(options.rate, rows, raw, scales))
        for sensor in sensors:
            file = tempfile.TemporaryFile()
            command = ["iio_readdev", "-u", uri, "-T", "0", "-b", str(options.samples_per_block), SENSORS[sensor][0]]
            readers[sensor] = (subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL), file)
        while not all(v["reporting"] == "all" for n, v in rig.status() if n == "sensor" and v["name"] in sensors):
            time.sleep(0.1)
        busy = time.monotonic(), os.times()
        rig.command("play delay=0.5")
        rig.wait()
        time.sleep(2)
        for line in rig.command("status"):
            print(line)
        print(f"played in {time.monotonic() - busy[0]:.1f} s")
    finally:
        # SIGTERM instead of SIGKILL, with which iio_readdev would lose buffered output.
        for process, _ in readers.values():
            process.terminate()
        for process, _ in readers.values():
            process.wait(10)
    left = time.monotonic()
    good = True
    for sensor in sensors:
        file = readers[sensor][1]
        file.seek(0)
        scans = decode(file.read(), len(raw[sensor]), bits, stamped[sensor])
        good &= check(sensor, scans, raw[sensor], 1e9 / options.rate, options.kernel_time, stamped[sensor])
    down = rig.powered_down(10)
    print(f"all sensors off {time.monotonic() - left:.1f} s after the readers left: {'ok' if down else 'FAILED'}")
    return 0 if good and down else 1


if __name__ == "__main__":
    sys.exit(main())
