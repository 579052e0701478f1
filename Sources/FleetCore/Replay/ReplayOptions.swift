internal import Telemetry

/// What `odograph replay` is asked for.
public struct ReplayOptions: Sendable {
  /// What becomes of the times in messages.
  public enum Times: String, Hashable, Sendable, CaseIterable {
    /// They say what they would say if it happened now; messages are new ones, with epochs of their own.
    case shift
    /// Messages are those of the recording, byte by byte.
    case keep
  }

  public var broker = BrokerOptions()
  /// A `postgres://` URL or the path of an SQLite file.
  public var store: String
  public var selection = RecordingSelection()
  /// Times as fast as life; nil as fast as the broker takes it.
  public var speed: Double? = 1
  public var times = Times.shift
  /// The fleet to play it as; nil keeps each its own.
  public var fleet: String?
  /// Where the native topics begin, to find the fleet in them.
  public var root = FleetSelection().root
  /// Seconds without a message that are skipped beyond; nil waits them out.
  public var longestPause: Double?
  /// Whether commands, and settings and regions that were wanted, are played too: vehicles that listen obey them.
  public var playsOrders = false
  public var json = false
  public var isQuiet = false

  public init(store: String) { self.store = store }

  /// Reads a speed as people write it.
  /// - Throws: `FleetError` for what is none.
  public mutating func setSpeed(_ text: String) throws(FleetError) {
    if text == "max" {
      speed = nil
      return
    }
    guard let number = Double(text), (0.001...100_000).contains(number) else {
      throw FleetError(
        operation: "use", object: "--speed \(text.prefix(40))", cause: "it is 0.001 to 100000, or max",
        exit: .usage)
    }
    speed = number
  }

  /// - Throws: `FleetError` for options that make no sense.
  func validate() throws(FleetError) {
    if let longestPause, !(longestPause >= 0) {
      throw FleetError(
        operation: "use", object: "--longest-pause \(longestPause)", cause: "it is 0 or more seconds",
        exit: .usage)
    }
    guard let fleet else { return }
    do throws(TopicError) { _ = try TopicScheme(root: root, fleet: fleet, vehicle: "v") } catch {
      throw FleetError(
        operation: "use", object: "--to-fleet \"\(fleet.prefix(80))\"", cause: error.description, exit: .usage
      )
    }
  }
}
