/// The delays of the last messages, for a median and a tail that follow what happens now.
public struct DelayWindow: Hashable, Sendable {
  private var seconds: [Double] = []
  private var next = 0
  private let length: Int

  /// - Parameter length: how many messages are looked back on.
  public init(length: Int = 512) { self.length = max(1, length) }

  package mutating func add(_ delay: Double) {
    if seconds.count < length {
      seconds.append(delay)
    } else {
      seconds[next] = delay
    }
    next = (next + 1) % length
  }

  /// The delay in seconds that a share of the messages (0...1) stayed below; nil when there were none.
  public func quantile(_ share: Double) -> Double? {
    guard !seconds.isEmpty else { return nil }
    let sorted = seconds.sorted()
    let place = Int((Double(sorted.count - 1) * max(0, min(1, share))).rounded())
    return sorted[place]
  }
}
