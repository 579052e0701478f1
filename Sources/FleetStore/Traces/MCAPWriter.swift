internal import Bytes

/// A writer of MCAP 0 files (mcap.dev/spec). They have no chunks, because a trace is small.
struct MCAPWriter {
  struct Statistics {
    var times: ClosedRange<UInt64>?
    var counts: [UInt64] = []
  }

  private static let magic: [UInt8] = [0x89] + Array("MCAP0\r\n".utf8)

  private enum Operation: UInt8 {
    case header = 0x01
    case footer = 0x02
    case schema = 0x03
    case channel = 0x04
    case message = 0x05
    case statistics = 0x0B
    case dataEnd = 0x0F
  }

  private var bytes = magic
  /// The schema records that were written. The file's summary section repeats them.
  private var schemas: [[UInt8]] = []
  /// The channel records that were written. The file's summary section repeats them.
  private var channels: [[UInt8]] = []
  private var statistics = Statistics()

  init() {
    var record: [UInt8] = []
    record.append(text: "")
    record.append(text: "odograph")
    Self.append(.header, record, to: &bytes)
  }

  /// Adds a schema.
  ///
  /// - Parameters:
  ///   - name: the name of the schema.
  ///   - schema: a JSON Schema.
  /// - Returns: the number of the schema in the file.
  mutating func addSchema(_ name: String, _ schema: String) -> UInt16 {
    let number = UInt16(schemas.count + 1)
    var record: [UInt8] = []
    record.append(little: number)
    record.append(text: name)
    record.append(text: "jsonschema")
    record.append(text: schema)
    Self.append(.schema, record, to: &bytes)
    schemas.append(record)
    return number
  }

  /// Adds a channel.
  ///
  /// - Returns: the number of the channel in the file; nil if the maximum number of channels is reached.
  mutating func addChannel(_ topic: String, schema: UInt16) -> UInt16? {
    guard let number = UInt16(exactly: channels.count) else { return nil }
    var record: [UInt8] = []
    record.append(little: number)
    record.append(little: schema)
    record.append(text: topic)
    record.append(text: "json")
    record.append(little: UInt32(0))
    Self.append(.channel, record, to: &bytes)
    channels.append(record)
    statistics.counts.append(0)
    return number
  }

  /// Appends a message.
  ///
  /// - Parameters:
  ///   - message: the JSON of the message.
  ///   - channel: the number returned by `addChannel`.
  ///   - time: ns since 1970.
  mutating func append(_ message: [UInt8], to channel: UInt16, at time: UInt64) {
    let sequence = statistics.counts[Int(channel)]
    statistics.counts[Int(channel)] = sequence + 1
    let times = statistics.times ?? time...time
    statistics.times = min(times.lowerBound, time)...max(times.upperBound, time)
    var record: [UInt8] = []
    record.reserveCapacity(message.count + 22)
    record.append(little: channel)
    record.append(little: UInt32(truncatingIfNeeded: sequence))
    record.append(little: time)
    record.append(little: time)
    record += message
    Self.append(.message, record, to: &bytes)
  }

  /// Completes the file and returns its bytes.
  consuming func finished() -> [UInt8] {
    var end: [UInt8] = []
    end.append(little: CRC32.checksum(bytes))
    Self.append(.dataEnd, end, to: &bytes)
    let summary = bytes.count
    for schema in schemas { Self.append(.schema, schema, to: &bytes) }
    for channel in channels { Self.append(.channel, channel, to: &bytes) }
    Self.append(.statistics, statisticsRecord, to: &bytes)
    var footer: [UInt8] = []
    footer.append(little: UInt64(summary))
    footer.append(little: UInt64(0))
    // The checksum covers the summary section and the part of the footer before the checksum.
    let head = [Operation.footer.rawValue] + Self.length(footer.count + 4) + footer
    footer.append(little: CRC32.checksum(bytes[summary...] + head))
    Self.append(.footer, footer, to: &bytes)
    return bytes + Self.magic
  }

  private var statisticsRecord: [UInt8] {
    var record: [UInt8] = []
    record.append(little: statistics.counts.reduce(0, +))
    record.append(little: UInt16(schemas.count))
    record.append(little: UInt32(channels.count))
    // The numbers of attachments, metadata records and chunks.
    for _ in 0..<3 { record.append(little: UInt32(0)) }
    record.append(little: statistics.times?.lowerBound ?? 0)
    record.append(little: statistics.times?.upperBound ?? 0)
    record.append(little: UInt32(10 * statistics.counts.count))
    for (number, count) in statistics.counts.enumerated() {
      record.append(little: UInt16(number))
      record.append(little: count)
    }
    return record
  }

  private static func append(_ operation: Operation, _ record: [UInt8], to bytes: inout [UInt8]) {
    bytes.append(operation.rawValue)
    bytes += length(record.count)
    bytes += record
  }

  private static func length(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(little: UInt64(count))
    return bytes
  }
}

extension [UInt8] {
  fileprivate mutating func append(text: String) {
    append(little: UInt32(text.utf8.count))
    self += Array(text.utf8)
  }
}
