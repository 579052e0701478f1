import Foundation

/// Programs of PyPI that tests run against, which Debian does not have: `Deploy/test.sh` installs each kind into a folder of
/// `.build`.
public enum PythonEnvironment: String, Sendable {
  /// pandas, pyarrow, geopandas and DuckDB, which read Parquet.
  case parquetReaders = "python"
  /// cantools, which reads DBC files.
  case canTools = "cantools"
  /// mcap, which reads its own format.
  case mcap = "mcap"
  /// schemathesis, which asks a server all that its OpenAPI document allows.
  case schemathesis
  /// What drives Chromium, and the rules of accessibility.
  case web
  /// Home Assistant's core; with `Deploy/test.sh --full` only.
  case homeAssistant = "home-assistant"

  private var python: String { "\(ContractScript.repository)/.build/\(rawValue)/bin/python" }

  /// Starts a script of `Tests`; stdout and stderr are its `output`.
  public func start(_ script: String, _ arguments: [String]) throws -> ChildProcess {
    try ChildProcess(python, ["\(ContractScript.repository)/Tests/\(script)"] + arguments)
  }

  /// Runs a script of `Tests` to its end, with what it prints on both of its outputs.
  public func run(_ script: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    let child = try start(script, arguments)
    let status = child.waitForExit()
    return (status, child.output)
  }

  fileprivate func has(_ modules: String) throws -> Bool {
    guard FileManager.default.isExecutableFile(atPath: python) else { return false }
    return try ChildProcess(python, ["-c", "import \(modules)"]).waitForExit() == 0
  }

  fileprivate func installation(_ requirements: String) -> String {
    "in .build/\(rawValue) (python3 -m venv .build/\(rawValue) && "
      + ".build/\(rawValue)/bin/pip install -r Tests/\(requirements))"
  }
}

extension Need {
  public static let parquetReaders = Need(
    "pandas, pyarrow, geopandas and duckdb of PyPI \(PythonEnvironment.parquetReaders.installation("Parquet/requirements.txt"))"
  ) { try PythonEnvironment.parquetReaders.has("duckdb, geopandas, pandas, pyarrow.dataset") }

  public static let canTools = Need(
    "cantools of PyPI \(PythonEnvironment.canTools.installation("CANTools/requirements.txt"))"
  ) { try PythonEnvironment.canTools.has("cantools") }

  public static let mcap = Need(
    "mcap of PyPI \(PythonEnvironment.mcap.installation("MCAP/requirements.txt"))"
  ) { try PythonEnvironment.mcap.has("mcap.reader") }

  public static let schemathesis = Need(
    "schemathesis of PyPI \(PythonEnvironment.schemathesis.installation("Schemathesis/requirements.txt"))"
  ) { try PythonEnvironment.schemathesis.has("schemathesis") }

  public static let chromium = Need(
    "the Debian packages chromium libjs-leaflet mosquitto mosquitto-clients, and websocket-client and axe-core-python of PyPI "
      + PythonEnvironment.web.installation("WebTests/requirements.txt")
  ) {
    try ["chromium", "mosquitto", "mosquitto_pub"].allSatisfy { ChildProcess.find($0) != nil }
      && FileManager.default.fileExists(atPath: "/usr/share/javascript/leaflet/leaflet.js")
      && PythonEnvironment.web.has("axe_core_python, websocket")
  }

  public static let homeAssistant = Need(
    "Home Assistant of PyPI \(PythonEnvironment.homeAssistant.installation("Consumers/home-assistant.txt"))"
  ) { try PythonEnvironment.homeAssistant.has("homeassistant.components.mqtt") }
}
