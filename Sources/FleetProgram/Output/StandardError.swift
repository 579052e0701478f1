internal import Glibc

/// Messages for the user on standard error.
package enum StandardError {
  /// Reports that the time limit expired before the requested number of messages was received.
  package static func sayMissed(_ count: Int, came: Int) {
    report(
      "the time limit has expired: \(came) of \(count) messages came; wait longer, or check the selection of topics"
    )
  }

  /// Writes one line; escapes control characters.
  package static func report(_ sentence: String) {
    let line = "odograph: " + StyledText(sentence).plain + "\n"
    _ = OutputStream.write(Array(line.utf8), to: STDERR_FILENO)
  }
}
