internal import Platform
public import Sensors

extension CANDecoder {
  /// Creates a decoder and reads the configured DBC file.
  /// - Throws: `SourceError` with the line if the file cannot be read, and if the file lacks a configured
  ///   signal.
  public init(_ configuration: CANConfiguration) throws(SourceError) {
    guard let path = configuration.database else {
      try self.init(configuration, database: nil)
      return
    }
    let bytes: [UInt8]
    do throws(SystemError) {
      guard let contents = try AtomicFile.read(path, limit: DBCReader.longestFile) else {
        throw SystemError(operation: "open", object: path, code: 2)
      }
      bytes = contents
    } catch {
      throw SourceError(
        place: path, problem: "cannot be read: \(SystemError.message(for: error.code))",
        remedy: "correct can.dbc or the file's permissions")
    }
    try self.init(configuration, database: try DBCDatabase(parsing: bytes, name: path))
  }
}
