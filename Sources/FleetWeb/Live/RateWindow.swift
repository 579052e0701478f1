package import Spatial

/// A rate meter over the last ten full seconds: a ring buffer of counts.
package struct RateWindow: Hashable, Sendable {
  private static let span = 10

  private var messages: [Int]
  private var bytes: [Int]
  /// The current second; nil before the first message.
  private var second: Int64?
  private var first: Int64 = 0

  package init() {
    messages = Array(repeating: 0, count: Self.span + 1)
    bytes = messages
  }

  package mutating func add(bytes count: Int, at now: Timestamp) {
    turn(to: now.nanoseconds / 1_000_000_000)
    let place = Int((second ?? 0) % Int64(Self.span + 1))
    messages[place] += 1
    bytes[place] += count
  }

  /// Returns the rates per second; 0 before a full second has passed.
  package mutating func rates(at now: Timestamp) -> (messages: Double, bytes: Double) {
    guard second != nil else { return (0, 0) }
    turn(to: now.nanoseconds / 1_000_000_000)
    guard let second else { return (0, 0) }
    let current = Int(second % Int64(Self.span + 1))
    let seconds = Double(min(Int64(Self.span), second - first))
    guard seconds > 0 else { return (0, 0) }
    let sum = messages.reduce(0, +) - messages[current]
    return (Double(sum) / seconds, Double(bytes.reduce(0, +) - bytes[current]) / seconds)
  }

  private mutating func turn(to now: Int64) {
    guard let second else {
      (second, first) = (now, now)
      return
    }
    guard now > second else { return }
    for step in 1...min(now - second, Int64(Self.span + 1)) {
      let place = Int((now - step + 1) % Int64(Self.span + 1))
      messages[place] = 0
      bytes[place] = 0
    }
    self.second = now
  }
}
