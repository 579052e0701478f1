/// What `odograph export` is asked for.
public struct ExportOptions: Sendable {
  /// A `postgres://` URL or the path of an SQLite file.
  public var store: String
  public var selection = RecordingSelection()
  public var format = ExportFormat.jsonl
  /// Messages as they came, a JSON line each, instead of positions.
  public var exportsMessages = false
  /// nil is standard output.
  public var output: String?
  /// Seconds without a position after which a track of GPX and KML begins anew.
  public var gap = 300.0
  /// No progress, no closing line.
  public var isQuiet = false

  public init(store: String) { self.store = store }

  /// - Throws: `FleetError` for options that make no sense.
  func validate() throws(FleetError) {
    guard gap > 0, gap <= 1e9 else {
      throw FleetError(
        operation: "use", object: "--gap \(gap)", cause: "it is above 0, in seconds", exit: .usage)
    }
    guard !exportsMessages || format == .jsonl else {
      throw FleetError(
        operation: "write", object: "messages as \(format.rawValue)",
        cause: "messages go into JSON lines only; leave out --messages, or use --format jsonl", exit: .usage)
    }
  }
}
