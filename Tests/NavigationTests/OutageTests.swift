import Glibc
import Navigation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Outages, outliers and gaps.
@Suite struct OutageTests {
  /// The track through an outage is corrected afterwards; it is more accurate than the live positions, and its radii are adequate.
  @Test func trackThroughAnOutageIsCorrected() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive().samples(&generator)
    var filter = NavigationFilter()
    filter.play(samples, isSeen: { $0 < 200 || $0 > 260 })
    #expect(filter.isTrackFinished)
    let taken = filter.drainCorrectedTrack()
    let track = try #require(taken)
    let again = filter.drainCorrectedTrack()
    #expect(again == nil && filter.correctedTrack.isEmpty)
    #expect(track.count > 55 && track.count < 64)
    let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)
    var (squares, live, inside) = (0.0, 0.0, 0.0)
    for point in track {
      let truth = samples[Int(((point.timestamp.seconds - 100) * 50).rounded())].truth.position
      func error(_ coordinate: Coordinate) -> Double {
        let offset = frame.offset(of: coordinate)
        return hypot(offset.x - truth.x, offset.y - truth.y)
      }
      squares += error(point.coordinate) * error(point.coordinate)
      live += error(point.live) * error(point.live)
      inside += error(point.coordinate) <= point.radius95 ? 1 : 0
      #expect(point.radius68 < point.radius95)
    }
    let count = Double(track.count)
    #expect((squares / count).squareRoot() < 1.5, "\((squares / count).squareRoot()) m")
    #expect(squares < live || live / count < 1)
    #expect(inside / count > 0.6)
  }

  /// The track of a very long outage is stored completely in bounded memory.
  @Test func longTrackGetsCoarser() {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 560).samples(&generator)
    var filter = NavigationFilter()
    filter.play(samples, isSeen: { $0 < 200 || $0 > 540 }, usesSpeed: true)
    let track = filter.correctedTrack
    #expect(track.count > 128 && track.count <= 256)
    #expect(track[0].timestamp.seconds < 303)
    #expect(track[track.count - 1].timestamp.seconds > 635)
  }

  /// Single outliers do not change the position and are counted.
  @Test func outliersAreRejected() throws {
    var generator = SeededGenerator.announced()
    var samples = SyntheticDrive().samples(&generator)
    var count = 0
    for index in samples.indices where samples[index].truth.time > 200 {
      guard let fix = samples[index].fix, generator.nextUniform() < 0.2 else { continue }
      samples[index].fix?.coordinate = fix.coordinate?.destination(distance: 80, bearing: 90)
      samples[index].fix?.altitudeEllipsoidal = 600
      count += 1
    }
    var filter = NavigationFilter()
    filter.play(samples)
    let error = try #require(filter.error(samples[samples.count - 1].truth))
    #expect(error < 1.5, "\(error) m with \(count) outliers")
    #expect(filter.counters.outliers >= count * 9 / 10)
  }

  /// Positions that remain displaced are accepted in the end, and the jump is counted.
  @Test func lastingJumpIsAccepted() throws {
    var generator = SeededGenerator.announced()
    var samples = SyntheticDrive(length: 260).samples(&generator)
    for index in samples.indices where samples[index].truth.time > 200 {
      guard let fix = samples[index].fix else { continue }
      samples[index].fix?.coordinate = fix.coordinate?.destination(distance: 300, bearing: 0)
      samples[index].fix?.altitudeEllipsoidal = 700
    }
    var filter = NavigationFilter()
    filter.play(samples.prefix { $0.truth.time < 202 })
    let first = try #require(filter.error(samples[Int(201.9 * 50)].truth))
    #expect(first < 2)
    filter.play(samples.drop { $0.truth.time < 202 })
    #expect(filter.counters.jumps >= 1)
    let last = try #require(filter.error(samples[samples.count - 1].truth))
    #expect(abs(last - 300) < 10)
  }

  /// Gaps in inertial samples are counted. A gap of 1 s keeps the alignment; a gap of 5 s restarts it.
  @Test func gapsAreReported() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive().samples(&generator)
    func gap(_ length: Double) -> NavigationFilter {
      var filter = NavigationFilter()
      filter.play(
        samples.filter { $0.truth.time < 230 || $0.truth.time > 230 + length }.prefix { $0.truth.time < 250 })
      return filter
    }
    let short = gap(1)
    #expect(short.counters.gaps == 1 && short.state == .aligned)
    #expect(try #require(short.error(samples[250 * 50 - 1].truth)) < 2)
    let long = gap(5)
    #expect(long.counters.gaps == 1 && long.counters.realignments == 1)
    #expect(long.state != .aligned || long.counters.alignments == 2)
  }

  /// The estimate is withdrawn when its radius exceeds the limit in a long outage.
  @Test func largeUncertaintyEndsNavigation() {
    var generator = SeededGenerator.announced()
    var parameters = NavigationFilter.Parameters()
    parameters.largestRadius = 3
    let samples = SyntheticDrive(length: 400).samples(&generator)
    var filter = NavigationFilter(parameters)
    filter.play(samples, isSeen: { $0 < 200 })
    #expect(filter.estimate == nil)
    #expect(filter.state == .waiting(.uncertain))
  }
}
