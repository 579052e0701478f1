internal import Testing

/// Waits until a condition is true. The limit of five minutes is for a test that would otherwise hang; it does not check speed.
public func eventually(
  fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column,
  _ condition: () async throws -> Bool
) async throws {
  for _ in 0..<30_000 {
    if try await condition() { return }
    try await Task.sleep(for: .milliseconds(10))
  }
  Issue.record(
    "the condition did not become true",
    sourceLocation: SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column))
}
