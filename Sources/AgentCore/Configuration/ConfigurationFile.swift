internal import Glibc
internal import Platform

/// Reads a configuration file's text. A configuration is small, so that anything large is a mistake.
enum ConfigurationFile {
  static let sizeLimit = 1 << 20

  /// - Throws: `ConfigurationError` when the file cannot be read, is too large, empty or not text.
  static func read(_ path: String) throws(ConfigurationError) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ConfigurationError(place: path, problem: "cannot be read: \(SystemError.message(for: errno))")
    }
    defer { close(descriptor) }
    var information = stat()
    guard fstat(descriptor, &information) == 0 else {
      throw ConfigurationError(place: path, problem: "cannot be read: \(SystemError.message(for: errno))")
    }
    guard information.st_mode & S_IFMT != S_IFDIR else {
      throw ConfigurationError(place: path, problem: "is a directory; name a file")
    }
    guard information.st_size <= sizeLimit else {
      throw ConfigurationError(
        place: path,
        problem: "is \(information.st_size) bytes; a configuration has at most \(sizeLimit)")
    }
    let bytes = try readAll(descriptor, path)
    guard !bytes.isEmpty else {
      throw ConfigurationError(place: path, problem: "is empty; it must set at least vehicle.id")
    }
    guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
      throw ConfigurationError(place: path, problem: "is not UTF-8 text; a configuration is a TOML file")
    }
    return text
  }

  // The size of a pipe or a device is not known beforehand, so the limit is watched while reading too.
  private static func readAll(_ descriptor: Int32, _ path: String) throws(ConfigurationError) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count == 0 { return bytes }
      if count < 0 {
        if errno == EINTR { continue }
        throw ConfigurationError(place: path, problem: "cannot be read: \(SystemError.message(for: errno))")
      }
      bytes.append(contentsOf: chunk[..<count])
      guard bytes.count <= sizeLimit else {
        throw ConfigurationError(
          place: path, problem: "has more than \(sizeLimit) bytes; it is no configuration")
      }
    }
  }
}
