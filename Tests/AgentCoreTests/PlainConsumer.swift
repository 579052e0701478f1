import JSON
import LiveSensors
import Logging
import Pipeline
import Platform
import Positioning
import Sensors
import Spatial
import StoreAndForward
import Telemetry

@testable import AgentCore

/// Consumers that show the position of the last message until the next one, one for each format, at an agent that publishes
/// immediately.
final class PlainConsumer: MessageDelivery {
  /// Errors of one consumer, second by second.
  struct Shown {
    var position: Coordinate?
    /// Metres between the shown position and the receiver's, at each second.
    var errors: [Double] = []
    /// Difference in metres between each error and the bound printed by `odographd check`.
    var excess: [Double] = []
    var messages = 0
    var bytes = 0

    /// Error in metres at a quantile; nil without any error.
    func error(at share: Double) -> Double? {
      let sorted = errors.sorted()
      return sorted.isEmpty ? nil : sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
    }
  }

  private struct State {
    var formats: MessageFormats
    var shown: [String: Shown] = [:]
    var second: Int64?
    var first: Timestamp?
    var last: Timestamp?
    var speeds: [Double] = []
    var place: Coordinate?
  }

  private let state: Locked<State>
  private let bounds: [String: PlainConsumerBound]

  private init(_ configuration: AgentConfiguration) throws {
    let topics = try TopicScheme(
      root: configuration.topicRoot, fleet: configuration.fleet, vehicle: configuration.vehicle)
    state = Locked(
      State(formats: try MessageFormats(configuration.profiles, topics: topics, version: "1.0.0")))
    bounds = Dictionary(
      uniqueKeysWithValues: PlainConsumerBound.bounds(of: configuration).map { ($0.format, $0.bound) })
  }

  /// Runs the agent's loop over a drive.
  /// - Returns: the consumers by format, and the hours of the drive.
  static func run(
    _ drive: PublicDrive, _ configuration: AgentConfiguration
  ) throws -> (shown: [String: Shown], hours: Double) {
    let consumer = try PlainConsumer(configuration)
    var decisions = configuration.pipeline
    // The time base is that of the recording, and its events define the sensors.
    (decisions.isVirtual, decisions.hasReceiver) = (true, false)
    var loop = try AgentLoop(
      pipeline: AgentPipeline(
        configuration: decisions, start: Timestamp(nanoseconds: 0), time: PublicDrive.start, version: "1.0.0"),
      sensors: .recorded(ObservedRecording(try drive.recording()) { consumer.observe($0) }),
      inbox: AgentInbox(), delivery: consumer, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try loop.start()
    _ = try loop.advance(recordingTo: Timestamp(seconds: 1e6))
    return consumer.state.withLock { state in
      (state.shown, ((state.last?.seconds ?? 0) - (state.first?.seconds ?? 0)) / 3600)
    }
  }

  /// Evaluates the shown position at the first fix of each second, before messages caused by this fix.
  private func observe(_ fix: PositionFix) {
    guard let coordinate = fix.coordinate else { return }
    state.withLock { state in
      let second = fix.timestamp.nanoseconds / 1_000_000_000
      guard second != state.second else { return }
      state.second = second
      state.first = state.first ?? fix.timestamp
      state.last = fix.timestamp
      // Limits are checked at fixes, so the speed of the previous fix counts, too.
      let driven = state.place.map { $0.distance(to: coordinate) }
      state.speeds = state.speeds.suffix(1) + [fix.speed ?? driven ?? 0]
      state.place = coordinate
      let speed = state.speeds.max() ?? 0
      for (format, bound) in bounds {
        guard let position = state.shown[format]?.position else { continue }
        let error = position.distance(to: coordinate)
        state.shown[format]?.errors.append(error)
        state.shown[format]?.excess.append(error - bound.metres - bound.seconds * speed)
      }
    }
  }

  func accept(_ messages: [VehicleMessage], preserving documents: [PreservedDocument]) throws {
    state.withLock { state in
      for message in messages {
        for publication in state.formats.encode(message) {
          let payload = publication.payload(identity: MessageIdentity(epoch: "0123456789abcdef", seq: 12_345))
          // Home Assistant's own states are not JSON.
          guard let json = try? JSONValue(parsing: payload) else { continue }
          let isNative: Bool
          switch publication.content {
          case .native(.location): isNative = true
          case .payload where json["_type"]?.string == "location": isNative = false
          default: continue
          }
          guard let latitude = json[isNative ? "latitude" : "lat"]?.double,
            let longitude = json[isNative ? "longitude" : "lon"]?.double
          else { continue }
          // Home Assistant's tracker reads the native topic.
          for format in isNative ? ["native", "homeassistant"] : ["owntracks"] {
            state.shown[format, default: Shown()].position = Coordinate(
              latitude: latitude, longitude: longitude)
            state.shown[format]?.messages += 1
            state.shown[format]?.bytes += publication.topic.utf8.count + payload.count
          }
        }
      }
    }
  }

  var counters: [String: Int] { [:] }

  func stop(farewell: () -> VehicleMessage) {}
}
