internal import Compression
internal import Fleet
internal import Sensors
internal import Spatial
internal import Traces

/// What is in a trace's bytes: packed by zlib as the vehicle sends them, as a whole or block by block, or plain.
struct TraceReading {
  let head: TraceFile.Head
  /// In order of time.
  private(set) var samples: [TraceSample] = []
  private(set) var blocks = 0
  /// Blocks that are whole and yet cannot be read.
  private(set) var unreadable = 0
  /// Samples a day and more away from the moment: of a clock that was set, or of nobody.
  private(set) var strays = 0
  /// Bytes behind the last whole block.
  let lostBytes: Int

  /// Bytes of a trace as it is unpacked: four times what a vehicle keeps in memory for one, as blocks are merged.
  private static let mostBytes = 64 << 20
  /// Bytes of a block as it is unpacked: its samples at most (65,536), each with the largest number of columns of eight bytes.
  private static let mostBlockBytes = 16 << 20
  /// Samples that are read: an hour of a sensor at 250 Hz, or a minute of one at 8 kHz with all else. A few bytes can be made to unpack
  /// to more than there is memory.
  private static let mostSamples = 1 << 20
  /// s before and after the moment.
  private static let span = 86_400.0

  /// - Throws: `FleetError` for what is no trace.
  init(_ bytes: [UInt8], of name: String) throws(FleetError) {
    // As it comes it is packed as a whole.
    let (unpacked, isWhole) =
      TraceFile.isHead(bytes) ? (bytes, true) : Deflate.readable(of: bytes, limit: Self.mostBytes)
    guard let file = TraceFile(bytes: unpacked) else {
      throw .usage(
        "read", name,
        "it is no trace, or its first bytes are damaged; name a file of odograph trace fetch or wait")
    }
    (head, blocks) = (file.head, file.blocks.count)
    // Where it cannot be unpacked to its end something follows that nobody sees.
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
    // `sort` keeps the order of equals.
    samples.sort { $0.timestamp < $1.timestamp }
  }

  private static func block(_ bytes: [UInt8]) -> TraceBlock? {
    if let block = TraceBlock(bytes: bytes) { return block }
    guard let unpacked = try? Deflate.unpacked(bytes, limit: mostBlockBytes) else { return nil }
    return TraceBlock(bytes: unpacked)
  }

  /// Whether nothing of it is missing.
  var isWhole: Bool { unreadable == 0 && lostBytes == 0 }

  /// Of a moment on the device's time line; nil where civil time was not known.
  func time(of timestamp: Timestamp) -> UTCTime? {
    guard head.utcOffset != 0 else { return nil }
    let (sum, overflow) = timestamp.nanoseconds.addingReportingOverflow(head.utcOffset)
    return overflow ? nil : UTCTime(nanoseconds: sum)
  }

  /// How many there are of each kind, by its name and in the order of kinds.
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

  /// Seconds from the moment to the first and the last sample; nil without any.
  var span: ClosedRange<Double>? {
    guard let first = samples.first, let last = samples.last else { return nil }
    return first.timestamp.seconds(since: head.moment)...last.timestamp.seconds(since: head.moment)
  }

  /// What of it is lost, for people; nil where nothing is.
  var damage: String? {
    var parts: [String] = []
    if unreadable > 0 { parts.append("\(unreadable) of \(blocks) blocks cannot be read") }
    if lostBytes > 0 { parts.append("the last \(lostBytes) bytes are no whole block") }
    return parts.isEmpty ? nil : parts.joined(separator: ", and ")
  }
}
