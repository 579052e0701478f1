import Platform
import Sensors
import TestSupport

/// Collects what a source hands over.
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

  /// How many fixes came together, each time.
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

  /// Waits until nothing has come for a while: the end of a log that was played once.
  func waitForSilence(seconds: Double, atMost limit: Double) {
    var count = -1
    var quiet = 0.0
    _ = waitUntil(atMost: limit) {
      let now = fixes.count
      quiet = now == count && now > 0 ? quiet + 0.01 : 0
      count = now
      return quiet >= seconds
    }
  }
}

/// What a source that is wanted all the time is asked for.
let always = SensorDemand.rate(hertz: 1, latency: .seconds(1))
