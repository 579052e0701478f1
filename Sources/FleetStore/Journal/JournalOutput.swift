internal import Fleet
internal import FleetCommand

/// A writer that converts trips or driving events to a document, piece by piece.
protocol JournalWriter<Entry>: Sendable {
  associatedtype Entry
  /// The bytes written but not removed yet.
  var bytes: [UInt8] { get set }
  mutating func begin()
  mutating func append(_ told: Entry)
  mutating func end()
}

extension JournalWriter {
  mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }
}

/// The output of a command, used by one thread at a time.
final class JournalOutput<Entry> {
  /// The size of a write in bytes if nothing waits for it.
  private let portion = 64 << 10

  private var writer: any JournalWriter<Entry>
  private var file: OutputFile
  private(set) var written = 0
  /// False after the reader has closed the output.
  private(set) var hasReader = true

  /// Opens the output.
  ///
  /// - Parameter inputs: input files, which are never replaced.
  /// - Throws: `FleetError` for a file that cannot or must not be written.
  init(
    _ writer: any JournalWriter<Entry>, _ options: JournalOptions, inputs: [String] = [],
    shouldContinue: () -> Bool = { true }
  ) throws(FleetError) {
    self.writer = writer
    file = try OutputFile(
      path: options.output, replaces: options.force, inputs: inputs, shouldContinue: shouldContinue)
    self.writer.begin()
  }

  /// Appends an entry; returns whether to continue.
  func append(_ told: Entry, shouldContinue: () -> Bool) throws(FleetError) -> Bool {
    writer.append(told)
    written += 1
    return writer.bytes.count < portion ? shouldContinue() : try flush(shouldContinue: shouldContinue)
  }

  /// Writes the buffer; returns whether to continue.
  func flush(shouldContinue: () -> Bool = { true }) throws(FleetError) -> Bool {
    guard hasReader else { return false }
    if !writer.bytes.isEmpty { hasReader = try file.write(writer.bytes, shouldContinue: shouldContinue) }
    writer.bytes.removeAll(keepingCapacity: true)
    return hasReader && shouldContinue()
  }

  /// Completes the document, and renames the file to its final name.
  func finish(shouldContinue: () -> Bool = { true }) throws(FleetError) {
    writer.end()
    guard try flush(shouldContinue: shouldContinue) || hasReader else { return }
    try file.finish()
  }
}
