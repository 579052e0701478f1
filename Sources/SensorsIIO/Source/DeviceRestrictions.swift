internal import Platform
internal import Sensors

/// The restrictions and the ranges of the devices of one context, as found when a capture was configured.
final class DeviceRestrictions: Sendable {
  struct Entry: Sendable {
    /// The range in m/s² of the accelerometer; nil if it was not set.
    var range: Double?
    /// The reason why the range of the accelerometer is smaller than requested; nil if it is not.
    var rangeProblem: IIOError?
    /// The reason why a kind without a buffer is polled below its demanded rate; nil if none is.
    var pollingProblem: IIOError?
  }
  private let entries = Locked<[String: Entry]>([:])

  func update(_ device: String, _ change: (inout Entry) -> Void) {
    entries.withLock { change(&$0[device, default: Entry()]) }
  }

  /// Returns the restrictions of a device as one error; nil if there is none.
  ///
  /// - Parameter other: a restriction of the capture.
  func combined(of device: String, with other: IIOError?) -> IIOError? {
    let entry = entries.withLock { $0[device] }
    let all = [other, entry?.pollingProblem, entry?.rangeProblem].compactMap { $0 }
    guard var first = all.first else { return nil }
    for next in all.dropFirst() { first.reason += "; \(next)" }
    return first
  }

  /// Returns the ranges of a device along the axes of its samples.
  func ranges(of assignment: IIOInventory.Assignment) -> [SensorKind: Double] {
    var ranges = assignment.ranges
    if let range = entries.withLock({ $0[assignment.device.identifier]?.range }),
      assignment.device.sensor(.accelerometer)?.mountMatrix.keepsAxes == true
    {
      ranges[.accelerometer] = range
    }
    return ranges
  }
}
