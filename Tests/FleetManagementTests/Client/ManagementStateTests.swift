import Fleet
import FleetFixtures
import JSON
import MQTT
import Platform
import Spatial
import Telemetry
import Testing

@testable import FleetManagement

/// The state of settings, regions and commands, message by message and in virtual time.
@Suite struct ManagementStateTests {
  private let van = VehicleKey(fleet: "demo", vehicle: "van")
  private let bus = VehicleKey(fleet: "demo", vehicle: "bus")

  private func state(largestTotal: Int = .max) -> ManagementState {
    ManagementState(
      root: "odograph/v1", paths: Set(DocumentStore.Subject.allCases.flatMap(\.paths)),
      largestTotal: largestTotal, user: "this server's user")
  }

  private func message(
    _ path: String, _ text: String, vehicle: String = "van", retain: Bool = true, correlation: String? = nil
  ) -> MQTTMessage {
    MQTTMessage(
      topic: "odograph/v1/demo/\(vehicle)/\(path)", text: text, qos: .atLeastOnce, retain: retain,
      properties: MQTTMessageProperties(correlationData: correlation.map { Array($0.utf8) }))
  }

  private func request(_ id: String, vehicle: String = "van") -> CommandRequest {
    CommandRequest(
      id: id, vehicle: VehicleKey(fleet: "demo", vehicle: vehicle), command: "locate", arguments: [:],
      by: "ann", asked: moment(0).time, expires: moment(10).time)
  }

