import Foundation

/// The recordings beside the repository, which are not part of it: `../shared` relative to the repository, or the folder in
/// `ODOGRAPH_SHARED`. Tests that read a recording declare it with `.needs(.recordings("…"))`.
public enum Shared {
  /// Path of the folder; nil if it does not exist.
  public static let folder: String? = {
    let path =
      ProcessInfo.processInfo.environment["ODOGRAPH_SHARED"]
      ?? URL(filePath: ContractScript.repository).deletingLastPathComponent().appending(path: "shared").path
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  /// Returns the path of a file in the folder, such as "data/tracks/munich_2025.nmea".
  /// - Throws: `CocoaError` if it does not exist.
  public static func file(_ path: String) throws -> String {
    let file = "\(folder ?? "../shared")/\(path)"
    guard FileManager.default.fileExists(atPath: file) else {
      throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: file])
    }
    return file
  }

  /// Returns the text of a file in the folder.
  public static func text(_ path: String) throws -> String {
    try String(contentsOfFile: file(path), encoding: .utf8)
  }

  /// True if `ODOGRAPH_FULL=1` selects the long versions of tests.
  public static var isFullRun: Bool { ProcessInfo.processInfo.environment["ODOGRAPH_FULL"] == "1" }
}
