internal import Glibc
internal import Platform

/// Waits until a condition holds; false when it did not within the time limit. The limit is for a test that would
/// otherwise hang; it is no statement about speed.
@discardableResult
public func waitUntil(atMost seconds: Double = 60, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = SystemClock.monotonic + Int64(seconds * 1e9)
  while SystemClock.monotonic < deadline {
    if try condition() { return true }
    usleep(10_000)
  }
  return try condition()
}
