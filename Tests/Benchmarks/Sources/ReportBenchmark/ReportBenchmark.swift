import Foundation
import Positioning
import Recordings
import Sensors
import Spatial

/// Compares reporting policies on recorded drives and prints a CSV row for each.
@main
struct ReportBenchmark {
  static func main() {
    do {
      let arguments = try Arguments(CommandLine.arguments.dropFirst())
      print(
        "track,input,seed,policy,epsilon_m,delay_s,reports,reports_per_hour,max_error_m,points_thinned,"
          + "max_interpolated_error_m,optimal_points,withdrawals")
      for path in arguments.tracks {
        for input in arguments.inputs {
          let seeds = input == .recorded || input == .derived ? [1] : arguments.seeds
          for seed in seeds { try run(path, input, seed, arguments) }
        }
      }
    } catch let problem as Arguments.Problem {
      fail("\(problem.description)\n\(Arguments.usage)", code: 64)
    } catch {
      fail("\(error)", code: 66)
    }
  }

  private static func run(_ path: String, _ input: Input, _ seed: UInt64, _ arguments: Arguments) throws {
    let recorded = try locations(path)
    guard recorded.count > 1 else {
      return fail("\(path): fewer than two fixes with a position; a recorded drive is required", code: 65)
    }
    let track = input.track(recorded, seed: seed)
    guard let first = track.first, let last = track.last, first.timestamp < last.timestamp else { return }
    let hours = last.timestamp.seconds(since: first.timestamp) / 3600
    let name = path.split(separator: "/").last.map(String.init) ?? path
    for epsilon in arguments.epsilons {
      let thinning = ThinningResult(track, epsilon: epsilon)
      for delay in arguments.delays {
        for policy in Policy.allCases {
          let result = policy.run(track, epsilon: epsilon, delay: delay)
          let columns = [
            name, input.rawValue, "\(seed)", policy.rawValue, number(epsilon, 3), number(delay, 3),
            "\(result.reports)",
            number(Double(result.reports) / hours, 1), number(result.worstError, 3), "\(thinning.points)",
            number(thinning.worstError, 3), "\(thinning.optimum)",
            "\(result.withdrawals)",
          ]
          print(columns.joined(separator: ","))
        }
      }
    }
  }

  /// Reads the fixes of a track in the order of their times, omitting repeated times.
  private static func locations(_ path: String) throws -> [Location] {
    var recording = try NMEARecording(path: path, toleratingBrokenSentences: true)
    var locations: [Location] = []
    while let event = try recording.next() {
      guard case .position(let fixes) = event else { continue }
      for location in fixes.compactMap({ Location(fix: $0) })
      where locations.last.map({ $0.timestamp < location.timestamp }) ?? true {
        locations.append(location)
      }
    }
    return locations
  }

  /// Formats a number with at most the given decimals; whole numbers without any.
  private static func number(_ value: Double, _ decimals: Int) -> String {
    value == value.rounded() && value.magnitude < 1e9
      ? String(Int(value)) : String(format: "%.\(decimals)f", value)
  }

  private static func fail(_ text: String, code: Int32) {
    FileHandle.standardError.write(Data("report-benchmark: \(text)\n".utf8))
    exit(code)
  }
}
