internal import Spatial

/// How many messages and bytes come in a second, over the last few.
struct RateMeter: Sendable {
  private struct Sample {
    var at: Timestamp
    var messages: Int
    var bytes: Int
  }

  /// Seconds that are looked back on: short follows at once, long is calm.
  private static let span = 3.0

  private var samples: [Sample] = []

  /// Takes the counters as they are now.
  mutating func add(messages: Int, bytes: Int, at now: Timestamp) {
    samples.append(Sample(at: now, messages: messages, bytes: bytes))
    // The newest of those beyond the span stays, so that the samples cover it.
    while samples.count > 2, now.seconds(since: samples[1].at) >= Self.span { samples.removeFirst() }
  }

  var rates: WatchView.Rates {
    guard let first = samples.first, let last = samples.last else { return .init() }
    let seconds = last.at.seconds(since: first.at)
    guard seconds > 0 else { return .init() }
    return .init(
      messages: Double(last.messages - first.messages) / seconds,
      bytes: Double(last.bytes - first.bytes) / seconds)
  }
}
