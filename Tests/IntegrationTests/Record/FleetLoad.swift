import MQTT
import Platform
import Spatial
import TestSupport

/// A simulated fleet that publishes numbered positions at QoS 1 up to a limit, and repeats unacknowledged ones. Sequence numbers are
/// counted per vehicle.
final class FleetLoad: OutboundProvider {
  private struct State {
    /// Number of messages that may be published, for all vehicles.
    var limit = 0
    var next = 0
    var unacknowledged: Set<Int> = []
    /// Messages to repeat, oldest first.
    var again: [Int] = []
  }

  private let state = Locked(State())
  private let vehicles: Int
  private let first: Int
  private let session = Locked<MQTTSession?>(nil)

  /// - Parameter first: Number of the first vehicle.
  init(vehicles: Int = 50, first: Int = 0) { (self.vehicles, self.first) = (vehicles, first) }

  /// Connects to a broker.
  func start(_ configuration: MQTTConfiguration) throws {
    let session = try MQTTSession(configuration: configuration, outbound: self, handlers: .init())
    try session.start()
    self.session.withLock { $0 = session }
  }

  deinit { session.withLock { $0 }?.stop(drain: 0) }

  /// Permits `count` further messages.
  func publish(_ count: Int) {
    state.withLock { $0.limit += count }
    session.withLock { $0 }?.wakeUp()
  }

  /// Stops publishing new messages.
  func pause() { state.withLock { $0.limit = $0.next } }

  /// Number of messages that the broker has accepted or that are being sent.
  var published: Int { state.withLock { $0.next } }

  /// True once the broker has acknowledged all permitted messages.
  var isSettled: Bool {
    state.withLock { $0.next >= $0.limit && $0.unacknowledged.isEmpty && $0.again.isEmpty }
  }

  func next(limit: Int) -> [OutboundRecord] {
    state.withLock { state in
      var numbers = Array(state.again.prefix(limit))
      state.again.removeFirst(numbers.count)
      while numbers.count < limit, state.next < state.limit {
        numbers.append(state.next)
        state.next += 1
      }
      state.unacknowledged.formUnion(numbers)
      return numbers.map { OutboundRecord(token: UInt64($0), message: message($0)) }
    }
  }

  func acknowledged(_ tokens: [UInt64]) {
    state.withLock { state in for token in tokens { state.unacknowledged.remove(Int(token)) } }
  }

  func rejected(_ token: UInt64, reason: MQTTReasonCode) { acknowledged([token]) }

  func offerAgain() {
    state.withLock { state in
      state.again = (state.unacknowledged.union(state.again)).sorted()
      state.unacknowledged = []
    }
  }

  private func message(_ number: Int) -> MQTTMessage {
    let vehicle = first + number % vehicles
    let seq = number / vehicles
    // Times ascend per vehicle.
    let time = UTCTime(nanoseconds: (1_795_255_200_000 + Int64(seq) * 100) * 1_000_000).rfc3339
    let text =
      #"{"time":"\#(time)","latitude":48.1,"longitude":11.5,"speed":13.25,"#
      + #""epoch":"epoch-\#(vehicle)","seq":\#(seq)}"#
    return MQTTMessage(topic: "odograph/v1/demo/van-\(vehicle)/location", text: text, qos: .atLeastOnce)
  }

  /// Expected result of `query`, sorted by vehicle.
  var expected: [[String]] {
    let published = published
    return (0..<min(vehicles, published)).map { vehicle in
      let count = (published - vehicle + vehicles - 1) / vehicles
      return ["van-\(first + vehicle)", "\(count)", "\(count)", "0", "\(count - 1)"]
    }.sorted { $0[0] < $1[0] }
  }

  /// SQL for PostgreSQL: the number of vehicles whose latest position is not their newest stored one.
  static let stale = """
    SELECT count(*) FROM odograph.latest FULL JOIN (
      SELECT vehicle, max(time) AS time FROM odograph.messages GROUP BY vehicle) AS stored USING (vehicle, time)
      WHERE latest.fleet IS NULL OR stored.time IS NULL
    """

  static func query(_ table: String) -> String {
    "SELECT vehicle, count(*), count(DISTINCT seq), min(seq), max(seq) FROM \(table) GROUP BY vehicle"
  }
}
