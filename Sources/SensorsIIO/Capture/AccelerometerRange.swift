internal import Glibc
internal import Sensors

/// The selectable ranges of an accelerometer. The kernel offers them as scales.
package struct AccelerometerRanges: Hashable, Sendable {
  package struct Option: Hashable, Sendable {
    /// The scale as the driver writes it. Drivers compare all of its digits.
    package var text: String
    /// The step of a raw value, and the largest value of an axis, in m/s².
    package var scale: Double
    package var range: Double
  }
  /// The options, ascending by range.
  package private(set) var options: [Option]

  /// Parses the attribute `scale_available`.
  ///
  /// - Parameter largest: the largest raw value, including the offset.
  package init(parsing text: String, largest: Double) {
    // A continuous interval, as "[minimum step maximum]", is unusual for ranges.
    let words = text.contains("[") ? [] : text.split { " \t\n,".contains($0) }
    options = words.compactMap { word in
      guard let scale = Double(word), scale.isFinite, scale > 0 else { return nil }
      return Option(text: String(word), scale: scale, range: abs(largest * scale))
    }.sorted { $0.range < $1.range }
  }

  /// Returns the smallest range that is sufficient, or the largest one, of those with sufficient resolution; nil if
  /// there is none.
  package func best(for demand: IIOConfiguration.RangeDemand) -> Option? {
    let fine = options.filter { $0.scale <= demand.resolution }
    return fine.first { demand.isSatisfied(by: $0.range, at: demand.requested) } ?? fine.last
  }
}

extension IIOConfiguration.RangeDemand {
  /// Returns whether a range is at least `limit`. A nominal range of 16 g is 16 g minus a step, and rounded.
  func isSatisfied(by range: Double, at limit: Double) -> Bool { range >= limit * 0.98 }
}

extension Device {
  /// Sets the range of an accelerometer to the nearest that its driver offers.
  ///
  /// - Returns: the range in m/s² that the driver then reports, nil if unknown; and the reason if it is smaller than
  ///   requested.
  func setRange(
    of sensor: IIOInventory.Sensor, to demand: IIOConfiguration.RangeDemand
  ) throws(IIOError) -> (range: Double?, problem: IIOError?) {
    var failure: IIOError?
    if let option = try rangeOption(of: sensor, for: demand) {
      // Of most chips all axes share one attribute, which is then written once.
      for identifier in sensor.channels {
        do throws(IIOError) {
          try withChannel(identifier) { channel throws(IIOError) in
            guard let present = try channel.number("scale"), abs(present / option.scale - 1) > 1e-3 else {
              return
            }
            _ = try channel.setAttribute("scale", to: option.text)
          }
        } catch {
          guard !error.isLoss else { throw error }
          failure = error
          break
        }
      }
    }
    let range = try reading { () throws(IIOError) in
      try withChannel(sensor.channels[0]) { channel throws(IIOError) in
        try channel.range(of: sensor.kind)
      }
    }
    return (range, problem(failure, range: range, demand))
  }

  /// Returns the reason why a capture with a demand would have a smaller range than requested; nil if it would not, or
  /// if the range is unknown. Sets nothing.
  ///
  /// - Parameter range: the present range in m/s²; nil if unknown.
  func rangeProblem(
    of sensor: IIOInventory.Sensor, range: Double?, for demand: IIOConfiguration.RangeDemand
  ) throws(IIOError) -> IIOError? {
    guard let range else { return nil }
    guard let option = try rangeOption(of: sensor, for: demand), abs(range / option.range - 1) > 1e-3 else {
      return problem(nil, range: range, demand)
    }
    let file = "/sys/bus/iio/devices/\(identifier)/in_accel_scale"
    guard uri.hasPrefix("local:"), unsafe access(file, W_OK) != 0, errno != ENOENT else {
      return problem(nil, range: option.range, demand)
    }
    let refusal = IIOError(
      operation: .set("to \(option.text)"), object: "\(object) \(sensor.channels[0]) scale", errno: errno)
    return problem(refusal, range: range, demand)
  }

  private func problem(
    _ failure: IIOError?, range: Double?, _ demand: IIOConfiguration.RangeDemand
  ) -> IIOError? {
    guard let range else { return failure }
    let isSufficient = demand.isSatisfied(by: range, at: demand.required)
    guard failure != nil || !isSufficient else { return nil }
    var problem =
      failure
      ?? IIOError(
        operation: .set("the range of"), object: object,
        reason: "its driver offers no larger one with this resolution; use another accelerometer")
    problem.reason +=
      "; accelerations above \(Self.text(range)) g are not measured"
      + (isSufficient ? "" : ", and impacts require \(Self.text(demand.required)) g")
    return problem
  }

  private static func text(_ range: Double) -> String {
    SamplingFrequencies.text((range / standardGravity * 10).rounded() / 10)
  }

  private func rangeOption(
    of sensor: IIOInventory.Sensor, for demand: IIOConfiguration.RangeDemand
  ) throws(IIOError) -> AccelerometerRanges.Option? {
    try reading { () throws(IIOError) -> AccelerometerRanges.Option? in
      let first = sensor.channels[0]
      guard let text = try rateAttribute("scale_available", channel: first) else { return nil }
      let largest = try withChannel(first) { channel throws(IIOError) -> Double? in
        guard let raw = try channel.lastRawValue() else { return nil }
        return raw + (try channel.number("offset") ?? 0)
      }
      return largest.flatMap { AccelerometerRanges(parsing: text, largest: $0).best(for: demand) }
    }
  }

  /// Returns nil for an attribute that cannot be read.
  private func reading<Value>(_ read: () throws(IIOError) -> Value?) throws(IIOError) -> Value? {
    do throws(IIOError) { return try read() } catch {
      guard !error.isLoss else { throw error }
      return nil
    }
  }
}
