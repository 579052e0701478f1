import Foundation

/// Waits until a condition holds; false when it did not within the time limit. The limit is for a test that would
/// otherwise hang; it is no statement about speed.
public func waitUntil(seconds: Double, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = Date().addingTimeInterval(seconds)
  while Date() < deadline {
    if try condition() { return true }
    usleep(10_000)
  }
  return try condition()
}
