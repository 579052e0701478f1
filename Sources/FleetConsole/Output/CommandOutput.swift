package import Fleet
internal import Glibc
internal import Platform

/// What a command prints on stdout.
package enum CommandOutput {
  /// Whether colours and other looks may be used: see https://no-color.org.
  package static var usesStyles: Bool { usesColor && isatty(STDOUT_FILENO) == 1 }

  static var usesColor: Bool { environment("NO_COLOR") == nil }

  /// - Throws: `FleetError` when it cannot be written. A reader that has left is no failure.
  package static func print(_ text: String) throws(FleetError) { try print(Array(text.utf8)) }

  package static func print(_ bytes: [UInt8]) throws(FleetError) {
    guard let problem = OutputStream.write(bytes, to: STDOUT_FILENO), problem.rawValue != EPIPE else {
      return
    }
    throw FleetError(
      operation: "write", object: "the output", cause: SystemError.message(for: problem.rawValue),
      exit: .outputFailed)
  }

  package static func print(_ lines: [StyledText], styles: Bool) throws(FleetError) {
    try print(lines.map { $0.rendered(styles: styles) + "\n" }.joined())
  }
}
