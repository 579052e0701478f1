internal import Sensors
package import Spatial

/// Lets one sample through per interval.
package struct RateLimit: Hashable, Sendable {
  /// Seconds between samples.
  package var interval: Double
  private var last: Timestamp?

  package init(interval: Double) { self.interval = interval }

  /// Whether a sample of this time passes.
  package mutating func passes(_ time: Timestamp) -> Bool {
    if let last, time.seconds(since: last) < interval, time >= last { return false }
    last = time
    return true
  }
}

extension SampleBlocks {
  /// Leaves out the temperatures that come with every scan of the chip but that nobody needs so often.
  mutating func thinThermometer(_ limit: inout RateLimit) {
    var kept = limit
    filterThermometer { kept.passes($0.timestamp) }
    limit = kept
  }
}
