import Glibc
import Support

/// The page with a large fleet, in a browser, controlled by a script that replaces this process.
@MainActor struct LiveBenchmark {
  private let options: WebBenchmarkOptions

  /// Relative to the root of the repository; Deploy/test.sh creates the second.
  private static let script = "Tests/WebTests/live_benchmark.py"
  private static let python = ".build/web/bin/python"

  init(_ options: WebBenchmarkOptions) { self.options = options }

  func run() {
    for path in [Self.script, Self.python] where access(path, R_OK) != 0 {
      return complain("no \(path) in this folder: start in the root of the repository, after Deploy/test.sh")
    }
    remove(options.directory)
    let arguments = [Self.python, Self.script, "--odograph", options.odograph] + options.live
    var argv = arguments.map { strdup($0) } + [nil]
    execv(Self.python, &argv)
    complain("\(Self.python) does not start")
  }
}
