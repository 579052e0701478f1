internal import CIIO
internal import Sensors
package import Spatial

/// A decoder from the scans of one buffer to samples.
struct ScanDecoder {
  /// One kind of sensor in the scan.
  struct Part {
    var kind: SensorKind
    var formats: [ScanFormat]
    var scales: [LinearScale]
    var mounting: MountMatrix
    /// The indices of the part's channels in the layout's offsets.
    var positions: Range<Int>
  }

  var parts: [Part]
  /// The format of the time stamp, whose offset is the last in the layout; nil if scans have none.
  var timestampFormat: ScanFormat?
  var layout: ScanLayout

  /// Returns the number of complete scans in a block of bytes.
  func count(in byteCount: Int) -> Int { layout.stride > 0 ? byteCount / layout.stride : 0 }

  /// Returns the hardware time stamp of a scan in ns of its own clock; nil if it has none.
  func stamp(in bytes: Span<UInt8>, scan: Int) -> Int64? {
    guard let timestampFormat, let offset = layout.offsets.last else { return nil }
    return timestampFormat.integer(in: bytes, at: scan * layout.stride + offset)
  }

  /// Returns the value of a part in a scan, in the unit of the sample type and the sensor's axes.
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

/// The layout of the channels in one scan of a buffer.
///
/// The kernel orders the enabled channels by scan index, aligns each to its own size, and pads the scan to a
/// multiple of the largest (`iio_compute_scan_bytes`). Channels with the same index share an offset.
package struct ScanLayout: Hashable, Sendable {
  /// The offsets in bytes from the start of the scan, in the order of the given elements.
  package let offsets: [Int]
  /// The bytes from one scan to the next; zero if no channel is enabled.
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

  /// Creates the layout reported by libiio, for a scan that contains more channels than requested.
  package init(offsets: [Int], stride: Int) {
    (self.offsets, self.stride) = (offsets, stride)
  }
}

/// The decoded scans of one device before they are sent.
struct ScanBlock {
  private var scans: [InertialScan] = []
  private var pressures: [PressureData] = []
  /// The time of the oldest scan.
  private(set) var oldest: Timestamp?

  /// Starts a scan, to be filled by `add`.
  @inline(__always)
  mutating func begin(at time: Timestamp) {
    if oldest == nil { oldest = time }
    scans.append(InertialScan(timestamp: time))
  }

  /// Adds a value to the last scan, in the unit of the scan and the sensor's axes; a scalar is in `x`.
  @inline(__always)
  mutating func add(_ kind: SensorKind, _ value: Vector3, mounted: MountMatrix) {
    let last = scans.count - 1
    switch kind {
    case .accelerometer: scans[last].specificForce = mounted(value)
    case .gyroscope: scans[last].rotationRate = mounted(value)
    case .magnetometer: scans[last].magneticField = mounted(value)
    case .thermometer: scans[last].temperature = value.x
    case .barometer: pressures.append(PressureData(timestamp: scans[last].timestamp, pressure: value.x))
    case .positioning, .wifi, .cellular: break
    }
  }

