import Foundation
import Navigation
import Sensors

/// Prints a table of drives at lower sampling rates, averaged or picked.
enum Rates {
  private enum Method: String { case recorded, averaged, picked }

  private static let header =
    "| drive | Hz | samples | mean error at 10 / 30 / 60 / 120 s, m | inside 68 % | inside 95 % | without position |\n| --- | --- | --- | --- | --- | --- | --- |"

  static func print(_ recordings: [Recording], usesSpeed: Bool, hasVelocity: Bool) {
    Swift.print(header)
    for original in recordings {
      let rate =
        Double(original.samples.count - 1)
        / (original.samples[original.samples.count - 1].time - original.samples[0].time)
      Swift.print(row(original, rate, .recorded, usesSpeed, hasVelocity))
      for lower in [50, 100.0 / 3, 25] where lower < 0.9 * rate {
        for method in [Method.averaged, .picked] {
          Swift.print(row(original, lower, method, usesSpeed, hasVelocity))
        }
      }
    }
  }

  private static func row(
    _ original: Recording, _ rate: Double, _ method: Method, _ usesSpeed: Bool, _ hasVelocity: Bool
  ) -> String {
    var recording = original
    switch method {
    case .recorded: break
    case .averaged: recording.decimate(to: rate)
    case .picked: recording.pick(to: rate)
    }
    if !hasVelocity {
      for index in recording.fixes.indices {
        recording.fixes[index].fix.speed = nil
        recording.fixes[index].fix.course = nil
        recording.fixes[index].fix.climb = nil
      }
    }
    let outages = Outages(recording, usesSpeed: usesSpeed, smooth: false)
    func cells(_ value: ([Outages.End]) -> String) -> String {
      Outages.lengths.map { outages.ends[$0].map(value) ?? "–" }.joined(separator: " / ")
    }
    func share(_ format: String, _ isInside: @escaping (Outages.End) -> Bool) -> String {
      cells { all in
        let ends = all.filter { $0.radius95 > 0 }
        return String(format: format, Double(ends.count(where: isInside)) / Double(max(1, ends.count)))
      }
    }
    let errors = cells { all in
      let ends = all.filter { $0.radius95 > 0 }
      return String(format: "%.2f", ends.map(\.error).reduce(0, +) / Double(max(1, ends.count)))
    }
    let lost = cells { ends in "\(ends.count { $0.radius95 == 0 })/\(ends.count)" }
    let name = recording.name + (usesSpeed ? "+speed" : "") + (hasVelocity ? "" : ", positions only")
    return "| \(name) | \(Int(rate.rounded())) | \(method.rawValue) | \(errors) |"
      + " \(share("%.2f") { $0.error <= $0.radius68 }) | \(share("%.2f") { $0.error <= $0.radius95 }) | \(lost) |"
  }
}
