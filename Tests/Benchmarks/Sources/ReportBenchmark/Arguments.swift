/// Command line arguments.
struct Arguments {
  static let usage =
    "usage: report-benchmark TRACK.nmea… [--epsilon 10,20,50] [--delay 0,5,10]"
    + " [--input recorded,derived,noisy,noisy-derived,stops] [--seed 1,2,3]"

  struct Problem: Error {
    var description: String
  }

  var tracks: [String] = []
  /// Error bounds in m.
  var epsilons = [10.0, 20, 50]
  /// Delays in s.
  var delays = [0.0, 5, 10]
  /// Kinds of receivers that are simulated from the drive.
  var inputs = [Input.recorded]
  /// Seeds of the noise; an input without noise runs once.
  var seeds: [UInt64] = [1]

  init(_ words: some Sequence<String>) throws(Problem) {
    var words = words.makeIterator()
    while let word = words.next() {
      switch word {
      case "--epsilon": epsilons = try Self.numbers(words.next(), of: word, above: 0.1)
      case "--delay": delays = try Self.numbers(words.next(), of: word, above: 0)
      case "--seed": seeds = try Self.numbers(words.next(), of: word, above: 0).map { UInt64(min($0, 1e9)) }
      case "--input":
        inputs = try (words.next() ?? "").split(separator: ",").map { name throws(Problem) in
          guard let input = Input(rawValue: String(name)) else {
            throw Problem(description: "unknown input \(name)")
          }
          return input
        }
      case _ where word.hasPrefix("-"): throw Problem(description: "unknown option \(word)")
      default: tracks.append(word)
      }
    }
    if tracks.isEmpty { throw Problem(description: "track required") }
  }

  private static func numbers(
    _ list: String?, of option: String, above least: Double
  ) throws(Problem) -> [Double] {
    let numbers = (list ?? "").split(separator: ",").map { Double($0) }
    guard !numbers.isEmpty, numbers.allSatisfy({ $0.map { $0.isFinite && $0 >= least } ?? false }) else {
      throw Problem(description: "\(option) requires numbers from \(least), separated by commas")
    }
    return numbers.compactMap(\.self)
  }
}
