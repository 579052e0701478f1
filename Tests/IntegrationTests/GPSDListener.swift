import Platform
import Sensors
import SensorsGPSD
import TestSupport

/// Collects the events of a source.
final class GPSDListener: Sendable {
  private let events = Locked<[SensorEvent]>([])

  var sink: SensorSink {
    { [events] event in events.withLock { $0.append(event) } }
  }

  var fixes: [PositionFix] {
    events.withLock { events in
      events.flatMap { event -> [PositionFix] in
        if case .position(let block) = event { block } else { [] }
      }
    }
  }

  /// Number of fixes in each received block.
  var blocks: [Int] {
    events.withLock { events in
      events.compactMap { event in
        if case .position(let block) = event { block.count } else { nil }
      }
    }
  }

  var states: [SourceStatus.State] {
    events.withLock { events in
      events.compactMap { event in
        if case .status(let status) = event { status.state } else { nil }
      }
    }
  }

  /// Waits until no fix has arrived for `seconds`: a log that is played once has ended.
  func waitForSilence(seconds: Double, atMost limit: Double) {
    var count = -1
    var quiet = 0.0
    _ = waitUntil(atMost: limit) {
      let now = blocks.reduce(0, +)
      quiet = now == count && now > 0 ? quiet + 0.01 : 0
      count = now
      return quiet >= seconds
    }
  }
}

/// A recorded drive received through a real gpsd. Each drive is played once and shared by all tests.
struct DriveThroughGPSD {
  let path: String
  let listener = GPSDListener()

  static let munich = Result { try DriveThroughGPSD("munich_2025") }
  static let mountainView = Result { try DriveThroughGPSD("mtv_ublox_f9k_slim2025") }

  private init(_ track: String) throws {
    path = try Shared.file("data/tracks/\(track).nmea")
    let gpsd = try GPSDFixture(log: path, leadIn: 600, secondsPerSentence: 0.005)
    let source = try GPSDSource(GPSDAddress(port: gpsd.port))
    source.setDemand(always, for: .positioning)
    try source.start(listener.sink)
    listener.waitForSilence(seconds: 3, atMost: 120)
    source.stop()
    gpsd.stop()
  }
}

/// A demand for continuous reports at 1 Hz.
let always = SensorDemand.rate(hertz: 1, latency: .seconds(1))
