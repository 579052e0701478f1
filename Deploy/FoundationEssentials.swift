// Deploy/build-static.sh links this module into odographd instead of FoundationEssentials, which has 4 MB. Only
// ArgumentParser requires it: to describe errors that conform to `LocalizedError`, which no error of the agent
// does, and to print the commands as JSON, which the static program does not do. The names and types below are
// those that ArgumentParser was compiled with; an update that requires another one fails to link.
import Glibc

public protocol LocalizedError: Error {
  var errorDescription: String? { get }
  var failureReason: String? { get }
  var recoverySuggestion: String? { get }
  var helpAnchor: String? { get }
}

public struct Data {}

public class JSONEncoder {
  public struct OutputFormatting {
    public static let prettyPrinted = OutputFormatting()
    public static let sortedKeys = OutputFormatting()
  }

  /// Ends the process: the parser creates an encoder only for `--experimental-dump-help`.
  public init() {
    fputs("Error: this build has no --experimental-dump-help; --help shows the commands\n", stderr)
    exit(64)
  }
}

extension String {
  public struct Encoding {
    public static let utf8 = Encoding()
  }

  public init?(data: __shared Data, encoding: Encoding) { return nil }
}