  private func answer(_ id: String?, state: String = "done") -> String {
    let id = id.map { #""id":"\#($0)","# } ?? ""
    return #"{"command":"locate",\#(id)"time":"\#(wireTime(1))","state":"\#(state)","problem":"why"}"#
  }

  private static func at(_ seconds: Double) -> MonotonicTime { .start.advanced(bySeconds: 7 + seconds) }

  // MARK: Documents

  @Test func newerDocumentsReplaceAndEmptyOnesDelete() {
    var state = state()
    func receive(_ path: String, _ text: String) {
      state.receive(message(path, text), at: .start, moment(0).time)
    }
    func documents(_ subject: DocumentStore.Subject) -> VehicleDocuments {
      state.documents.documents(subject, of: van).parsed
    }
    receive("config/desired", #"{"version":"1","settings":{"status.interval":30}}"#)
    receive("config/reported", #"{"version":"1","state":"applied","settings":{"status.interval":30}}"#)
    #expect(documents(.config).settingDifferences.isEmpty && documents(.regions) == VehicleDocuments())
    receive("config/desired", #"{"version":"2","settings":{"status.interval":60}}"#)
    #expect(documents(.config).settingDifferences.map(\.key) == ["status.interval"])
    #expect(documents(.config).isCurrent == false)
    receive("config/desired", "")
    #expect(documents(.config).desired == nil)
    receive("config/reported", "not JSON")
    #expect(documents(.config).reported == nil)
    receive("config/reported", "")
    #expect(state.documents.size == 0 && state.documents.vehicles.isEmpty)
  }

  /// A document that exceeds the memory limit is reported as missing, and stored once there is room.
  @Test func memoryIsBounded() {
    var state = state(largestTotal: 600)
    let long = #"{"version":"\#(String(repeating: "x", count: 60))"}"#
    func receive(_ path: String, _ text: String) {
      state.receive(message(path, text), at: .start, moment(0).time)
    }
    func isIncomplete(_ subject: DocumentStore.Subject) -> Bool {
      state.documents.documents(subject, of: van).isIncomplete
    }
    receive("regions/desired", long)
    #expect(!isIncomplete(.regions))
    receive("regions/reported", long)
    #expect(isIncomplete(.regions) && state.documents.size <= 600)
    #expect(!isIncomplete(.config))
    receive("regions/desired", "")
    receive("regions/reported", long)
    #expect(!isIncomplete(.regions))
  }

  /// The overhead of small documents counts, too.
  @Test func smallDocumentsCountWithTheirOverhead() {
    var store = DocumentStore(largestTotal: 100_000)
    let keys = (0..<1000).map { VehicleKey(fleet: "demo", vehicle: "van-\($0)") }
    for key in keys { store.apply(Array("{}".utf8), "config/desired", of: key) }
    let count = keys.count { store.documents(.config, of: $0).desired != nil }
    #expect((100..<300).contains(count) && store.size <= 100_000)
  }

  /// Beyond the maximum number of names, the store only records that documents may be missing.
  @Test func namesAreBounded() {
    var store = DocumentStore(largestTotal: 0)
    func isIncomplete(_ name: String) -> Bool {
      store.documents(.config, of: VehicleKey(fleet: "demo", vehicle: name)).isIncomplete
    }
    #expect(!isIncomplete("other"))
    for number in 0...100_000 {
      store.apply(
        Array("{}".utf8), "config/desired", of: VehicleKey(fleet: "demo", vehicle: "van-\(number)"))
    }
    #expect(isIncomplete("van-0") && isIncomplete("van-100000") && isIncomplete("other"))
  }

  /// The second arrival of a document over overlapping subscriptions is a copy. A published document is not a copy when it is received
  /// back, whether the broker acknowledges it before or after.
  @Test(arguments: [true, false]) func aSecondArrivalIsACopy(isAcknowledgedFirst: Bool) {
    var state = state()
    let own = message("regions/desired", #"{"version":"1"}"#)
    _ = state.send(RequestOutcomes([van], at: .start, timeout: 10, answer: nil)) { _ in (1, own) }
    if isAcknowledgedFirst { state.acknowledged(1, nil, at: .start) }
    func isNew(_ message: MQTTMessage) -> Bool { state.receive(message, at: .start, moment(0).time) }
    let echo = message("regions/desired", #"{"version":"1"}"#, retain: false)
    #expect(isNew(echo))
    if !isAcknowledgedFirst { state.acknowledged(1, nil, at: .start) }
    #expect(!isNew(echo) && !isNew(own))
    #expect(state.copies == 2)
    // What the broker had retained before arrives late, behind other messages.
    #expect(isNew(message("regions/desired", #"{"version":"2"}"#, retain: false)))
    #expect(!isNew(own))
    #expect(state.documents.documents(.regions, of: van).parsed.desired?["version"]?.string == "2")
    state.disconnected(at: .start)
    state.connected(at: .start)
    #expect(isNew(own))
    // Messages on other topics are never copies.
    let position = message("location", "{}")
    #expect(isNew(position))
    #expect(isNew(position))
  }

  /// Brokers may close the connection at each message that they reject.
  @Test func aDocumentThatEndsThreeConnectionsIsWithdrawn() throws {
    var state = state()
    let request = RequestOutcomes([van], at: Self.at(0), timeout: 10, answer: nil)
    state.connected(at: Self.at(0))
    let ticket = state.send(request) { _ in (7, message("config/desired", "{}")) }
    for count in 1...3 {
      #expect(state.disconnected(at: Self.at(Double(count))) == (count == 3 ? [7] : []))
      // An attempt that fails is not the end of a connection.
      #expect(state.disconnected(at: Self.at(Double(count))).isEmpty)
      state.connected(at: Self.at(Double(count)))
    }
    let effects = state.advance(to: Self.at(3))
    guard case .reports(let reports)? = effects.first?.outcome, effects.first?.ticket == ticket else {
      Issue.record("\(effects)")
      return
    }
    #expect("\(reports)".contains("the connection ended 3 times before the broker accepted it"), "\(reports)")
    #expect(state.disconnected(at: Self.at(4)).isEmpty)
  }

  // MARK: Reading

  private enum Step { case connected, marked, kept, lost }

  /// Table: events with their times in s, the time in s at which the wait ends, and whether the reading is complete.
  @Test(
    arguments: [
      // Without a connection the wait ends early.
      ([], 2, false), ([(1, .connected), (1.5, .lost)], 2, false),
      // With a connection, but without the answer to the marker, it lasts until the time limit.
      ([(1, .connected)], 10, false), ([(1, .connected), (9.9, .kept)], 10, false),
      // The answer to the marker and 0.4 s without a retained message complete the reading.
      ([(1, .connected), (3, .marked)], 3.4, true),
      ([(1, .connected), (3, .marked), (3.3, .kept)], 3.7, true),
      // A new connection starts to read again.
      ([(1, .connected), (3, .marked), (3.1, .lost), (3.2, .connected), (5, .marked)], 3.1, false),
      ([(0.5, .connected), (0.6, .marked), (0.7, .lost), (0.8, .connected), (5, .marked)], 5.4, true),
    ] as [([(Double, Step)], Double, Bool)])
  private func readingEndsInTime(steps: [(Double, Step)], end: Double, isRead: Bool) {
    var state = state()
    let ticket = state.read(connectBy: Self.at(2), until: Self.at(10))
    var effects: [ManagementState.Effect] = []
    var steps = steps[...]
    var endTime: Double?
    for tick in 0...120 {
      let time = Double(tick) / 10
      while let step = steps.first, step.0 <= time + 1e-6 {
        steps = steps.dropFirst()
        switch step.1 {
        case .connected: state.connected(at: Self.at(step.0))
        case .marked: state.marked(at: Self.at(step.0))
        case .kept: state.receive(message("config/desired", "{}"), at: Self.at(step.0), moment(0).time)
        case .lost: state.disconnected(at: Self.at(step.0))
        }
      }
      let isDue = state.deadline(of: ticket).map { $0 <= Self.at(time + 1e-6) } ?? false
      let new = state.advance(to: Self.at(time + 1e-6))
      effects += new
      if !new.isEmpty {
        endTime = time
        #expect(isDue, "a caller's timer must be due at the end of the wait")
      }
    }
    #expect(effects.count == 1 && effects.first?.ticket == ticket && endTime == end)
    if case .read? = effects.first?.outcome { #expect(isRead) } else { #expect(!isRead) }
    #expect(state.deadline(of: ticket) == nil && state.waitCount == 0)
  }

  // MARK: Requests

  @Test func reportsEndWithTheLastVehicleOrTheTimeLimit() throws {
    func run(_ change: (inout ManagementState) -> Void, until end: Double) throws -> RequestOutcomes {
      var state = state()
      let request = RequestOutcomes([bus, van], at: Self.at(0), timeout: 10) { message in
        TopicAddress(topic: message.topic).map { address in
          let text = String(decoding: message.payload, as: UTF8.self)
          return (address.key, VehicleOutcome(state: text, isFinal: text != "started"))
        }
      }
      var token: UInt64 = 0
      let ticket = state.send(request) { key in
        token += 1
        return (token, message("config/desired", "{}", vehicle: key.vehicle))
      }
      change(&state)
      #expect(state.deadline(of: ticket) == Self.at(10))
      let last = end < 10 ? [] : state.advance(to: Self.at(9.9))
      #expect(last.isEmpty)
      let effects = state.advance(to: Self.at(end))
      guard case .reports(let reports)? = effects.first?.outcome, effects.count == 1 else {
        throw FleetError.usage("end", "the request", "\(effects)")
      }
      return reports
    }
    let all = try run(
      {
        $0.acknowledged(1, nil, at: Self.at(1))
        $0.acknowledged(2, nil, at: Self.at(1))
        $0.receive(message("config/reported", "started", vehicle: "bus"), at: Self.at(2), moment(2).time)
        $0.receive(message("config/reported", "applied", vehicle: "bus"), at: Self.at(3), moment(3).time)
        $0.receive(message("config/reported", "applied"), at: Self.at(4), moment(4).time)
      }, until: 4)
    #expect(all.completion == .done && all.outcomes[bus]?.seconds == 3 && all.unsent.isEmpty)
    let some = try run(
      {
        $0.acknowledged(2, nil, at: Self.at(1))
        $0.receive(message("config/reported", "started", vehicle: "bus"), at: Self.at(2), moment(2).time)
      }, until: 10)
    #expect(some.completion == .unanswered && some.state(of: bus) == "started")
    #expect(some.state(of: van) == "unanswered" && some.unsent == [bus])
    let refused = try run({ $0.acknowledged(1, .notAuthorized, at: Self.at(1)) }, until: 10)
    #expect(refused.completion == .refused && refused.state(of: van) == "unsent")
    #expect(refused.outcomes[bus]?.problem?.hasSuffix("check its access list for this server's user") == true)
  }

  /// Without reports to wait for, the broker's acknowledgements complete a request. Unmanaged vehicles get no message.
  @Test func acknowledgementsCompleteARequest() {
    var state = state()
    var sent: [VehicleKey] = []
    let ticket = state.send(
      RequestOutcomes([bus, van], unmanaged: [bus], at: .start, timeout: 10, answer: nil)
    ) { key in
      sent.append(key)
      return (9, message("config/desired", #"{"version":"1"}"#))
    }
    #expect(sent == [van] && state.advance(to: .start).isEmpty)
    state.acknowledged(9, nil, at: .start)
    // Concurrent readers get the new document.
    #expect(state.documents.documents(.config, of: van).parsed.desired?["version"]?.string == "1")
    guard case .reports(let reports)? = state.advance(to: .start).first?.outcome else {
      Issue.record("the request has not ended")
      return
    }
    #expect(reports.state(of: van) == "sent" && reports.state(of: bus) == "unmanaged")
    #expect(state.deadline(of: ticket) == nil)
  }

  // MARK: Commands

  /// Table: how a response differs from the request, and whether it counts.
  @Test(
    arguments: [
      ("van", "locate", "7", nil, false, true), ("van", "locate", nil, "7", false, true),
      ("van", "locate", "8", nil, false, false), ("bus", "locate", "7", nil, false, false),
      ("van", "status", "7", nil, false, false), ("van", "locate", "7", nil, true, false),
      ("van", "locate", nil, nil, false, false),
    ] as [(String, String, String?, String?, Bool, Bool)])
  func responsesFindTheirRequests(
    vehicle: String, command: String, id: String?, correlation: String?, retained: Bool, isFound: Bool
  ) {
    var state = state()
    let ticket = state.send(request("7"), awaitsResponse: true, until: Self.at(10), token: 1)
    state.receive(
      message(
        "command/\(command)/response", answer(id), vehicle: vehicle, retain: retained,
        correlation: correlation),
      at: Self.at(1), moment(1).time)
    let effects = state.advance(to: Self.at(1))
    #expect((effects.first?.ticket == ticket) == isFound && effects.count == (isFound ? 1 : 0))
    #expect((state.commands["7"]?.answer?.state == .done) == isFound)
    // The first response is valid.
    state.receive(
      message("command/locate/response", answer("7", state: "failed"), retain: false), at: Self.at(2),
      moment(2).time)
    #expect((state.commands["7"]?.answer?.state == .done) == isFound)
  }

  /// Table: events of a command that waits for its response or only for the acknowledgement, and the end of the wait.
  @Test(
    arguments: [
      (true, nil, nil, 10, .sending), (true, .success, nil, 10, .waiting), (true, .success, 4, 4, .done),
      (true, .notAuthorized, nil, 1, .refused), (true, nil, 4, 4, .done),
      (false, .success, nil, 1, .waiting), (false, .notAuthorized, nil, 1, .refused),
      (false, nil, nil, 10, .sending),
    ] as [(Bool, MQTTReasonCode?, Double?, Double, CommandRequest.State)])
  func commandsEndInTime(
    awaitsResponse: Bool, acknowledgement: MQTTReasonCode?, response: Double?, end: Double,
    last: CommandRequest.State
  ) {
    var state = state()
    let ticket = state.send(request("7"), awaitsResponse: awaitsResponse, until: Self.at(10), token: 1)
    var ends: [(Double, ManagementState.Effect)] = []
    for second in stride(from: 0.0, through: 11, by: 1) {
      if second == 1, let acknowledgement {
        state.acknowledged(1, acknowledgement.isError ? acknowledgement : nil, at: Self.at(1))
      }
      if second == response {
        state.receive(
          message("command/locate/response", answer("7"), retain: false), at: Self.at(second),
          moment(second).time)
      }
      ends += state.advance(to: Self.at(second)).map { (second, $0) }
    }
    #expect(ends.map(\.0) == [end] && ends.first?.1.ticket == ticket)
    guard case .command(let request)? = ends.first?.1.outcome else {
      Issue.record("not a command's end")
      return
    }
    #expect(request.state(at: moment(end).time) == last)
  }

  /// A vehicle that was asleep can respond after the wait, and after the command has expired.
  @Test func lateResponsesCount() {
    var state = state()
    let ticket = state.send(request("7"), awaitsResponse: false, until: Self.at(10), token: 1)
    state.expire(ticket)
    let ends = state.advance(to: Self.at(0)).map(\.ticket)
    #expect(ends == [ticket] && state.deadline(of: ticket) == nil)
    state.acknowledged(1, nil, at: Self.at(1))
    #expect(state.commands["7"]?.state(at: moment(11).time) == .silent)
    state.receive(
      message("command/locate/response", answer("7", state: "failed"), retain: false), at: Self.at(20),
      moment(20).time)
    #expect(state.commands["7"]?.state(at: moment(30).time) == .failed)
    _ = state.send(request("8"), awaitsResponse: true, until: Self.at(10), token: 2)
    #expect(state.commands.requests(to: van).map(\.id) == ["8", "7"])
  }

  @Test func oldCommandsAreRemoved() {
    var state = state()
    func add(_ id: String, _ vehicle: String = "van") {
      let ticket = state.send(request(id, vehicle: vehicle), awaitsResponse: true, until: .start, token: 1)
      state.expire(ticket)
      _ = state.advance(to: .start)
    }
    for number in 0..<CommandHistory.requestsPerVehicle + 5 { add("\(number)") }
    let own = state.commands.requests(to: van)
    #expect(own.count == CommandHistory.requestsPerVehicle && own.last?.id == "5")
    #expect(state.commands["4"] == nil)
    for number in 0..<CommandHistory.requestsInAll { add("v\(number)", "bus-\(number)") }
    #expect(state.commands.requests(to: van).isEmpty && state.commands["v0"] != nil)
  }
}
