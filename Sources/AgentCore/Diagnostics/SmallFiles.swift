internal import Glibc

/// Reads the small text files in which the kernel tells about the machine.
enum SmallFiles {
  /// The first kilobytes of a file without the white space and zero bytes at its ends; nil when it cannot be read or has
  /// nothing else.
  static func text(_ path: String) -> String? {
    // A driver that takes its time must not hold up the agent.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    let isBlank: (UInt8) -> Bool = { $0 <= 0x20 }
    let content = bytes[..<count].drop(while: isBlank)
    guard let end = content.lastIndex(where: { !isBlank($0) }) else { return nil }
    return String(decoding: content[...end], as: UTF8.self)
  }

  static func number(_ path: String) -> Double? { text(path).flatMap(Double.init) }

  /// The names in a folder, sorted; none when there is no such folder.
  static func names(in folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }
}
