import Foundation
import Spatial

/// GEOS' STRtree with prepared polygons, by the PyPI package `shapely` in a child process.
enum GEOS {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  static func run(_ fences: Fences) throws -> (rate: Double, hits: Int) {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("region-peer-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try write(fences.polygons.joined(), to: folder.appendingPathComponent("polygons.f64"))
    try write(fences.positions, to: folder.appendingPathComponent("positions.f64"))
    let script = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Peers/geos.py")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", script.path, folder.path, String(Fences.vertexCount)]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let fields = text.split(whereSeparator: { $0 == "," || $0.isNewline })
    guard process.terminationStatus == 0, fields.count == 2, let rate = Double(fields[0]),
      let hits = Int(fields[1])
    else {
      throw Failure(description: "Peers/geos.py failed; it requires `pip install numpy shapely`")
    }
    return (rate, hits)
  }

  /// Writes longitude and latitude as float64.
  private static func write(_ coordinates: some Sequence<Coordinate>, to url: URL) throws {
    let values = coordinates.flatMap { [$0.longitude, $0.latitude] }
    try values.withUnsafeBytes { Data($0) }.write(to: url)
  }
}
