internal import Glibc
internal import Platform
internal import Telemetry

/// The files of traces, named by their numbers. Without a folder nothing is stored, and no operation fails.
struct TraceFolder: Sendable {
  enum Part: String, Sendable, CaseIterable {
    /// Last message of a trace, written before it is published.
    case message = ".json"
    /// A growing `TraceFile`.
    case recording = ".trace"
    /// The complete trace as published, written before its pieces are published, and never changed.
    case packed = ".packed"
    /// The complete trace, after the outbox has accepted its pieces.
    case sent = ".sent"
  }

  let path: String?
  /// Counter of traces that are not stored, from 1.
  private var unkept: Int64 = 0

  /// Maximum size in bytes of files that are read: twice the size of the ring buffer and of the recording
  /// after the event.
  private static let largest = 4 << 20

  init(path: String?) { self.path = path }

  private func place(_ name: String, _ part: Part) -> String? { path.map { "\($0)/\(name)\(part.rawValue)" } }

  func exists(_ name: String, _ part: Part) -> Bool {
    var status = stat()
    return place(name, part).map { stat($0, &status) == 0 } ?? false
  }

  func size(_ name: String, _ part: Part) -> Int {
    var status = stat()
    return place(name, part).map { stat($0, &status) == 0 ? Int(status.st_size) : 0 } ?? 0
  }

  /// Reads a file; nil if it does not exist.
  func read(_ name: String, _ part: Part) throws(SystemError) -> [UInt8]? {
    guard let place = place(name, part) else { return nil }
    return try AtomicFile.read(place, limit: Self.largest)
  }

  func write(_ bytes: [UInt8], to name: String, _ part: Part) throws(SystemError) {
    guard let place = place(name, part) else { return }
    try AtomicFile.write(bytes, to: place)
  }

  /// Appends to a recording.
  /// - Parameter offset: current size of the file.
  func append(_ bytes: ArraySlice<UInt8>, to name: String, at offset: Int) throws(SystemError) {
    guard let place = place(name, .recording) else { return }
    let file = try RandomAccessFile(path: place, access: .readWrite, followsLinks: false)
    try file.write(Array(bytes), at: Int64(offset))
    try file.synchronize()
  }

  /// Deletes a file permanently; a missing file is not an error.
  func remove(_ name: String, _ part: Part) throws(SystemError) {
    guard let place = place(name, part) else { return }
    do throws(SystemError) { try AtomicFile.remove(place) } catch {
      // On a read-only disk, deleting fails even for a missing file, which is not an error here.
      if exists(name, part) { throw error }
    }
  }

  /// Deletes all files of a trace, the message first: without a message, a restart publishes nothing of the
  /// trace.
  func removeAll(_ name: String) throws(SystemError) {
    for part in Part.allCases { try remove(name, part) }
  }

  /// Renames the file of a published trace, which remains available on the vehicle.
  func setSent(_ name: String) throws(SystemError) {
    guard let packed = place(name, .packed), let sent = place(name, .sent) else { return }
    try AtomicFile.move(packed, to: sent)
    try remove(name, .recording)
  }

  /// Returns the names of the traces that have a file of kind `part`, in alphabetical order.
  func names(_ part: Part) -> [String] {
    path.map { SmallFiles.names(in: $0).compactMap { Self.name(of: $0, part.rawValue) } } ?? []
  }

  /// Returns the names of traces whose message is stored but whose pieces the outbox of an earlier run has
  /// not accepted. Deletes the files of other traces that a loss of power has left incomplete.
  func pending() -> [String] {
    guard let path else { return [] }
    let names = SmallFiles.names(in: path)
    for name in names where name.hasSuffix(".new") { unlink("\(path)/\(name)") }
    let sent = Set(names.compactMap { Self.name(of: $0, Part.sent.rawValue) })
    let told = Set(names.compactMap { Self.name(of: $0, Part.message.rawValue) })
    for part in [Part.recording, .packed] {
      for name in names.compactMap({ Self.name(of: $0, part.rawValue) })
      where sent.contains(name) || !told.contains(name) {
        try? remove(name, part)
      }
    }
    return told.subtracting(sent).sorted()
  }

  /// Returns a number that no other trace has or will have, and the name of its files.
  /// - Parameter failed: called if the number may repeat; a new series then makes the identity unique.
  mutating func nextNumber(_ failed: (SystemError) -> Void) -> (JournalNumber, name: String) {
    guard let path else {
      unkept += 1
      return (JournalNumber(series: String(repeating: "0", count: 16), number: unkept), Self.name(unkept))
    }
    mkdir(path, 0o750)
    let names = SmallFiles.names(in: path)
    let highest = names.compactMap { name in
      Part.allCases.compactMap { Self.name(of: name, $0.rawValue) }.first.flatMap { Int64($0) }
    }.max()
    let kept = SmallFiles.text(path + "/counter")?.split(separator: " ") ?? []
    var series: String?
    var last = highest ?? 0
    if kept.count == 2, kept[0].utf8.count == 16, UInt64(kept[0], radix: 16) != nil,
      let number = Int64(kept[1]), (0...Int64(1 << 40)).contains(number)
    {
      series = String(kept[0])
      last = max(last, number)
    }
    let number = JournalNumber(series: series ?? Self.newSeries(), number: last + 1)
    do throws(SystemError) {
      try AtomicFile.write(Array("\(number.series) \(number.number)\n".utf8), to: path + "/counter")
      return (number, Self.name(number.number))
    } catch {
      failed(error)
      return (JournalNumber(series: Self.newSeries(), number: number.number), Self.name(number.number))
    }
  }

  private static func newSeries() -> String {
    let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  private static func name(_ number: Int64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 10 - digits.utf8.count)) + digits
  }

  /// Returns the name without its ending; nil for another file.
  private static func name(of file: String, _ ending: String) -> String? {
    guard file.hasSuffix(ending), case let digits = file.dropLast(ending.count), digits.utf8.count >= 10,
      digits.utf8.allSatisfy({ (48...57).contains($0) })
    else { return nil }
    return String(digits)
  }
}
