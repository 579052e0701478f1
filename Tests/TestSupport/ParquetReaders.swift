import Foundation

/// The programs that read Parquet in tests, pyarrow and DuckDB, which Debian does not have: `Deploy/test.sh` installs them
/// from PyPI into `.build/python`.
public enum ParquetReaders {
  private static let python = "\(ContractScript.repository)/.build/python/bin/python"

  /// Runs a script of `Tests/Parquet` to its end, with what it prints on both of its outputs.
  public static func run(_ script: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    let child = try ChildProcess(
      python, ["\(ContractScript.repository)/Tests/Parquet/\(script)"] + arguments)
    let status = child.waitForExit()
    return (status, child.output)
  }

  static func areInstalled() throws -> Bool {
    guard FileManager.default.isExecutableFile(atPath: python) else { return false }
    return try ChildProcess(python, ["-c", "import duckdb, pyarrow.dataset"]).waitForExit() == 0
  }
}

extension Need {
  public static let parquetReaders = Need(
    "pyarrow and duckdb of PyPI in .build/python (python3 -m venv .build/python && "
      + ".build/python/bin/pip install -r Tests/Parquet/requirements.txt)"
  ) { try ParquetReaders.areInstalled() }
}
