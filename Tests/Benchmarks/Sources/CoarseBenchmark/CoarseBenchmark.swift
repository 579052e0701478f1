import Foundation
import Positioning

/// Prints a CSV row for each algorithm: positions by beacons in a simulated city along recorded drives, compared with the weighted
/// centroid.
@main
struct CoarseBenchmark {
  private static let usage =
    "usage: coarse-benchmark DATA [--seeds 1,2,3] [--blocks 5,10,30,60] [--beacons N] [--sensitivity]"

  static func main() {
    do {
      try run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      FileHandle.standardError.write(Data("coarse-benchmark: \(error)\n".utf8))
      exit(error is Usage ? 64 : 66)
    }
  }

  private struct Usage: Error, CustomStringConvertible {
    var problem: String
    var description: String { "\(problem)\n\(CoarseBenchmark.usage)" }
  }

  private static func run(_ words: [String]) throws {
    var (folder, seeds, blocks, isSensitivity): (String?, [UInt64], [Double], Bool) = (
      nil, [1, 2, 3], [5, 10, 30, 60], false
    )
    var model = CityModel()
    var rest = words.makeIterator()
    while let word = rest.next() {
      switch word {
      case "--seeds": seeds = try numbers(rest.next(), of: word).map { UInt64($0) }
      case "--blocks": blocks = try numbers(rest.next(), of: word)
      case "--beacons": model.beacons = Int(try numbers(rest.next(), of: word)[0])
      case "--sensitivity": isSensitivity = true
      case _ where word.hasPrefix("-"): throw Usage(problem: "unknown option \(word)")
      default: folder = word
      }
    }
    guard let folder else { throw Usage(problem: "folder with recordings required") }
    let drives = try Drive.all(in: folder)
    print(
      "drive,split,seed,beacons,per_km2,range_m,shadowing_db,scans,heard_per_scan,mapped,algorithm,positions,"
        + "median_m,p95_m,worst_m,inside_68,inside_95,us_per_scan,far_scans,far_positions,map_bytes")
    for drive in drives {
      for seed in seeds {
        let splits = isSensitivity ? [blocks[0]] : blocks
        for model in isSensitivity ? variants(of: model) : [model] {
          for split in splits.map({ Experiment.Split.blocks($0) }) + [.halves]
            + (isSensitivity ? [] : [.back])
          {
            report(Experiment(drive: drive, split: split, model: model, seed: seed))
          }
        }
      }
    }
  }

  /// Each variant changes one parameter.
  private static func variants(of model: CityModel) -> [CityModel] {
    func with(_ change: (inout CityModel) -> Void) -> CityModel {
      var variant = model
      change(&variant)
      return variant
    }
    return [50.0, 150, 200].map { range in with { $0.range = range } }
      + [3.0, 9].map { shadowing in with { $0.shadowing = shadowing } }
      + [0.1, 0.3, 2].map { density in with { $0.beacons = Int(Double(model.beacons) * density) } }
      + [0.0, 0.2].map { moved in with { $0.moved = moved } }
  }

  private static func report(_ experiment: Experiment) {
    let result = experiment.run()
    let scores = [
      ("locator", result.locator), ("tracked", result.tracked), ("centroid", result.centroid),
      ("exact", result.exact),
    ]
    for (name, score) in scores {
      let columns =
        [
          experiment.drive.name, experiment.split.name, "\(experiment.seed)", "\(experiment.model.beacons)",
        ]
        + [
          result.density, experiment.model.range, experiment.model.shadowing, Double(result.scans),
          Double(result.sightings) / Double(max(1, result.scans)), Double(result.mapped),
        ].map { String(format: "%.0f", $0) }
        + [name, "\(score.errors.count)"]
        + [score.percentile(0.5), score.percentile(0.95), score.percentile(1)].map {
          String(format: "%.1f", $0)
        }
        + [
          name == "centroid" ? "" : String(format: "%.3f", score.share(\.in68)),
          String(format: "%.3f", score.share(\.in95)),
        ]
        + (name == "locator"
          ? [
            String(format: "%.1f", result.nanosecondsPerPosition / 1000), "\(result.fringe.scans)",
            "\(result.fringe.positions)", "\(result.mapped * LearnedBeacon.byteCount)",
          ] : ["", "", "", ""])
      print(columns.joined(separator: ","))
    }
  }

  private static func numbers(_ list: String?, of option: String) throws -> [Double] {
    let numbers = (list ?? "").split(separator: ",").map { Double($0) }
    guard !numbers.isEmpty, numbers.allSatisfy({ $0.map { $0.isFinite && $0 >= 1 && $0 < 1e9 } ?? false })
    else { throw Usage(problem: "\(option) requires numbers from 1, separated by commas") }
    return numbers.compactMap(\.self)
  }
}
