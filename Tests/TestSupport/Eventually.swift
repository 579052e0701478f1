internal import Testing

/// Waits until a condition is true, at most five minutes. The limit ends tests that would hang; it is not a requirement on speed.
public func eventually(
  fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column,
  _ condition: () async throws -> Bool
) async throws {
  let location = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
  for _ in 0..<30_000 {
    if try await condition() { return }
    do {
      try await Task.sleep(for: .milliseconds(10))
    } catch {
      // The time limit of a test does not report the line.
      Issue.record("line \(line): still waiting when the test was ended", sourceLocation: location)
      throw error
    }
  }
  Issue.record("the condition did not become true", sourceLocation: location)
}
