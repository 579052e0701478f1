internal import Glibc
internal import Platform

/// Waits until a condition is true; returns false if it is not true within the time limit. The limit ends tests that would hang; it is not
/// a requirement on speed.
@discardableResult
public func waitUntil(atMost seconds: Double = 60, _ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = MonotonicTime.after(seconds)
  while !deadline.hasPassed {
    if try condition() { return true }
    usleep(10_000)
  }
  return try condition()
}
