import Foundation
import Positioning
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// 100,000 polygons around two recorded drives.
@Suite(.serialized, .needs(.recordings("tracks"))) struct RegionReplayTests {
  private static let tracks = ["mtv_ublox_f9k_slim2025.nmea", "munich_2025.nmea"]
  private static let seed: UInt64 = 20_261_121

  private static let recorded = Result { try tracks.map(PlaneTrack.recorded) }

  /// Stars with 5 to 9 corners and a size of 20 to 150 m, up to 3 km from a fix of one of the drives.
  private static func plant(_ count: Int, around tracks: [[Location]]) -> [[Coordinate]] {
    var random = SeededGenerator(seed: seed)
    return (0..<count).map { index in
      let track = tracks[index % tracks.count]
      let fix = track[Int.random(in: track.indices, using: &random)].coordinate
      let away = 3000 * Double.random(in: 0...1, using: &random)
      let angle = Double.random(in: 0...(2 * .pi), using: &random)
      let center = LocalFrame(origin: fix).coordinate(at: SIMD2(cos(angle), sin(angle)) * away)
      let frame = LocalFrame(origin: center)
      let corners = Int.random(in: 5...9, using: &random)
      let size = Double.random(in: 20...150, using: &random)
      return (0..<corners).map { corner in
        let turn = 2 * Double.pi * Double(corner) / Double(corners)
        return frame.coordinate(
          at: SIMD2(cos(turn), sin(turn)) * size * Double.random(in: 0.5...1, using: &random))
      }
    }
  }

  /// With an accuracy of a micrometre and straight lines between fixes, the probabilities reduce to plain geometry, which the reference
  /// calculates by brute force.
  @Test func accurateFixesYieldExactTransitions() throws {
    let tracks = try Self.recorded.get()
    let rings = Self.plant(100_000, around: tracks)
    var settings = RegionMonitor.Settings()
    (settings.leastAccuracy, settings.bend) = (0, 0)
    var planted = RegionMonitor(settings: settings)
    let acceptance = planted.replaceAll(
      rings.enumerated().map { Region(identifier: "\($0.offset)", rings: [$0.element]) })
    #expect(acceptance.refused.isEmpty && planted.count == 100_000)
    let reference = RegionReference(rings)
    for track in tracks {
      var monitor = planted
      var told: [String] = []
      for (step, location) in track.enumerated() {
        var location = location
        location.horizontalAccuracy = 1e-6
        let events = monitor.process(location)
        told += events.map { "\(step) \($0.kind) \($0.identifier)" }
        #expect(events.allSatisfy { $0.timestamp <= location.timestamp && !$0.isLate })
      }
      let expected = reference.transitions(of: track.map(\.coordinate))
      #expect(expected.count > 1000)
      #expect(told.sorted() == expected)
    }
  }

  /// With realistic accuracies, the events of a region do not depend on other regions: each region alone, where the index excludes nothing,
  /// yields the same events.
  @Test func indexYieldsEqualTransitions() throws {
    let tracks = try Self.recorded.get()
    let regions = Self.plant(600, around: tracks).enumerated().map {
      Region(identifier: "\($0.offset)", rings: [$0.element], dwell: 20)
    }
    for track in tracks {
      var together = RegionMonitor()
      together.replaceAll(regions)
      var told: [String: [RegionEvent]] = [:]
      for location in track {
        for event in together.process(location) { told[event.identifier, default: []].append(event) }
      }
      #expect(told.count > 10)
      // Regions with events, and some without.
      for region in regions
      where told[region.identifier] != nil || Int(region.identifier).map({ $0 % 50 == 0 }) == true {
        var alone = RegionMonitor()
        alone.replaceAll([region])
        let events = track.flatMap { alone.process($0) }
        #expect(events == told[region.identifier] ?? [], "\(region.identifier)")
        for (a, b) in zip(events, events.dropFirst()) where a.kind != .dwell && b.kind != .dwell {
          #expect(a.kind != b.kind, "\(region.identifier)")
        }
      }
    }
  }
}
