import Testing

/// Waits until a condition holds; fails after a time that is for a test which would otherwise hang.
func eventually(_ condition: () -> Bool) async throws {
  for _ in 0..<6000 {
    if condition() { return }
    try await Task.sleep(for: .milliseconds(10))
  }
  Issue.record("did not come about")
}
