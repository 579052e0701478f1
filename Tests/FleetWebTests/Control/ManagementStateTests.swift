import Fleet
import FleetFixtures
import FleetManagement
import FleetWeb
import JSON
import MQTT
import Spatial
import Telemetry
import Testing

/// What is known of settings, regions and commands, message by message.
@Suite struct ManagementStateTests {
  private let van = VehicleKey(fleet: "demo", vehicle: "van")

  private func message(
    _ path: String, _ text: String, vehicle: String = "van", retain: Bool = true, correlation: String? = nil
  ) -> MQTTMessage {
    MQTTMessage(
      topic: "odograph/v1/demo/\(vehicle)/\(path)", text: text, qos: .atLeastOnce, retain: retain,
      properties: MQTTMessageProperties(correlationData: correlation.map { Array($0.utf8) }))
  }

  private func request(_ id: String, vehicle: String = "van", at seconds: Double = 0) -> CommandRequest {
    CommandRequest(
      id: id, vehicle: VehicleKey(fleet: "demo", vehicle: vehicle), command: "locate", arguments: [:],
      by: "ann", asked: moment(seconds).time, expires: moment(seconds + 10).time)
  }

  private func answer(_ id: String?, state: String = "done") -> String {
    let id = id.map { #""id":"\#($0)","# } ?? ""
    return #"{"command":"locate",\#(id)"time":"\#(wireTime(1))","state":"\#(state)","problem":"why"}"#
  }

  @Test func documentsAreKeptReplacedAndTakenBack() {
    var state = ManagementState(root: "odograph/v1")
    let time = moment(0).time
    func receive(_ path: String, _ text: String) { _ = state.receive(message(path, text), at: time) }
    receive("config/desired", #"{"version":"1","settings":{"status.interval":30}}"#)
    receive("config/reported", #"{"version":"1","state":"applied","settings":{"status.interval":30}}"#)
    #expect(state.documents(.config, of: van).parsed.settingDifferences.isEmpty)
    #expect(state.documents(.regions, of: van).parsed == VehicleDocuments())
    receive("config/desired", #"{"version":"2","settings":{"status.interval":60}}"#)
    let differences = state.documents(.config, of: van).parsed.settingDifferences
    #expect(differences.map(\.key) == ["status.interval"])
    #expect(state.documents(.config, of: van).parsed.isCurrent == false)
    receive("config/desired", "")
    #expect(state.documents(.config, of: van).parsed.desired == nil)
    receive("config/reported", "not JSON")
    #expect(state.documents(.config, of: van).parsed.reported == nil)
    receive("config/reported", "")
    #expect(state.size == 0)
  }

  /// What finds no room is said to be missing, and comes back once there is room.
  @Test func memoryIsBounded() {
    var state = ManagementState(root: "odograph/v1", largestTotal: 600)
    let time = moment(0).time
    let long = #"{"version":"\#(String(repeating: "x", count: 60))"}"#
    _ = state.receive(message("regions/desired", long), at: time)
    #expect(!state.documents(.regions, of: van).isIncomplete)
    _ = state.receive(message("regions/reported", long), at: time)
    #expect(state.documents(.regions, of: van).isIncomplete && state.size <= 600)
    #expect(!state.documents(.config, of: van).isIncomplete)
    _ = state.receive(message("regions/desired", ""), at: time)
    _ = state.receive(message("regions/reported", long), at: time)
    #expect(!state.documents(.regions, of: van).isIncomplete)
  }

  /// Many small documents count by what they take, not by the little that they say.
  @Test func smallDocumentsCountToo() {
    var state = ManagementState(root: "odograph/v1", largestTotal: 100_000)
    let time = moment(0).time
    for number in 0..<1000 {
      _ = state.receive(message("config/desired", "{}", vehicle: "van-\(number)"), at: time)
    }
    let kept = (0..<1000).count { number in
      state.documents(.config, of: VehicleKey(fleet: "demo", vehicle: "van-\(number)")).parsed.desired != nil
    }
    #expect((100..<300).contains(kept) && state.size <= 100_000)
  }

  /// Made-up names take no memory without end: of one too many it is only known that something may be missing.
  @Test func namesAreBoundedToo() {
    var state = ManagementState(root: "odograph/v1", largestTotal: 0)
    let time = moment(0).time
    func documents(_ name: String) -> ManagementState.Documents {
      state.documents(.config, of: VehicleKey(fleet: "demo", vehicle: name))
    }
    #expect(!documents("other").isIncomplete)
    for number in 0...100_000 {
      _ = state.receive(message("config/desired", "{}", vehicle: "van-\(number)"), at: time)
    }
    #expect(documents("van-0").isIncomplete && documents("van-100000").isIncomplete)
    #expect(documents("other").isIncomplete)
  }

  /// Table: what of an answer differs from the request, and whether it counts.
  @Test(
    arguments: [
      ("van", "locate", "7", nil, false, true), ("van", "locate", nil, "7", false, true),
      ("van", "locate", "8", nil, false, false), ("bus", "locate", "7", nil, false, false),
      ("van", "status", "7", nil, false, false), ("van", "locate", "7", nil, true, false),
      ("van", "locate", nil, nil, false, false),
    ] as [(String, String, String?, String?, Bool, Bool)])
  func answersFindTheirRequests(
    vehicle: String, command: String, id: String?, correlation: String?, retained: Bool, isFound: Bool
  ) {
    var state = ManagementState(root: "odograph/v1")
    state.add(request("7"))
    let answered = state.receive(
      message(
        "command/\(command)/response", answer(id), vehicle: vehicle, retain: retained,
        correlation: correlation),
      at: moment(1).time)
    #expect((answered?.answer?.state == .done) == isFound)
    #expect((state.request("7")?.answer != nil) == isFound)
    // It is told once.
    #expect(
      state.receive(
        message("command/locate/response", answer("7", state: "failed"), retain: false), at: moment(2).time)
        == nil || !isFound)
  }

  @Test func requestsGoThroughTheirStates() {
    var state = ManagementState(root: "odograph/v1")
    state.add(request("7"))
    func now(_ seconds: Double) -> CommandRequest.State? {
      state.request("7")?.state(at: moment(seconds).time)
    }
    #expect(now(1) == .sending && now(11) == .silent)
    state.settle("7", refusal: nil)
    #expect(now(1) == .waiting && now(11) == .silent)
    // A vehicle that was asleep may answer late; that it did counts.
    _ = state.receive(
      message("command/locate/response", answer("7", state: "failed"), retain: false), at: moment(20).time)
    #expect(now(30) == .failed)
    state.add(request("8"))
    state.settle("8", refusal: "not authorized")
    #expect(state.request("8")?.state(at: moment(1).time) == .refused)
    #expect(state.requests(to: van).map(\.id) == ["8", "7"])
  }

  @Test func requestsAreForgottenInTurn() {
    var state = ManagementState(root: "odograph/v1")
    for number in 0..<ManagementState.requestsPerVehicle + 5 { state.add(request("\(number)")) }
    let own = state.requests(to: van)
    #expect(
      own.count == ManagementState.requestsPerVehicle && own.last?.id == "5" && state.request("4") == nil)
    for number in 0..<ManagementState.requestsInAll {
      state.add(request("v\(number)", vehicle: "bus-\(number)"))
    }
    #expect(state.requests(to: van).isEmpty && state.request("v0") != nil)
  }
}
