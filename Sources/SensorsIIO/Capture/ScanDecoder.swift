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

/// Where the channels lie in one scan of a buffer.
///
/// The kernel puts the enabled channels in order of their scan index, each aligned to its own size, and pads
/// the scan to a multiple of the largest (`iio_compute_scan_bytes`). Channels with the same index share a place.
package struct ScanLayout: Hashable, Sendable {
  /// Bytes from the start of the scan, in the order in which the elements were given.
  package let offsets: [Int]
  /// Bytes from one scan to the next; zero when nothing is enabled.
  package let stride: Int

  package init(elements: [(index: Int, format: ScanFormat)]) {
    var offsets = [Int](repeating: 0, count: elements.count)
    var end = 0
    var largest = 1
    var previous: (index: Int, offset: Int)?
    for position in elements.indices.sorted(by: { elements[$0].index < elements[$1].index }) {
      let element = elements[position]
      if let previous, previous.index == element.index {
        offsets[position] = previous.offset
        continue
      }
      let size = element.format.byteCount
      let offset = (end + size - 1) / size * size
      offsets[position] = offset
      previous = (element.index, offset)
      largest = max(largest, size)
      end = offset + size
    }
    self.offsets = offsets
    stride = (end + largest - 1) / largest * largest
  }

  /// As libiio found it, for a scan that holds more channels than were asked for.
  package init(offsets: [Int], stride: Int) {
    (self.offsets, self.stride) = (offsets, stride)
  }
}
