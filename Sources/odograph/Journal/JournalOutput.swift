internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore

/// The output of a command, used by one thread at a time.
final class JournalOutput<Entry> {
  /// The number of buffered bytes from which `append` writes them without waiting for `flush`.
  private let portion = 64 << 10

  private var writer: any DocumentWriter<Entry>
  private var file: OutputFile
  private(set) var written = 0
  /// False after the process at the other end of the output pipe has closed it.
  private(set) var hasReader = true

  /// Opens the output.
  ///
  /// - Parameter inputs: input files of the command, which must not be overwritten.
  /// - Throws: `FleetError` for a file that cannot or must not be written.
  init(
    _ writer: any DocumentWriter<Entry>, _ options: JournalOptions, inputs: [String] = [],
    shouldContinue: () -> Bool = { true }
  ) throws(FleetError) {
    self.writer = writer
    file = try OutputFile(
      path: options.output, replaces: options.force, inputs: inputs, shouldContinue: shouldContinue)
    self.writer.begin()
  }

  /// Appends an entry; returns false if the output is closed or `shouldContinue` returned false.
  func append(_ told: Entry, shouldContinue: () -> Bool) throws(FleetError) -> Bool {
    writer.append(told)
    written += 1
    return writer.bytes.count < portion ? shouldContinue() : try flush(shouldContinue: shouldContinue)
  }

  /// Writes the buffer; returns false if the output is closed or `shouldContinue` returned false.
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
