/// Why a recording cannot be played: where, what is wrong there and what to do about it.
public struct RecordingError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The file's path as it was given.
  public var file: String
  /// The line, counted from 1; nil when the file as a whole is meant.
  public var line: Int?
  /// The column's name in a table; nil where there are no columns.
  public var column: String?
  /// What was found, as in "checksum is 4A, the sentence gives 5B".
  public var problem: String
  /// What the reader of the message can do.
  public var remedy: String

  public init(file: String, line: Int? = nil, column: String? = nil, problem: String, remedy: String) {
    self.file = file
    self.line = line
    self.column = column
    self.problem = problem
    self.remedy = remedy
  }

  public var description: String {
    var place = file
    if let line { place += ":\(line)" }
    if let column { place += ": column \(column)" }
    return "\(place): \(problem); \(remedy)"
  }
}

/// A piece of a file as it may be shown in a message: printable ASCII, cut short.
func excerpt(_ bytes: some Sequence<UInt8>, limit: Int = 40) -> String {
  var text = ""
  for (count, byte) in bytes.enumerated() {
    if count == limit { return text + "…" }
    text.unicodeScalars.append((32...126).contains(byte) ? Unicode.Scalar(byte) : "·")
  }
  return text
}
