/// Durations: a number with `s`, `m`, `h` or `d`, or a number of seconds.
package enum DurationText {
  private static let units: [(suffix: String, seconds: Double)] = [
    ("min", 60), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400),
  ]
  private static let most = 3650.0 * 86_400

  /// Parses a duration; returns seconds, more than 0 and at most ten years.
  /// - Parameter option: the name of the option, for the error.
  /// - Throws: `FleetError` for an invalid duration.
  package static func seconds(parsing text: String, of option: String) throws(FleetError) -> Double {
    let unit = units.first { text.hasSuffix($0.suffix) }
    let number = text.dropLast(unit?.suffix.count ?? 0)
    let isPlain = !number.isEmpty && number.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
    guard isPlain, let value = Double(number), case let seconds = value * (unit?.seconds ?? 1), seconds > 0,
      seconds <= most
    else {
      throw .usage(
        "use", "\(option) \(text.prefix(40))", "must be a time as in 90s, 10m, 2h or 3d, ten years at most")
    }
    return seconds
  }
}
