internal import Sensors

/// Makes one scan of a rotation and a force that two devices have taken at the same time, as of one chip. Pure.
///
/// Takes scans in order of time, rotations before forces as `ScanMerger` hands them out. A rotation waits for the next scan.
struct ScanJoiner: Sendable {
  private var rotation: InertialScan?

  mutating func process(_ scan: InertialScan, _ body: (InertialScan) -> Void) {
    if var joined = rotation {
      rotation = nil
      if joined.timestamp == scan.timestamp, !scan.contains(.gyroscope), let force = scan.specificForce {
        joined.specificForce = force
        joined.magneticField = joined.magneticField ?? scan.magneticField
        return body(joined)
      }
      body(joined)
    }
    if scan.contains(.gyroscope), !scan.contains(.accelerometer) {
      rotation = scan
    } else {
      body(scan)
    }
  }
}
