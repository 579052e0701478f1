internal import Glibc
internal import Platform
internal import Telemetry

/// The folder of what remote management keeps across restarts. A file is replaced whole: a loss of power at any moment
/// leaves the old or the new one.
struct RemoteFolder: Sendable {
  let path: String

  private static let settingsName = "settings.json"
  private static let regionsName = "regions.geojson"
  private static let sizeLimit = 1 << 22

  var historyPath: String { "\(path)/track" }

  /// Makes the folder where only the last part of it is missing.
  func make() throws(SystemError) {
    guard mkdir(path, 0o750) != 0, errno != EEXIST else { return }
    throw SystemError(operation: "make the folder", object: "\(path) (remote.path)", code: errno)
  }

  /// What is remembered; nothing when there is no file.
  ///
  /// - Throws: `JSONError` or `SystemError` when there is one that cannot be read.
  func memory() throws -> RemoteMemory {
    guard let bytes = try read(Self.settingsName) else { return RemoteMemory() }
    return try RemoteMemory(decoding: bytes)
  }

  func save(_ memory: RemoteMemory) throws(SystemError) {
    try WholeFile.replace("\(path)/\(Self.settingsName)", with: memory.encoded)
  }

  /// The regions that were set remotely; nil when none were.
  func regions() throws(SystemError) -> [UInt8]? { try read(Self.regionsName) }

  /// - Parameter document: nil forgets them.
  func save(regions document: [UInt8]?) throws(SystemError) {
    if let document { return try WholeFile.replace("\(path)/\(Self.regionsName)", with: document) }
    guard unlink("\(path)/\(Self.regionsName)") != 0, errno != ENOENT else { return }
    throw SystemError(operation: "remove", object: "\(path)/\(Self.regionsName)", code: errno)
  }

  private func read(_ name: String) throws(SystemError) -> [UInt8]? {
    let file: RandomAccessFile
    do throws(SystemError) {
      file = try RandomAccessFile(path: "\(path)/\(name)", access: .readOnly)
    } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
    return try file.read(count: min(Int(file.size), Self.sizeLimit), at: 0)
  }
}
