internal import Glibc

/// Prints a line and flushes, since stdout is buffered in a pipe.
package func printLine(_ line: String) {
  print(line)
  fflush(nil)
}

package func complain(_ text: String) {
  let bytes = Array((text + "\n").utf8)
  _ = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
}
