import Foundation

/// Recordings that lie beside the repository, in `../shared/data`, or where `ODOGRAPH_SHARED` says.
enum SharedData {
  static func url(_ path: String, file: String = #filePath) -> URL {
    let root =
      ProcessInfo.processInfo.environment["ODOGRAPH_SHARED"].map { URL(fileURLWithPath: $0) }
      ?? URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared")
    return root.appendingPathComponent("data").appendingPathComponent(path)
  }
}
