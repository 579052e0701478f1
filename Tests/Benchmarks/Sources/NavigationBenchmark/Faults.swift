import Foundation

/// Several faults of a device combined, compared with the drive as recorded.
struct Faults {
  /// Duration in s of the compared outages.
  static let length = 60.0
  static let offset = 0.25
  /// Gyroscope bias in rad/s on every axis.
  static let bias = Double.pi / 180
  static let rate = 50.0

  static let header =
    "data,seed,offset_ms,n,mean_m,nominal_m,more_percent,moving_s,false_stop_s,false_stop_percent"

  /// Prints a line for each seed, and one for all of them.
  static func print(_ recordings: [Recording], seeds: Int, usesSpeed: Bool) {
    Swift.print(header)
    for original in recordings {
      let nominal = Outages(original, usesSpeed: usesSpeed, smooth: false)
      guard let expected = nominal.mean(length) else { continue }
      Swift.print(line(original.name, "nominal", 0, nominal, expected))
      var all: [Double] = []
      for seed in 1...max(1, seeds) {
        let offset = seed % 2 == 1 ? offset : -offset
        var recording = original
        recording.decimate(to: rate)
        recording.mount(seed: UInt64(seed))
        recording.shift(seconds: offset)
        recording.addBias(bias)
        let outages = Outages(recording, usesSpeed: usesSpeed, smooth: false)
        Swift.print(line(original.name, "\(seed)", offset, outages, expected))
        all.append(outages.mean(length) ?? .nan)
      }
      let mean = all.reduce(0, +) / Double(all.count)
      Swift.print(
        String(
          format: "%@,all,,,%.2f,%.2f,%.1f,,,", original.name, mean, expected, 100 * (mean / expected - 1)))
    }
  }

  private static func line(
    _ name: String, _ seed: String, _ offset: Double, _ outages: Outages, _ expected: Double
  ) -> String {
    let mean = outages.mean(length) ?? .nan
    return String(
      format: "%@,%@,%.0f,%d,%.2f,%.2f,%.1f,%.0f,%.2f,%.3f", name, seed, 1000 * offset,
      outages.ends[length]?.count ?? 0, mean, expected, 100 * (mean / expected - 1), outages.movingTime,
      outages.falseStopTime, 100 * outages.falseStopTime / max(1, outages.movingTime))
  }
}
