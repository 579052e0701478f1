internal import Compression
package import Fleet
internal import Sensors
package import Spatial
package import Traces

/// The content of a trace file. Vehicles compress a trace with zlib as a whole; a file with compressed
/// blocks, and an uncompressed file, are also accepted.
package struct TraceReading {
  package let head: TraceFile.Head
  /// The samples in order of time.
  package private(set) var samples: [TraceSample] = []
  private(set) var blocks = 0
  /// The number of blocks that are complete but cannot be decoded.
  private(set) var unreadable = 0
  /// The number of samples more than a day before or after the trigger, because of a clock change or damage.
  /// They are not in `samples`.
  private(set) var strays = 0
  /// The number of bytes after the last complete block; 0 if the file is intact.
  let lostBytes: Int

  /// The maximum size of a decompressed trace in bytes: four times the vehicle's limit.
  private static let mostBytes = 64 << 20
  /// The maximum size of a decompressed block in bytes: the maximum number of samples (65,536), each with the
  /// maximum number of eight-byte columns.
  private static let mostBlockBytes = 16 << 20
  /// The maximum number of samples: enough for an hour of a sensor at 250 Hz, or for a minute at 8 kHz with
  /// other samples. The limit is required, because a few malicious bytes can decompress to more than the
  /// memory.
  private static let mostSamples = 1 << 20
  /// The maximum distance in s of a sample from the trigger.
  private static let span = 86_400.0

  /// Decodes a trace.
  ///
  /// - Throws: `FleetError` for bytes that are not a trace.
  package init(_ bytes: [UInt8], of name: String) throws(FleetError) {
    // Vehicles compress a trace as a whole.
    let (unpacked, isWhole) =
      TraceFile.isHead(bytes) ? (bytes, true) : Deflate.readable(of: bytes, limit: Self.mostBytes)
    guard let file = TraceFile(bytes: unpacked) else {
      throw .usage(
        "read", name,
        "not a trace, or its first bytes are damaged; name a file of odograph trace fetch or wait")
    }
    (head, blocks) = (file.head, file.blocks.count)
    // After a failed decompression, the number of lost bytes is unknown; it is then at least 1.
    lostBytes = isWhole ? file.lostBytes : max(1, file.lostBytes)
    for bytes in file.blocks {
      guard let block = Self.block(bytes), block.count <= Self.mostSamples - samples.count else {
        unreadable += 1
        continue
      }
      samples += block.samples
    }
    let (all, moment) = (samples.count, file.head.moment)
    samples.removeAll { sample in
      let (distance, overflow) = sample.timestamp.nanoseconds.subtractingReportingOverflow(moment.nanoseconds)
      return overflow || Double(distance.magnitude) > Self.span * 1e9
    }
    strays = all - samples.count
    // `sort` is stable, so samples of the same time keep the order of the file.
    samples.sort { $0.timestamp < $1.timestamp }
  }

  private static func block(_ bytes: [UInt8]) -> TraceBlock? {
    if let block = TraceBlock(bytes: bytes) { return block }
    guard let unpacked = try? Deflate.unpacked(bytes, limit: mostBlockBytes) else { return nil }
    return TraceBlock(bytes: unpacked)
  }

  /// True if no block is unreadable and no byte is lost.
  package var isWhole: Bool { unreadable == 0 && lostBytes == 0 }

  /// Returns the civil time of a timestamp; nil if the vehicle had no civil time.
  package func time(of timestamp: Timestamp) -> UTCTime? {
    guard head.utcOffset != 0 else { return nil }
    let (sum, overflow) = timestamp.nanoseconds.addingReportingOverflow(head.utcOffset)
    return overflow ? nil : UTCTime(nanoseconds: sum)
  }

  /// The number of samples of each kind, without kinds that have none.
  var counts: [(name: String, count: Int)] {
    var counts = [0, 0, 0, 0, 0]
    for sample in samples {
      switch sample {
      case .inertial: counts[0] += 1
      case .pressure: counts[1] += 1
      case .fix: counts[2] += 1
      case .vehicle: counts[3] += 1
      case .motion: counts[4] += 1
      }
    }
    return zip(["inertial", "pressure", "position", "vehicle", "motion"], counts).filter { $1 > 0 }
      .map { (name: $0, count: $1) }
  }

  /// The times in s from the trigger to the first and to the last sample, negative before the trigger; nil
  /// without samples.
  var span: ClosedRange<Double>? {
    guard let first = samples.first, let last = samples.last else { return nil }
    return first.timestamp.seconds(since: head.moment)...last.timestamp.seconds(since: head.moment)
  }

  /// A description of the damage; nil if there is none.
  var damage: String? {
    var parts: [String] = []
    if unreadable > 0 { parts.append("\(unreadable) of \(blocks) blocks are not readable") }
    if lostBytes > 0 { parts.append("the last \(lostBytes) bytes are an incomplete block") }
    return parts.isEmpty ? nil : parts.joined(separator: ", and ")
  }
}
