"""Finds the polygons that contain positions with GEOS' STRtree (PyPI package shapely).

usage: geos.py FOLDER VERTICES

FOLDER/polygons.f64 and positions.f64 contain longitude and latitude as float64. The output is "checks per second,hits":
processor time, the best of three batched queries; GEOS evaluates the predicate on prepared geometries.
"""

import sys
import time

import numpy as np
import shapely


def main():
    folder, vertices = sys.argv[1], int(sys.argv[2])
    rings = np.fromfile(f"{folder}/polygons.f64").reshape(-1, vertices, 2)
    rings = np.concatenate([rings, rings[:, :1]], axis=1)
    polygons = shapely.polygons(rings)
    shapely.prepare(polygons)
    points = shapely.points(np.fromfile(f"{folder}/positions.f64").reshape(-1, 2))
    tree = shapely.STRtree(polygons)
    tree.query(points[:10], predicate="within")
    best, hits = float("inf"), 0
    for _ in range(3):
        start = time.process_time()
        pairs = tree.query(points, predicate="within")
        best = min(best, time.process_time() - start)
        hits = pairs.shape[1]
    print(f"{len(points) / best:.0f},{hits}")


main()
