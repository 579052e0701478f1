"""Runs the PyPI packages vqf and imufusion on one trial.

usage: peers.py INPUT FOLDER PERIOD [vqf]

INPUT contains float64 rows: time (s), rate (rad/s), specific force (m/s²), field (µT), 1 if the field is new. Each algorithm's
attitudes (device to east-north-up, scalar first, float64) are written to FOLDER/NAME.f64. Without any new field, only vqf is
run, without a magnetometer. The output has one line "NAME,nanoseconds per sample" per algorithm. vqf has a fixed sample
period, as required by its batch interface; both algorithms receive the last field until there is a new one.
"""

import sys
import time

import imufusion
import numpy as np
import vqf


def run_vqf(period, rates, forces, fields):
    start = time.perf_counter()
    result = vqf.VQF(period).updateBatch(rates, forces, fields)["quat9D"]
    return result, time.perf_counter() - start


def run_imufusion(times, rates, forces, fields):
    """Runs imufusion with the settings of its advanced example; requires version 1.3 or later."""
    rate = (len(times) - 1) / (times[-1] - times[0])
    settings = imufusion.AhrsSettings()
    settings.sample_rate = rate
    settings.convention = imufusion.CONVENTION_ENU
    settings.gain = 0.5
    settings.gyroscope_range = 2000
    settings.acceleration_rejection = 10
    settings.magnetic_rejection = 10
    settings.rejection_timeout = 5
    ahrs = imufusion.Ahrs()
    ahrs.set_settings(settings)
    bias_settings = imufusion.BiasSettings()
    bias_settings.sample_rate = rate
    bias = imufusion.Bias()
    bias.set_settings(bias_settings)
    degrees = np.degrees(rates)
    g = forces / 9.80665
    steps = np.diff(times, prepend=times[0] - 1 / rate)
    result = np.empty((len(times), 4))
    start = time.perf_counter()
    for i in range(len(times)):
        ahrs.set_sample_period(steps[i])
        ahrs.update(bias.update(degrees[i]), g[i], fields[i])
        result[i] = ahrs.get_quaternion()
    return result, time.perf_counter() - start


def main():
    rows = np.fromfile(sys.argv[1]).reshape(-1, 11)
    folder, period = sys.argv[2], float(sys.argv[3])
    times = rows[:, 0].copy()
    rates, forces, fields = (np.ascontiguousarray(rows[:, k : k + 3]) for k in (1, 4, 7))
    only = sys.argv[4] if len(sys.argv) > 4 else None
    held = np.maximum.accumulate(np.where(rows[:, 10] > 0.5, np.arange(len(rows)), 0))
    fields = np.ascontiguousarray(fields[held])
    if rows[:, 10].any():
        results = {"vqf": run_vqf(period, rates, forces, fields)}
        if only is None:
            results["imufusion"] = run_imufusion(times, rates, forces, fields)
    else:
        start = time.perf_counter()
        result = vqf.VQF(period).updateBatch(rates, forces)["quat6D"]
        results = {"vqf": (result, time.perf_counter() - start)}
    for name, (result, seconds) in results.items():
        np.ascontiguousarray(result, dtype=np.float64).tofile(f"{folder}/{name}.f64")
        print(f"{name},{seconds / len(rows) * 1e9:.0f}")


main()
