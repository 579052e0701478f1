internal import Sensors
internal import Spatial

/// Turns the scans of one buffer into samples.
struct ScanDecoder {
  /// One kind of sensor in the scan.
  struct Part {
    var kind: SensorKind
    var formats: [ScanFormat]
    var scales: [LinearScale]
    var mounting: MountMatrix
    /// Where the part's channels are among the layout's offsets.
    var positions: Range<Int>
  }

  var parts: [Part]
  /// The time stamp's format, nil where scans carry none; it is the last of the layout's offsets.
  var timestampFormat: ScanFormat?
  var layout: ScanLayout

  /// How many scans a block of bytes holds.
  func count(in byteCount: Int) -> Int { layout.stride > 0 ? byteCount / layout.stride : 0 }

  /// The hardware's time stamp of a scan, ns of its own clock.
  func stamp(in bytes: Span<UInt8>, scan: Int) -> Int64? {
    guard let timestampFormat, let offset = layout.offsets.last else { return nil }
    return timestampFormat.integer(in: bytes, at: scan * layout.stride + offset)
  }

  /// The value of a part in a scan, in the unit of the sample type and the sensor's axes.
  @inline(__always)
  func value(of part: Part, in bytes: Span<UInt8>, scan: Int) -> Vector3 {
    var value = Vector3.zero
    let start = scan * layout.stride
    for axis in 0..<min(3, part.formats.count) {
      let raw = part.formats[axis].number(
        in: bytes, at: start + layout.offsets[part.positions.lowerBound + axis])
      value[axis] = part.scales[axis](raw)
    }
    return value
  }
}
