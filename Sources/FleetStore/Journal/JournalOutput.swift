internal import Fleet
internal import FleetConsole

/// Turns trips or driving events into a document, piece by piece.
protocol JournalWriter<Told>: Sendable {
  associatedtype Told
  /// What was written and not yet taken away.
  var bytes: [UInt8] { get set }
  mutating func begin()
  mutating func append(_ told: Told)
  mutating func end()
}

extension JournalWriter {
  mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }
}

/// Where a command writes its document. Used by one thread at a time.
final class JournalOutput<Told> {
  /// Bytes that are written at once where nobody waits for them.
  private let portion = 64 << 10

  private var writer: any JournalWriter<Told>
  private var file: OutputFile
  private(set) var written = 0
  /// Whether whoever reads the output is still there.
  private(set) var hasReader = true

  /// - Parameter inputs: files that are read, which are never replaced.
  /// - Throws: `FleetError` for a file that cannot, or is not to, be written.
  init(
    _ writer: any JournalWriter<Told>, _ options: JournalOptions, inputs: [String] = [],
    goesOn: () -> Bool = { true }
  ) throws(FleetError) {
    self.writer = writer
    file = try OutputFile(path: options.output, replaces: options.force, inputs: inputs, goesOn: goesOn)
    self.writer.begin()
  }

  /// Returns whether to go on.
  func append(_ told: Told, goesOn: () -> Bool) throws(FleetError) -> Bool {
    writer.append(told)
    written += 1
    return writer.bytes.count < portion ? goesOn() : try flush(goesOn: goesOn)
  }

  /// Writes what has come so far. Returns whether to go on.
  func flush(goesOn: () -> Bool = { true }) throws(FleetError) -> Bool {
    guard hasReader else { return false }
    if !writer.bytes.isEmpty { hasReader = try file.write(writer.bytes, goesOn: goesOn) }
    writer.bytes.removeAll(keepingCapacity: true)
    return hasReader && goesOn()
  }

  /// Ends the document, and gives the file its name.
  func finish(goesOn: () -> Bool = { true }) throws(FleetError) {
    writer.end()
    guard try flush(goesOn: goesOn) || hasReader else { return }
    try file.finish()
  }
}
