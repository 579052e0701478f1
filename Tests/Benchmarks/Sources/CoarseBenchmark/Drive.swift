import Foundation
import Recordings
import Sensors
import Spatial

/// Positions of a vehicle by time.
struct Drive {
  var name: String
  /// Seconds, and metres in the drive's own plane.
  var points: [(time: Double, place: SIMD2<Double>)]
  var frame: LocalFrame

  struct Problem: Error, CustomStringConvertible {
    var description: String
  }

  /// Reads the NMEA drives in `tracks` and the reference of `kingston-2008`, both in a folder.
  static func all(in folder: String) throws -> [Drive] {
    let manager = FileManager.default
    let tracks = (try? manager.contentsOfDirectory(atPath: folder + "/tracks").sorted()) ?? []
    var drives = try tracks.filter { $0.hasSuffix(".nmea") }.map { try nmea(folder + "/tracks/" + $0) }
    let kingston = folder + "/kingston-2008/truth.csv"
    if manager.fileExists(atPath: kingston) { drives.append(try truth(kingston)) }
    guard !drives.isEmpty else {
      throw Problem(description: "\(folder): contains neither tracks/*.nmea nor kingston-2008/truth.csv")
    }
    return drives
  }

  private static func nmea(_ path: String) throws -> Drive {
    var recording = try NMEARecording(path: path, toleratingBrokenSentences: true)
    var fixes: [(Double, Coordinate)] = []
    while let event = try recording.next() {
      guard case .position(let block) = event else { continue }
      for fix in block {
        guard let coordinate = fix.coordinate, coordinate.isValid else { continue }
        fixes.append((fix.timestamp.seconds, coordinate))
      }
    }
    return try Drive(path, fixes)
  }

  private static func truth(_ path: String) throws -> Drive {
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst()
    let rows = lines.map { $0.split(separator: ",").prefix(3).compactMap { Double($0) } }
    guard let broken = rows.firstIndex(where: { $0.count < 3 }) else {
      return try Drive(path, rows.map { ($0[0], Coordinate(latitude: $0[1], longitude: $0[2])) })
    }
    throw Problem(description: "\(path): row \(broken + 2) has no t, lat, lon")
  }

  private init(_ path: String, _ fixes: [(Double, Coordinate)]) throws {
    guard let first = fixes.first, fixes.count > 100 else {
      throw Problem(description: "\(path): contains no drive")
    }
    let words = path.split(separator: "/")
    name = words.last == "truth.csv" ? String(words[words.count - 2]) : String(words.last ?? "")
    frame = LocalFrame(origin: first.1)
    points = []
    for (time, coordinate) in fixes where points.last.map({ $0.time < time }) ?? true {
      points.append((time - first.0, frame.offset(of: coordinate)))
    }
  }

  /// Returns the drive in the opposite direction, offset to the right by the given distance in m.
  func returning(beside metres: Double) -> Drive {
    var drive = self
    let end = duration
    drive.points = points.indices.reversed().map { index in
      let way = points[max(0, index - 1)].place - points[min(points.count - 1, index + 1)].place
      let length = (way * way).sum().squareRoot()
      let right = length > 0.1 ? SIMD2(way.y, -way.x) / length : SIMD2(0, 0)
      return (end - points[index].time, points[index].place + metres * right)
    }
    return drive
  }

  var duration: Double { points.last?.time ?? 0 }

  /// Position in metres in the drive's plane.
  func place(at time: Double) -> SIMD2<Double> {
    var (low, high) = (0, points.count - 1)
    while low + 1 < high {
      let middle = (low + high) / 2
      if points[middle].time <= time { low = middle } else { high = middle }
    }
    let (a, b) = (points[low], points[high])
    guard b.time > a.time else { return a.place }
    let part = min(1, max(0, (time - a.time) / (b.time - a.time)))
    return a.place + part * (b.place - a.place)
  }
}
