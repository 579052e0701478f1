internal import Fleet
internal import FleetConsole

/// A writer that converts trips or driving events to a document, piece by piece.
protocol JournalWriter<Told>: Sendable {
  associatedtype Told
  /// The bytes written but not removed yet.
  var bytes: [UInt8] { get set }
  mutating func begin()
  mutating func append(_ told: Told)
  mutating func end()
}

extension JournalWriter {
  mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }
}

/// The output of a command, used by one thread at a time.
final class JournalOutput<Told> {
  /// The size of a write in bytes if nothing waits for it.
  private let portion = 64 << 10

  private var writer: any JournalWriter<Told>
  private var file: OutputFile
  private(set) var written = 0
  /// False after the reader has closed the output.
  private(set) var hasReader = true

  /// Opens the output.
  ///
  /// - Parameter inputs: input files, which are never replaced.
  /// - Throws: `FleetError` for a file that cannot or must not be written.
  init(
    _ writer: any JournalWriter<Told>, _ options: JournalOptions, inputs: [String] = [],
    goesOn: () -> Bool = { true }
  ) throws(FleetError) {
    self.writer = writer
    file = try OutputFile(path: options.output, replaces: options.force, inputs: inputs, goesOn: goesOn)
    self.writer.begin()
  }

  /// Appends an entry; returns whether to continue.
  func append(_ told: Told, goesOn: () -> Bool) throws(FleetError) -> Bool {
    writer.append(told)
    written += 1
    return writer.bytes.count < portion ? goesOn() : try flush(goesOn: goesOn)
  }

  /// Writes the buffer; returns whether to continue.
  func flush(goesOn: () -> Bool = { true }) throws(FleetError) -> Bool {
    guard hasReader else { return false }
    if !writer.bytes.isEmpty { hasReader = try file.write(writer.bytes, goesOn: goesOn) }
    writer.bytes.removeAll(keepingCapacity: true)
    return hasReader && goesOn()
  }

  /// Completes the document, and renames the file to its final name.
  func finish(goesOn: () -> Bool = { true }) throws(FleetError) {
    writer.end()
    guard try flush(goesOn: goesOn) || hasReader else { return }
    try file.finish()
  }
}
