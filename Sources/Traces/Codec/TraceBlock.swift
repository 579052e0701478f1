internal import Bytes
internal import Sensors
package import Spatial

/// A few seconds of a trace, packed independently of other blocks. A damaged block loses only its own time
/// span.
///
/// A stream contains the samples of one kind that have the same fields. It consists of a column of times in
/// whole microseconds and one column of integers for each field. The step sizes are those of
/// `TraceResolution`; positions and attitudes have fixed step sizes. Fields that are not finite are omitted.
/// Appending a sample allocates no memory in steady state.
package struct TraceBlock: Sendable {
  /// The step sizes of the columns of the inertial sensors and the barometer.
  package let resolution: TraceResolution
  private let steps: [Double]
  private var streams: [TraceStream] = []
  private var texts: [String] = []
  /// The number of samples.
  package private(set) var count = 0
  /// The times of the earliest and the latest sample; nil if the block is empty.
  package private(set) var times: ClosedRange<Timestamp>?

  /// The maximum number of texts in a block. A vehicle has some dozens of signals.
  static let mostTexts = 1024
  /// The maximum number of streams in a block.
  static let mostStreams = 2048
  /// The maximum number of samples in a block.
  static let mostRows = 1 << 16

  package init(resolution: TraceResolution = TraceResolution()) {
    self.resolution = resolution.isSound ? resolution : TraceResolution()
    steps = self.resolution.steps
  }

  /// Removes all samples and retains the allocated memory.
  package mutating func removeAll() {
    for index in streams.indices { streams[index].removeAll() }
    texts.removeAll(keepingCapacity: true)
    // Streams with texts are removed, because the texts get new indices.
    streams.removeAll { $0.key.text != TraceStream.noText || $0.key.kind == .fix }
    (count, times) = (0, nil)
  }

  /// Merges consecutive blocks into as few blocks as possible, because larger blocks compress better. Skips
  /// blocks that cannot be decoded.
  package static func merged(_ blocks: [[UInt8]]) -> [TraceBlock] {
    var merged: [TraceBlock] = []
    for bytes in blocks {
      guard let block = TraceBlock(bytes: bytes) else { continue }
      // Blocks of different resolutions cannot be merged exactly.
      if var joined = merged.last, joined.resolution == block.resolution,
        block.samples.allSatisfy({ joined.append($0) })
      {
        merged[merged.count - 1] = joined
      } else {
        merged.append(block)
      }
    }
    return merged
  }

  /// Appends a sample. Drops the sample if the block is full or the sample has no finite field.
  /// - Returns: true if the sample was appended.
  @discardableResult
  package mutating func append(_ sample: TraceSample) -> Bool {
    guard count < Self.mostRows else { return false }
    let isTaken =
      switch sample {
      case .inertial(let scan): append(scan)
      case .pressure(let data): append(data)
      case .fix(let fix): append(fix)
      case .vehicle(let reading): append(reading)
      case .motion(let motion): append(motion)
      }
    guard isTaken else { return false }
    count += 1
    let time = sample.timestamp
    times = min(times?.lowerBound ?? time, time)...max(times?.upperBound ?? time, time)
    return true
  }

  // MARK: Samples

  private mutating func append(_ scan: InertialScan) -> Bool {
    let (force, rate, field) = (
      scan.specificForce.finite, scan.rotationRate.finite, scan.magneticField.finite
    )
    let celsius = scan.temperature.flatMap { $0.isFinite ? $0 : nil }
    var mask: UInt32 = 0
    if force != nil { mask |= 0b111 }
    if rate != nil { mask |= 0b111_000 }
    if field != nil { mask |= 0b111_000_000 }
    if celsius != nil { mask |= 1 << 9 }
    guard mask != 0, let place = stream(.init(kind: .inertial, mask: mask)) else { return false }
    streams[place].times.append(Self.microseconds(scan.timestamp))
    var column = 0
    append(force, steps: 0, to: place, &column)
    append(rate, steps: 3, to: place, &column)
    append(field, steps: 6, to: place, &column)
    if let celsius { streams[place].columns[column].append(Self.whole(celsius / steps[9])) }
    return true
  }

  private mutating func append(_ vector: Vector3?, steps first: Int, to place: Int, _ column: inout Int) {
    guard let vector else { return }
    for axis in 0..<3 {
      streams[place].columns[column].append(Self.whole(vector[axis] / steps[first + axis]))
      column += 1
    }
  }

  private mutating func append(_ data: PressureData) -> Bool {
    guard data.pressure.isFinite, let place = stream(.init(kind: .pressure, mask: 1)) else { return false }
    streams[place].times.append(Self.microseconds(data.timestamp))
    streams[place].columns[0].append(Self.whole(data.pressure / steps[10]))
    return true
  }

  private mutating func append(_ fix: PositionFix) -> Bool {
    var text = TraceStream.noText
    if let receiver = fix.receiver {
      guard let number = number(of: receiver) else { return false }
      text = number
    }
    return append(.fix, FixColumns.values(of: fix), text: text, at: fix.timestamp)
  }

  private mutating func append(_ reading: VehicleReading) -> Bool {
    guard let path = number(of: reading.path) else { return false }
    var word: UInt16?
    if case .text(let text)? = reading.value {
      guard let number = number(of: text) else { return false }
      word = number
    }
    return append(
      .vehicle, VehicleColumns.values(of: reading, word: word), text: path, at: reading.timestamp)
  }

  private mutating func append(_ motion: TraceMotion) -> Bool {
    append(.motion, MotionColumns.values(of: motion), text: TraceStream.noText, at: motion.timestamp)
  }

  /// Appends one row.
  ///
  /// - Parameter values: one entry for each possible column of the kind; nil for a missing value.
  private mutating func append(
    _ kind: TraceStream.Kind, _ values: [Int64?], text: UInt16, at timestamp: Timestamp
  ) -> Bool {
    var mask: UInt32 = 0
    for (index, value) in values.enumerated() where value != nil { mask |= 1 << UInt32(index) }
    guard let place = stream(.init(kind: kind, mask: mask, text: text)) else { return false }
    streams[place].times.append(Self.microseconds(timestamp))
    var column = 0
    for case let value? in values {
      streams[place].columns[column].append(value)
      column += 1
    }
    return true
  }

  private mutating func stream(_ key: TraceStream.Key) -> Int? {
    if let place = streams.firstIndex(where: { $0.key == key }) { return place }
    guard streams.count < Self.mostStreams else { return nil }
    streams.append(TraceStream(key))
    return streams.count - 1
  }

  private mutating func number(of text: String) -> UInt16? {
    if let place = texts.firstIndex(of: text) { return UInt16(place) }
    guard texts.count < Self.mostTexts, text.utf8.count <= Int(UInt16.max) else { return nil }
    texts.append(text)
    return UInt16(texts.count - 1)
  }

  /// Rounds to whole steps. Limits values that exceed the range of any sensor.
  static func whole(_ steps: Double) -> Int64 { Int64(max(-1e15, min(1e15, steps)).rounded()) }

  private static func microseconds(_ timestamp: Timestamp) -> Int64 {
    let (quotient, rest) = timestamp.nanoseconds.quotientAndRemainder(dividingBy: 1000)
    let nearest = quotient + (rest >= 500 ? 1 : rest < -500 ? -1 : 0)
    return max(.min / 1000, min(.max / 1000, nearest))
  }

  // MARK: Bytes

  private static let version: UInt8 = 1

  /// The header and each column as separate sections. The bytes in a section have similar frequencies, so
  /// that each section can have its own Huffman code.
  package var sections: [[UInt8]] {
    var head: [UInt8] = [Self.version]
    for step in steps { head.append(little: step.bitPattern) }
    head.append(little: UInt16(texts.count))
    for text in texts {
      head.append(little: UInt16(text.utf8.count))
      head += Array(text.utf8)
    }
    let filled = streams.filter { !$0.times.isEmpty }
    head.append(little: UInt16(filled.count))
    var sections: [[UInt8]] = []
    for stream in filled {
      head.append(stream.key.kind.rawValue)
      head.append(little: stream.key.mask)
      head.append(little: stream.key.text)
      head.append(little: UInt32(stream.times.count))
      for column in [stream.times] + stream.columns {
        var bytes: [UInt8] = []
        ColumnCodec.append(column, to: &bytes)
        sections.append(bytes)
      }
    }
    return [head] + sections
  }

  /// The concatenated sections.
  package var bytes: [UInt8] { sections.flatMap { $0 } }

  /// Decodes the format of `bytes`; nil for invalid bytes.
  package init?(bytes: [UInt8]) {
    var place = 1
    func take(_ count: Int) -> Int? {
      guard count >= 0, bytes.count - place >= count else { return nil }
      defer { place += count }
      return place
    }
    guard bytes.first == Self.version, let start = take(8 * TraceResolution.stepCount) else { return nil }
    let steps = (0..<TraceResolution.stepCount).map {
      Double(bitPattern: UInt64(little: bytes, at: start + 8 * $0))
    }
    guard let resolution = TraceResolution(steps: steps) else { return nil }
    self.init(resolution: resolution)
    guard let counts = take(2), case let textCount = Int(UInt16(little: bytes, at: counts)),
      textCount <= Self.mostTexts
    else { return nil }
    for _ in 0..<textCount {
      guard let length = take(2), let text = take(Int(UInt16(little: bytes, at: length))) else { return nil }
      texts.append(String(decoding: bytes[text..<place], as: UTF8.self))
    }
    guard let streamCount = take(2) else { return nil }
    var rows: [Int] = []
    for _ in 0..<Int(UInt16(little: bytes, at: streamCount)) {
      guard let head = take(11), let kind = TraceStream.Kind(rawValue: bytes[head]) else { return nil }
      let key = TraceStream.Key(
        kind: kind, mask: UInt32(little: bytes, at: head + 1), text: UInt16(little: bytes, at: head + 5))
      let count = Int(UInt32(little: bytes, at: head + 7))
      guard key.isSound(texts: texts.count), count > 0, count <= Self.mostRows - rows.reduce(0, +),
        streams.count < Self.mostStreams
      else { return nil }
      streams.append(TraceStream(key))
      rows.append(count)
    }
    for index in streams.indices {
      guard let times = ColumnCodec.read(rows[index], from: bytes, at: &place) else { return nil }
      streams[index].times = times
      for column in streams[index].columns.indices {
        guard let values = ColumnCodec.read(rows[index], from: bytes, at: &place) else { return nil }
        streams[index].columns[column] = values
      }
    }
    guard place == bytes.count, streams.allSatisfy({ $0.times.allSatisfy(Self.isTime) }) else { return nil }
    count = rows.reduce(0, +)
    let all = streams.flatMap(\.times)
    if let first = all.min(), let last = all.max() {
      times = Timestamp(nanoseconds: 1000 * first)...Timestamp(nanoseconds: 1000 * last)
    }
  }

  private static func isTime(_ microseconds: Int64) -> Bool {
    !microseconds.multipliedReportingOverflow(by: 1000).overflow
  }

  /// The fixes of all receivers, in the order of streams.
  var fixes: [PositionFix] {
    streams.filter { $0.key.kind == .fix }.flatMap { stream in
      stream.times.indices.compactMap { row -> PositionFix? in
        guard case .fix(let fix)? = stream.sample(row, steps: steps, texts: texts) else { return nil }
        return fix
      }
    }
  }

  /// The samples in order of time. Samples of one stream with equal times are in their original order.
  package var samples: [TraceSample] {
    var samples: [(time: Int64, sample: TraceSample)] = []
    samples.reserveCapacity(count)
    for stream in streams {
      for row in stream.times.indices {
        guard let sample = stream.sample(row, steps: steps, texts: texts) else { continue }
        samples.append((stream.times[row], sample))
      }
    }
    // `sort` is stable, so samples with equal times keep their order.
    return samples.sorted { $0.time < $1.time }.map(\.sample)
  }
}

extension Vector3? {
  fileprivate var finite: Vector3? { self.flatMap { $0.isFinite ? $0 : nil } }
}
