import Foundation

// attitude-benchmark DIR [--fault NAME|all] [--seed TEXT] [--every N] [--peers] [--manager]
//   [--deviations] [--rounds N] [--experiment NAME|all] [--runs N] [--each] [--half 1|2] [--rates]

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data((message + "\n").utf8))
  exit(2)
}

let usage = """
  usage: attitude-benchmark DIR [--fault NAME|all] [--seed TEXT] [--every N] [--peers] [--manager] [--deviations]
         [--rounds N] [--experiment NAME|all] [--runs N] [--each] [--half 1|2] [--rates]
  faults: \(Fault.allCases.map(\.rawValue).joined(separator: " "))
  experiments: \(Experiment.allCases.map(\.rawValue).joined(separator: " "))
  """

var folder: String?
var faults = [Fault.none]
var withPeers = false
var withManager = false
// Prints the shares of errors within two stated deviations, in place of errors.
var withDeviations = false
var seed = ""
// Retains every n-th sample.
var every = 1
// Programs run alternately, and the fastest round of each counts, since the clock rate of the machine varies by half within seconds.
var rounds = 1
// Number of times that each event is inserted into each trial.
var experiments: [Experiment] = []
var runs = 10
// Repeats the trials at other sampling rates.
var withRates = false
// Prints a row for each run.
var showsEach = false
// The half of the trials to use: the six used to select constants (1), or the six others (2).
var half: Int?
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
  switch argument {
  case "--peers": withPeers = true
  case "--manager": withManager = true
  case "--deviations": withDeviations = true
  case "--seed":
    guard let text = arguments.popFirst() else { fail(usage) }
    seed = text
  case "--experiment":
    guard let name = arguments.popFirst() else { fail(usage) }
    if name == "all" {
      experiments = Experiment.allCases
    } else if let experiment = Experiment(rawValue: name) {
      experiments = [experiment]
    } else {
      fail("unknown experiment \(name)\n\(usage)")
    }
  case "--runs":
    guard let count = arguments.popFirst().flatMap({ Int($0) }), count > 0 else { fail(usage) }
    runs = count
  case "--each": showsEach = true
  case "--rates": withRates = true
  case "--half":
    guard let number = arguments.popFirst().flatMap({ Int($0) }), (1...2).contains(number) else {
      fail(usage)
    }
    half = number
  case "--every":
    guard let count = arguments.popFirst().flatMap({ Int($0) }), count > 0 else { fail(usage) }
    every = count
  case "--rounds":
    guard let count = arguments.popFirst().flatMap({ Int($0) }), count > 0 else { fail(usage) }
    rounds = count
  case "--fault":
    guard let name = arguments.popFirst() else { fail(usage) }
    if name == "all" {
      faults = Fault.allCases
    } else if let fault = Fault(rawValue: name) {
      faults = [fault]
    } else {
      fail("unknown fault \(name)\n\(usage)")
    }
  default:
    guard folder == nil, !argument.hasPrefix("-") else { fail(usage) }
    folder = argument
  }
}
guard let folder else { fail(usage) }

do {
  let trials = try Trial.all(in: folder).filter { half == nil || $0.half == half }
  guard !trials.isEmpty else { fail("no .f32 trials in \(folder)") }
  if !experiments.isEmpty {
    try Experiment.report(
      experiments, trials, runs: runs, every: every, withPeers: withPeers, showsEach: showsEach)
    exit(0)
  }
  if withRates {
    Rates.report(trials)
    exit(0)
  }
  if withDeviations {
    print("trial,fault,inclination_inside,heading_inside")
    for fault in faults {
      var (inclination, heading) = (0.0, 0.0)
      for original in trials {
        var trial = original
        if every > 1 { trial.decimate(by: every) }
        fault.apply(to: &trial, seed: seed)
        let inside = Odograph.insideTwoDeviations(trial)
        inclination += inside.inclination / Double(trials.count)
        heading += inside.heading / Double(trials.count)
        print(
          String(
            format: "%@,%@,%.3f,%.3f", trial.name, fault.rawValue, inside.inclination, inside.heading))
      }
      print(String(format: "mean,%@,%.3f,%.3f", fault.rawValue, inclination, heading))
    }
    exit(0)
  }
  print("trial,fault,algorithm,total_deg,heading_deg,inclination_deg,ns_per_sample")
  for fault in faults {
    var scores: [(algorithm: String, scores: [Score])] = []
    func report(_ algorithm: String, _ trial: String, _ score: Score) {
      print(score.line(trial: trial, fault: fault, algorithm: algorithm))
      if let index = scores.firstIndex(where: { $0.algorithm == algorithm }) {
        scores[index].scores.append(score)
      } else {
        scores.append((algorithm, [score]))
      }
    }
    for original in trials {
      var trial = original
      if every > 1 { trial.decimate(by: every) }
      fault.apply(to: &trial, seed: seed)
      var results: [(algorithm: String, score: Score)] = []
      for _ in 0..<rounds {
        let round =
          [(algorithm: Odograph.name, score: Odograph.run(trial))] + (withPeers ? try Peers.run(trial) : [])
        if results.isEmpty { results = round }
        for (index, result) in round.enumerated() {
          results[index].score.nanoseconds = min(results[index].score.nanoseconds, result.score.nanoseconds)
        }
      }
      if withManager {
        let best = (0..<rounds).map { _ in Odograph.timeOfManager(trial) }.min() ?? .nan
        print("\(trial.name),\(fault.rawValue),manager,,,,\(Int(best.rounded()))")
      }
      for result in results { report(result.algorithm, trial.name, result.score) }
    }
    for (algorithm, all) in scores {
      print(Score(meanOf: all).line(trial: "mean", fault: fault, algorithm: algorithm))
    }
  }
} catch {
  fail("\(error)")
}
