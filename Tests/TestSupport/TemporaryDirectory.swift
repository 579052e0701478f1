internal import Foundation
internal import Glibc
internal import Platform

/// A temporary directory for one test; it is deleted with its content when the object is released.
public final class TemporaryDirectory: Sendable {
  public let path: String

  public init() throws {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(base)/odograph-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw SystemError(operation: "create", object: "temporary directory", code: errno)
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  /// Returns the path of a file in the directory.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and returns its path.
  @discardableResult
  public func write(_ name: String, _ text: String) throws -> String {
    let path = file(name)
    guard let stream = fopen(path, "w") else {
      throw SystemError(operation: "create", object: path, code: errno)
    }
    defer { fclose(stream) }
    fputs(text, stream)
    return path
  }
}
