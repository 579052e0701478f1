import Foundation

/// The recordings beside the project, which are not part of it: `../shared` seen from the repository, or
/// `ODOGRAPH_SHARED`. A test that reads one says so with `.needs(.recordings("…"))`.
public enum Shared {
  /// The folder; nil when it is absent.
  public static let folder: String? = {
    let path =
      ProcessInfo.processInfo.environment["ODOGRAPH_SHARED"]
      ?? URL(filePath: ContractScript.repository).deletingLastPathComponent().appending(path: "shared").path
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  /// A file in the folder by its path there, as in "data/tracks/munich_2025.nmea".
  /// - Throws: `CocoaError` when it is absent.
  public static func file(_ path: String) throws -> String {
    let file = "\(folder ?? "../shared")/\(path)"
    guard FileManager.default.fileExists(atPath: file) else {
      throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: file])
    }
    return file
  }

  /// The text of a file in the folder.
  public static func text(_ path: String) throws -> String {
    try String(contentsOfFile: file(path), encoding: .utf8)
  }

  /// Whether the long forms of tests are wanted.
  public static var isFullRun: Bool { ProcessInfo.processInfo.environment["ODOGRAPH_FULL"] == "1" }
}
