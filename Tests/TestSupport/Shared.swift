import Foundation

/// The recordings beside the project, which are not part of it: `../shared` seen from the repository, or
/// `ODOGRAPH_SHARED`. Tests that need one say so when it is absent.
public enum Shared {
  /// The folder; nil when it is absent.
  public static let folder: String? = {
    if let path = ProcessInfo.processInfo.environment["ODOGRAPH_SHARED"] { return existing(path) }
    // This file lies in <repository>/Tests/TestSupport.
    let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return existing(repository.deletingLastPathComponent().appendingPathComponent("shared").path)
  }()

  /// A file in the folder by its path there, as in "data/tracks/munich_2025.nmea"; nil, with a line that says what is
  /// skipped, when it is absent.
  public static func file(_ path: String) -> String? {
    if let file = folder.flatMap({ existing($0 + "/" + path) }) { return file }
    print("skipped: needs ../shared/\(path), which is absent (set ODOGRAPH_SHARED to the folder)")
    return nil
  }

  private static func existing(_ path: String) -> String? {
    FileManager.default.fileExists(atPath: path) ? path : nil
  }
}
