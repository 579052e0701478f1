internal import Glibc
internal import Platform

/// Waits until a condition holds; false when it did not within the time limit. The limit is for a test that would
/// otherwise hang; it is no statement about speed.
@discardableResult
public func waitUntil(atMost seconds: Double = 60, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = MonotonicTime.after(seconds)
  while !deadline.hasPassed {
    if try condition() { return true }
    usleep(10_000)
  }
  return try condition()
}
