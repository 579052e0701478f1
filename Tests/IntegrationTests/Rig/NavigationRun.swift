import Foundation
import JSON
import Positioning
import Sensors
import Spatial
import Telemetry

/// Positions that a subscriber received during a drive through tunnels, compared with the true positions.
struct NavigationRun: CustomStringConvertible {
  /// A published position: time in s of the drive, offset from the true position in m east and north, and radius in m with a probability
  /// of 68 %.
  struct Place {
    var time: Double
    var offset: SIMD2<Double>
    var radius: Double
    var source: PositionSource?

    var error: Double { hypot(offset.x, offset.y) }
    /// Radius with a probability of 95 % for equal variances in all directions, the smallest possible one.
    var radius95: Double { 1.6214 * radius }
  }

  let drive: PlayedDrive
  let tunnels: [Range<Int>]
  let start: Double
  let messages: [PrintedMessage]
  let log: String
  /// Positions of `location` in order of time, and those of each correcting `track`.
  let places: [Place]
  let corrections: [[Place]]

  init(
    drive: PlayedDrive, tunnels: [Range<Int>], start: Double, messages: [PrintedMessage], log: String
  ) {
    (self.drive, self.tunnels, self.start, self.messages, self.log) = (drive, tunnels, start, messages, log)
    func place(_ time: Double, _ coordinate: Coordinate, _ radius: Double?, _ source: PositionSource?)
      -> Place?
    {
      guard let radius, let truth = drive.place(at: time) else { return nil }
      let offset = LocalFrame(origin: truth, altitude: 0).offset(of: coordinate)
      return Place(time: time, offset: SIMD2(offset.x, offset.y), radius: radius, source: source)
    }
    places = messages.filter { $0.kind == "location" }.compactMap { try? LocationMessage(json: $0.payload) }
      .compactMap {
        place(
          $0.time.secondsSince1970 - start, $0.location.coordinate, $0.location.horizontalAccuracy,
          $0.location.positionSource)
      }
    corrections = messages.filter { $0.kind == "track" }.compactMap { try? TrackMessage(json: $0.payload) }
      .filter(\.isCorrection).map { track in
        track.fixes.compactMap {
          place($0.time.secondsSince1970 - start, $0.coordinate, $0.horizontalAccuracy, nil)
        }
      }
  }

  /// Positions published in a tunnel. The receiver counts as lost 2 s after its start.
  func inside(_ tunnel: Range<Int>) -> [Place] {
    places.filter { $0.time > Double(tunnel.lowerBound) + 2.5 && $0.time < Double(tunnel.upperBound) - 0.5 }
  }

  /// The last position published in a tunnel and the first after it.
  func reentry(_ tunnel: Range<Int>) -> (last: Place, first: Place)? {
    guard let last = inside(tunnel).last(where: { $0.source == .inertial }),
      let first = places.first(where: { $0.time > last.time && $0.source != .inertial })
    else { return nil }
    return (last, first)
  }

  /// The corrected positions of a tunnel.
  func correction(_ tunnel: Range<Int>) -> [Place]? {
    let way = corrections.first { way in
      way.contains { $0.time > Double(tunnel.lowerBound) && $0.time < Double(tunnel.upperBound) }
    }
    return way?.filter { $0.time > Double(tunnel.lowerBound) && $0.time < Double(tunnel.upperBound) }
  }

  /// Fused positions of receiver and sensors published in the 30 s before a tunnel.
  func before(_ tunnel: Range<Int>) -> [Place] {
    let begin = Double(tunnel.lowerBound)
    return places.filter { $0.source == .fused && $0.time > begin - 30 && $0.time < begin }
  }

  static func rootMeanSquare(_ places: [Place]) -> Double {
    (places.reduce(0) { $0 + $1.error * $1.error } / Double(max(1, places.count))).squareRoot()
  }

  var description: String {
    func text(_ value: Double) -> String { String(format: "%.2f", value) }
    let lines = tunnels.map { tunnel -> String in
      let (told, way) = (inside(tunnel), correction(tunnel) ?? [])
      let last = told.last.map { "\(text($0.error)) m of \(text($0.radius)) at its end" } ?? "no position"
      let jump = reentry(tunnel).map {
        text(hypot($0.first.offset.x - $0.last.offset.x, $0.first.offset.y - $0.last.offset.y))
      }
      return "tunnel \(tunnel) s: before it RMS \(text(Self.rootMeanSquare(before(tunnel)))) m in "
        + "\(before(tunnel).count) places; \(told.count) places, RMS \(text(Self.rootMeanSquare(told))) m, \(last), "
        + "\(told.count { $0.error <= $0.radius }) inside 68 %, \(told.count { $0.error <= $0.radius95 }) inside 95 %; "
        + "worst \(text(told.map { $0.error / $0.radius95 }.max() ?? 0)) of a radius; re-entry \(jump ?? "none") m; corrected \(way.count) fixes, RMS \(text(Self.rootMeanSquare(way))) m"
    }
    return "\(drive.name):\n" + lines.joined(separator: "\n")
  }
}
