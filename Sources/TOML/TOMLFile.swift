internal import Glibc
internal import Platform

/// A reader of TOML files. Configuration files are small, so a large file is an error.
package enum TOMLFile {
  package static let sizeLimit = 1 << 20

  /// Reads the text of a file.
  ///
  /// - Throws: `TOMLError` if the file cannot be read, is too large or is not UTF-8.
  package static func read(_ path: String) throws(TOMLError) -> String {
    func unreadable(_ problem: String) -> TOMLError {
      TOMLError(kind: .unreadable, file: path, problem: problem)
    }
    func failed() -> TOMLError {
      let (code, cause) = (errno, SystemError.message(for: errno))
      return TOMLError(
        kind: code == ENOENT ? .missing : .unreadable, file: path, problem: "cannot be read: \(cause)",
        cause: cause)
    }
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failed() }
    defer { close(descriptor) }
    var information = stat()
    guard unsafe fstat(descriptor, &information) == 0 else { throw failed() }
    guard information.st_mode & S_IFMT != S_IFDIR else { throw unreadable("is a directory; name a file") }
    guard information.st_size <= sizeLimit else {
      throw unreadable("is \(information.st_size) bytes; at most \(sizeLimit) are read")
    }
    // Pipes and devices have no known size, so the limit also applies while reading.
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
      if count == 0 { break }
      if count < 0 {
        if errno == EINTR { continue }
        throw failed()
      }
      bytes.append(contentsOf: chunk[..<count])
      guard bytes.count <= sizeLimit else { throw unreadable("has more than \(sizeLimit) bytes") }
    }
    guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
      throw unreadable("is not UTF-8 text, as a TOML file is")
    }
    return text
  }
}

/// A position in a text, counted from 1. Columns count Unicode code points.
package struct TOMLPosition: Sendable, Hashable, CustomStringConvertible {
  package let line: Int
  package let column: Int

  init(line: UInt32, column: UInt32) { (self.line, self.column) = (Int(line), Int(column)) }

  /// `line:column`, the form that editors accept after a file name.
  package var description: String { "\(line):\(column)" }
}

/// A failure to read a text or a file as TOML.
package struct TOMLError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Kind: Sendable, Hashable {
    /// The file does not exist.
    case missing
    /// The file is not readable, too large, or not text.
    case unreadable
    case syntax
  }

  package let kind: Kind
  /// The path of the file; nil for a text without a file.
  package var file: String?
  /// The position of the error; nil if it concerns the whole file.
  package let position: TOMLPosition?
  package let problem: String
  /// The problem, as a sentence that states that the file cannot be read.
  package let cause: String

  init(
    kind: Kind, file: String? = nil, position: TOMLPosition? = nil, problem: String, cause: String? = nil
  ) {
    self.kind = kind
    self.file = file
    self.position = position
    self.problem = problem
    self.cause = cause ?? problem
  }

  /// The location as `file:line:column`.
  package var place: String {
    switch (file, position) {
    case (let file?, let position?): "\(file):\(position)"
    case (let file?, nil): file
    case (nil, let position?): "\(position)"
    case (nil, nil): "TOML"
    }
  }

  package var description: String { "\(place): \(problem)" }
}
