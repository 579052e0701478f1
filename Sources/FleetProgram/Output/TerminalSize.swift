internal import CLinux
internal import Glibc

/// The size of a terminal in characters.
package struct TerminalSize: Hashable, Sendable {
  package var columns: Int
  package var rows: Int

  /// Creates a size of at most 1000 columns and 500 rows, so that a huge reported size does not exhaust the
  /// memory.
  package init(columns: Int, rows: Int) {
    self.columns = max(1, min(columns, 1000))
    self.rows = max(1, min(rows, 500))
  }

  /// Reads the size of a terminal; nil if the descriptor is none, or reports no size.
  package init?(of descriptor: Int32) {
    var window = winsize()
    guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0
    else {
      return nil
    }
    self.init(columns: Int(window.ws_col), rows: Int(window.ws_row))
  }

  /// The size of a VT100, used if the terminal does not report one.
  package static let usual = TerminalSize(columns: 80, rows: 24)
}
