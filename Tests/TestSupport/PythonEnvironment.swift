import Foundation

/// Virtual environments with PyPI packages that Debian does not have. `Deploy/test.sh` installs each in a folder of `.build`.
public enum PythonEnvironment: String, Sendable {
  /// pandas, pyarrow, geopandas and DuckDB, to read Parquet.
  case parquetReaders = "python"
  /// cantools, to read DBC files.
  case canTools = "cantools"
  /// mcap, to read MCAP files.
  case mcap = "mcap"
  /// schemathesis, to fuzz a server based on its OpenAPI document.
  case schemathesis
  /// A client for Chromium's debugging protocol, and axe-core's accessibility rules.
  case web
  /// Home Assistant Core; installed only by `Deploy/test.sh --full`.
  case homeAssistant = "home-assistant"

  private var python: String { "\(ContractScript.repository)/.build/\(rawValue)/bin/python" }

  /// Starts a script of `Tests`; its stdout and stderr are available as `output`.
  public func start(_ script: String, _ arguments: [String]) throws -> ChildProcess {
    try ChildProcess(python, ["\(ContractScript.repository)/Tests/\(script)"] + arguments)
  }

  /// Runs a script of `Tests` and returns its exit status and its output (stdout and stderr).
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
