/// When all satellites are lost for no reason of the route: at random, as beside a truck or under a bridge.
struct OutageModel: Sendable {
  private let meanTimeBetween: Double?
  private let duration: ClosedRange<Double>
  private var generator: SeededGenerator
  private var start: Double
  private var end: Double

  init(_ receiver: SimulatedDrive.Receiver, generator: SeededGenerator) {
    meanTimeBetween = receiver.meanTimeBetweenOutages
    duration = receiver.outageDuration
    self.generator = generator
    (start, end) = (0, 0)
    drawNext()
  }

  /// Whether nothing is heard at a time (s), which must not be before that of the last call.
  mutating func isOut(at time: Double) -> Bool {
    guard meanTimeBetween != nil else { return false }
    while time >= end { drawNext() }
    return time >= start
  }

  private mutating func drawNext() {
    guard let meanTimeBetween else { return }
    start = end + generator.nextExponential(mean: meanTimeBetween)
    end = start + duration.lowerBound + (duration.upperBound - duration.lowerBound) * generator.nextUniform()
  }
}