  /// Sends everything to the sink.
  mutating func flush(_ sink: (SensorEvent) -> Void) {
    scans.removeAll(where: \.isEmpty)
    // Sorts the scans by time if needed, because polled values were measured between the scans of the buffer.
    if zip(scans, scans.dropFirst()).contains(where: { $0.timestamp > $1.timestamp }) {
      scans.sort { $0.timestamp < $1.timestamp }
    }
    if !pressures.isEmpty { sink(.barometer(pressures)) }
    if !scans.isEmpty { sink(.inertial(scans)) }
    self = ScanBlock()
  }
}

/// A filter that passes one sample per interval. It is used for temperatures, which come with every scan
/// although few are needed.
package struct RateLimit: Hashable, Sendable {
  /// The interval in seconds.
  package var interval: Double
  private var last: Timestamp?

  package init(interval: Double) { self.interval = interval }

  /// Returns whether a sample of this time passes.
  package mutating func passes(_ time: Timestamp) -> Bool {
    if let last, time.seconds(since: last) < interval, time >= last { return false }
    last = time
    return true
  }
}

/// The format of a channel in a scan: the kernel's `scan_elements/*_type`, such as `le:s12/16>>4`.
package struct ScanFormat: Hashable, Sendable, CustomStringConvertible {
  package let isBigEndian: Bool
  package let isSigned: Bool
  /// The number of significant bits, 1 ... `storageBits`.
  package let bits: Int
  /// The number of stored bits of a value: 8, 16, ... 64.
  package let storageBits: Int
  /// The position of the lowest significant bit.
  package let shift: Int
  /// The number of values of the channel in one scan, such as the four of a quaternion; at least 1.
  package let repeatCount: Int

  /// Creates a format; nil for an invalid combination.
  package init?(
    isBigEndian: Bool, isSigned: Bool, bits: Int, storageBits: Int, shift: Int = 0, repeatCount: Int = 1
  ) {
    guard (8...64).contains(storageBits), storageBits.isMultiple(of: 8), (1...storageBits).contains(bits),
      (0...(storageBits - bits)).contains(shift), (1...256).contains(repeatCount)
    else { return nil }
    (self.isBigEndian, self.isSigned) = (isBigEndian, isSigned)
    (self.bits, self.storageBits, self.shift, self.repeatCount) = (bits, storageBits, shift, repeatCount)
  }

  /// Creates a format from libiio's description.
  init?(_ format: iio_data_format) {
    self.init(
      isBigEndian: format.is_be, isSigned: format.is_signed, bits: Int(format.bits),
      storageBits: Int(format.length), shift: Int(format.shift), repeatCount: max(1, Int(format.repeat)))
  }

  /// The stored bytes of a value.
  package var storageBytes: Int { storageBits / 8 }

  /// The stored bytes of the channel in a scan.
  package var byteCount: Int { storageBytes * repeatCount }

  /// The kernel's notation.
  package var description: String {
    let copies = repeatCount > 1 ? "X\(repeatCount)" : ""
    return "\(isBigEndian ? "be" : "le"):\(isSigned ? "s" : "u")\(bits)/\(storageBits)\(copies)>>\(shift)"
  }

  /// Returns the value at `offset` bytes, sign-extended to 64 bits; an unsigned 64-bit value is unchanged.
  ///
  /// - Parameter element: the index of one of the `repeatCount` values.
  @inline(__always)
  package func bitPattern(in bytes: Span<UInt8>, at offset: Int, element: Int = 0) -> UInt64 {
    let start = offset + element * storageBytes
    var word: UInt64 = 0
    if isBigEndian {
      for index in 0..<storageBytes { word = word << 8 | UInt64(bytes[start + index]) }
    } else {
      for index in (0..<storageBytes).reversed() { word = word << 8 | UInt64(bytes[start + index]) }
    }
    let unused = UInt64(64 - bits)
    let leftAligned = (word >> UInt64(shift)) << unused
    return isSigned
      ? UInt64(bitPattern: Int64(bitPattern: leftAligned) >> Int64(unused)) : leftAligned >> unused
  }

  /// Returns the value at `offset` bytes as a signed integer; unsigned values above `Int64.max` wrap.
  @inline(__always)
  package func integer(in bytes: Span<UInt8>, at offset: Int, element: Int = 0) -> Int64 {
    Int64(bitPattern: bitPattern(in: bytes, at: offset, element: element))
  }

  /// Returns the value at `offset` bytes, exact up to 53 bits.
  @inline(__always)
  package func number(in bytes: Span<UInt8>, at offset: Int, element: Int = 0) -> Double {
    let pattern = bitPattern(in: bytes, at: offset, element: element)
    return isSigned ? Double(Int64(bitPattern: pattern)) : Double(pattern)
  }
}
