internal import Glibc

/// The memory-mapped pages of a program and its libraries.
package enum ProgramPages {
  /// Releases the pages of code that are mapped. Code that only runs at startup, such as the configuration
  /// parser, then uses no memory of the process. Pages that are still needed are mapped again, which takes
  /// about 100 µs in total. Code pages are never modified, so no data are lost.
  package static func release() {
    for range in executable(in: maps()) {
      guard let start = unsafe UnsafeMutableRawPointer(bitPattern: range.lowerBound) else { continue }
      _ = unsafe madvise(start, range.count, MADV_DONTNEED)
    }
  }

  /// Returns the address ranges of read-only code that is mapped from files.
  static func executable(in maps: String) -> [Range<UInt>] {
    maps.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ", maxSplits: 5)
      guard words.count == 6, words[1] == "r-xp", words[5].drop(while: { $0 == " " }).hasPrefix("/") else {
        return nil
      }
      let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      return ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : nil
    }
  }

  private static func maps() -> String {
    let descriptor = unsafe open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var (text, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
    // The file has about a hundred lines for a program with its libraries; the limit of 1 MiB is never
    // reached in practice.
    while text.count < 1 << 20 {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      guard count > 0 else { break }
      text += buffer[..<count]
    }
    return String(decoding: text, as: UTF8.self)
  }
}
