internal import Glibc

/// Reads the small text files in which the kernel tells about the machine, and the folders that they are in.
public enum SmallFiles {
  /// The first kilobytes of a file without the white space and zero bytes at its ends; nil when it cannot be read or has
  /// nothing else.
  public static func text(_ path: String) -> String? {
    // A driver that takes its time must not hold up the agent.
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

  /// Of a file that has a number and nothing else; else nil.
  public static func number(_ path: String) -> Double? { text(path).flatMap(Double.init) }

  /// The names in a folder, sorted, without those that begin with a dot; none when there is no such folder.
  public static func names(in folder: String) -> [String] {
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
