internal import Fleet
internal import FleetProgram
internal import FleetWeb
internal import Glibc

/// A password prompt without echo.
enum PasswordPrompt {
  private enum Line {
    case text(String)
    case interrupted
  }

  /// Reads a password: twice from a terminal, to detect typing errors, otherwise from the first line of
  /// standard input.
  /// - Returns: nil after Ctrl-C.
  /// - Throws: `FleetError` for two different passwords, and for invalid text.
  static func read(for name: String) throws(FleetError) -> String? {
    guard isatty(STDIN_FILENO) == 1 else { return try first() }
    guard case .text(let password) = try ask("Password for \(name): ") else { return nil }
    guard case .text(let again) = try ask("Repeat the password: ") else { return nil }
    guard password == again else { throw .usage("use", "the password", "the two entered passwords differ") }
    return password
  }

  private static func first() throws(FleetError) -> String {
    var bytes: [UInt8] = []
    while let byte = next(), byte != UInt8(ascii: "\n") {
      bytes.append(byte)
      guard bytes.count <= PasswordHash.longestPassword + 1 else { break }
    }
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    return try text(bytes)
  }

  private static func text(_ bytes: [UInt8]) throws(FleetError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .usage("use", "the password", "it is not UTF-8")
    }
    return text
  }

  private static func next() -> UInt8? {
    var byte: UInt8 = 0
    while true {
      let count = unsafe Glibc.read(STDIN_FILENO, &byte, 1)
      if count < 0, errno == EINTR { continue }
      return count == 1 ? byte : nil
    }
  }

  private static func ask(_ question: String) throws(FleetError) -> Line {
    _ = OutputStream.write(Array(question.utf8), to: STDERR_FILENO)
    var original = termios()
    guard unsafe tcgetattr(STDIN_FILENO, &original) == 0 else { return .text(try first()) }
    var silent = original
    // Ctrl-C is read as a character, so that echo is restored before the program ends.
    silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
    _ = unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
    defer {
      _ = unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &original)
      _ = OutputStream.write([UInt8(ascii: "\n")], to: STDERR_FILENO)
    }
    var bytes: [UInt8] = []
    while let byte = next() {
      switch byte {
      case 0x03: return .interrupted
      case 0x04, UInt8(ascii: "\n"), UInt8(ascii: "\r"): return .text(try text(bytes))
      case 0x08, 0x7F:
        while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
      default: if bytes.count <= PasswordHash.longestPassword { bytes.append(byte) }
      }
    }
    return .text(try text(bytes))
  }
}
