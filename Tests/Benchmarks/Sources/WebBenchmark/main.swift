import Glibc
import Support

// Measures the web server of a fleet as a separate process over HTTP. Prints CSV to stdout.
//
//   web-benchmark --live [--vehicles N] [--rate HZ] [--clients N] [--seconds S] [--loads N] [--odograph FILE]
//   web-benchmark --history [--rows N] [--rounds N] [--odograph FILE] [sqlite] [postgresql]

var options = WebBenchmarkOptions()
var mode: String?
var rest = CommandLine.arguments.dropFirst()
while let argument = rest.popFirst() {
  switch argument {
  case "--rows": options.rows = rest.popFirst().flatMap { Int($0) } ?? options.rows
  case "--rounds": options.rounds = rest.popFirst().flatMap { Int($0) } ?? options.rounds
  case "--odograph": options.odograph = rest.popFirst() ?? options.odograph
  case "--history", "--live": mode = argument
  case "--vehicles", "--rate", "--clients", "--seconds", "--loads":
    options.live += [argument] + [rest.popFirst()].compactMap(\.self)
  default: options.cases.append(argument)
  }
}

options.directory = temporaryDirectory()
setenv("XDG_STATE_HOME", options.directory, 1)
defer { remove(options.directory) }
switch mode {
case "--history": HistoryBenchmark(options).run()
case "--live": LiveBenchmark(options).run()
default: complain("mode required: --live or --history")
}
