internal import Glibc

/// A reader of the small text files that the kernel provides, such as those in /sys, and of their folders.
package enum SmallFiles {
  /// Returns the first 4 kB of a file without surrounding white space and zero bytes; nil if the file is
  /// unreadable or empty.
  package static func text(_ path: String) -> String? {
    // Non-blocking, because a slow driver must not block the agent.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    let isBlank: (UInt8) -> Bool = { $0 <= 0x20 }
    let content = bytes[..<count].drop(while: isBlank)
    guard let end = content.lastIndex(where: { !isBlank($0) }) else { return nil }
    return String(decoding: content[...end], as: UTF8.self)
  }

  /// Returns the number in a file that contains nothing else; nil otherwise.
  package static func number(_ path: String) -> Double? { text(path).flatMap(Double.init) }

  /// Returns the names in a folder, sorted, without those that start with a dot; empty if there is no such
  /// folder.
  package static func names(in folder: String) -> [String] {
    guard let directory = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }
}
