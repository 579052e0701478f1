/// What the command line asks for.
struct Arguments {
  static let usage = "usage: report-benchmark TRACK.nmea… [--epsilon 10,20,50] [--delay 0,5,10]"

  struct Problem: Error {
    var description: String
  }

  var tracks: [String] = []
  /// Metres.
  var epsilons = [10.0, 20, 50]
  /// Seconds.
  var delays = [0.0, 5, 10]

  init(_ words: some Sequence<String>) throws(Problem) {
    var words = words.makeIterator()
    while let word = words.next() {
      switch word {
      case "--epsilon": epsilons = try Self.numbers(words.next(), of: word, above: 0.1)
      case "--delay": delays = try Self.numbers(words.next(), of: word, above: 0)
      case _ where word.hasPrefix("-"): throw Problem(description: "unknown option \(word)")
      default: tracks.append(word)
      }
    }
    if tracks.isEmpty { throw Problem(description: "no track is given") }
  }

  private static func numbers(
    _ list: String?, of option: String, above least: Double
  ) throws(Problem) -> [Double] {
    let numbers = (list ?? "").split(separator: ",").map { Double($0) }
    guard !numbers.isEmpty, numbers.allSatisfy({ $0.map { $0.isFinite && $0 >= least } ?? false }) else {
      throw Problem(description: "\(option) needs numbers from \(least), separated by commas")
    }
    return numbers.compactMap(\.self)
  }
}
