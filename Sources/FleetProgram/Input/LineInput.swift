package import Fleet
internal import Glibc
internal import Platform

/// A reader of lines from a file or a pipe, which a signal can interrupt.
package struct LineInput: ~Copyable {
  private let descriptor: CInt
  private let path: String
  private var bytes: [UInt8] = []
  private var place = 0
  private var isAtEnd = false

  /// The interval in ms between two checks whether to stop.
  private static let pause: CInt = 100
  private static let portion = 1 << 16

  /// Opens a file.
  ///
  /// - Parameter path: the path of the file; `-` for standard input.
  /// - Throws: `FleetError` for a file that cannot be opened.
  package init(_ path: String) throws(FleetError) {
    self.path = path
    // O_NONBLOCK, because opening a named pipe without a writer would block.
    descriptor =
      unsafe path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure(path, errno) }
  }

  deinit { close(descriptor) }

  private static func failure(_ path: String, _ code: CInt) -> FleetError {
    .usage("read", path, "\(SystemError.message(for: code)); check its name and permissions")
  }

  /// Returns the next line without its line break; nil at the end of the file, and if `shouldContinue`
  /// returned false.
  /// - Throws: `FleetError` for an unreadable file.
  package mutating func next(while shouldContinue: () -> Bool) throws(FleetError) -> [UInt8]? {
    var looked = place
    while true {
      if let end = bytes[looked...].firstIndex(of: 0x0a) {
        defer { place = end + 1 }
        return Array(bytes[place..<end])
      }
      looked = bytes.count
      if isAtEnd {
        guard place < bytes.count else { return nil }
        defer { place = bytes.count }
        return Array(bytes[place...])
      }
      bytes.removeFirst(place)
      (looked, place) = (looked - place, 0)
      guard try fill(while: shouldContinue) else { return nil }
    }
  }

  /// Reads more data.
  ///
  /// - Returns: false if `shouldContinue` returned false.
  private mutating func fill(while shouldContinue: () -> Bool) throws(FleetError) -> Bool {
    while shouldContinue() {
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let count = unsafe poll(&waiting, 1, Self.pause)
      guard count >= 0 || errno == EINTR else { throw Self.failure(path, errno) }
      guard count > 0 else { continue }
      var portion = [UInt8](repeating: 0, count: Self.portion)
      let length = unsafe read(descriptor, &portion, portion.count)
      if length > 0 {
        bytes += portion.prefix(length)
        return true
      }
      if length == 0 {
        isAtEnd = true
        return true
      }
      guard errno == EINTR || errno == EAGAIN else { throw Self.failure(path, errno) }
    }
    return false
  }
}
