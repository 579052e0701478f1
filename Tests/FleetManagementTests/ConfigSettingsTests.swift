import Fleet
import FleetManagement
import JSON
import Telemetry
import Testing

@Suite struct ConfigSettingsTests {
  private func settings(_ assignments: String...) throws -> ConfigSettings {
    try ConfigSettings(assignments: assignments)
  }

  @Test func validSettingsAreAccepted() throws {
    let read = try settings(
      "location.distance_filter=50", "heading.enabled=false", "motion.events=[\"impact\"]", "mqtt.protocol=5",
      "location.activity=pedestrian")
    #expect(
      read.values == [
        "location.distance_filter": .integer(50), "heading.enabled": .bool(false),
        "motion.events": .array([.string("impact")]), "mqtt.protocol": .string("5"),
        "location.activity": .string("pedestrian"),
      ])
  }

  /// Vehicles receive the number that older versions also accept.
  @Test func speedsCanHaveAUnit() throws {
    for (text, value) in [("60 km/h", 60.0), ("16 m/s", 57.6), ("50mph", 80.4672), ("130km/h", 130)] {
      let read = try settings("events.speed_limit=\(text)")
      #expect(read.values["events.speed_limit"]?.double == value, "\(text)")
    }
    #expect(try settings("events.speed_limit=60").values == ["events.speed_limit": .integer(60)])
    #expect(
      try ConfigSettings(["events.speed_limit": .string("36 m/s")]).values == [
        "events.speed_limit": .number(129.6)
      ])
    for text in ["fast", "60 kn", "-1 km/h", "501 km/h", "km/h", "\"60\""] {
      let error = #expect(throws: FleetError.self) { try settings("events.speed_limit=\(text)") }
      #expect(error?.cause.contains("as in \"60 km/h\" or \"16.7 m/s\"") == true, "\(text)")
    }
  }

  /// The same forms as on the vehicle's own command line.
  @Test(arguments: [
    (#"["impact","shake"]"#, ["impact", "shake"]), ("['impact', 'shake',]", ["impact", "shake"]), ("[]", []),
    ("impact, shake", ["impact", "shake"]), ("impact", ["impact"]), (#""impact""#, ["impact"]),
  ])
  func arraysInTheEnvironmentUseFileSyntax(text: String, texts: [String]) throws {
    #expect(
      try settings("motion.events=\(text)").values == ["motion.events": .array(texts.map(JSONValue.string))])
  }

  @Test(arguments: [
    (#"["impact""#, "is not TOML", #"write it as in '["a", "b"]'"#),
    (#"["impact" "shake"]"#, "(character 11)", #"write it as in '["a", "b"]'"#),
    (#"["impact", 5]"#, "must be an array of strings", ""),
  ])
  func aWrongArrayNamesTheKeyAndTheRemedy(text: String, problem: String, remedy: String) throws {
    let error = try #require(throws: FleetError.self) { try settings("motion.events=\(text)") }
    #expect(error.kind == .invalidInput && error.object.hasPrefix("motion.events to "), "\(error)")
    #expect(error.description.contains(problem) && (remedy.isEmpty || error.description.contains(remedy)))
  }

  /// A wrong element would remain in the retained settings, because only the vehicle refuses it.
  @Test(arguments: [
    (#"motion.events=["impact", "shke"]"#, #""shke" is not one of "shake", "#),
    ("motion.events=jump", #""jump" is not one of "#),
    ("events.kinds=harshBraking,braking", #""braking" is not one of "#),
  ])
  func aWrongElementOfAnArrayIsRefused(assignment: String, problem: String) throws {
    let error = try #require(throws: FleetError.self) { try settings(assignment) }
    #expect(error.kind == .invalidInput && error.description.contains(problem), "\(error)")
    let parts = assignment.split(separator: "=", maxSplits: 1).map(String.init)
    #expect(throws: FleetError.self) {
      try ConfigSettings([parts[0]: .array([.string("impact"), .string("jump")])])
    }
  }

  /// Table: invalid keys and values, with their errors, which are the same for the command line and for files.
  @Test(arguments: [
    ("location.distance_filtre", "50", "did you mean location.distance_filter?"),
    ("no.such_thing", "1", "unknown key"), ("distance", "1", "a key has the form"),
    ("location.distance_filter", "-1", "must be a number from 0 to 1000000"),
    ("location.distance_filter", "\"far\"", "must be a number from"),
    ("heading.enabled", "7", "must be true or false"), ("location.activity", "\"sailing\"", "must be one of"),
    ("store.path", "\"/x\"", "requires a restart and cannot be changed remotely"),
    ("status.interval", "{}", "must be a number from"),
  ])
  func invalidSettingsAreRefused(key: String, value: String, cause: String) throws {
    let plain = #"{"status.interval": 30, "\#(key)": \#(value)}"#
    let nested = #"{"settings": {"\#(key)": \#(value)}}"#
    for (assignments, text) in [(["\(key)=\(value)"], nil), ([], plain), ([], nested)] {
      let error = try #require(throws: FleetError.self) {
        try ConfigSettings(
          assignments: assignments, file: text.map { (path: "winter.json", bytes: Array($0.utf8)) })
      }
      #expect(error.kind == .invalidInput && error.description.contains(cause), "\(error)")
      if text != nil { #expect(error.object.contains("winter.json")) }
    }
  }

  /// Settings of another version can be removed.
  @Test func unknownKeysCanBeRemoved() throws {
    let read = try ConfigSettings(assignments: [], removals: ["future.key"])
    #expect(read.applied(to: ["future.key": .integer(1), "status.interval": .integer(9)]).count == 1)
    #expect(throws: FleetError.self) { try ConfigSettings(assignments: [], removals: ["no key"]) }
  }

  /// A rejected key must not block later changes. A key that was corrected after the rejection stays desired.
  @Test func onlyAReportOnTheCurrentDocumentLeavesKeysBehind() throws {
    let report =
      #"{"version":"1","state":"refused","refused":[{"key":"status.interval","reason":"too short"}]}"#
    let change = try settings("location.distance_filter=50")
    for (version, isKept) in [("1", false), ("2", true)] {
      let desired = #"{"version":"\#(version)","settings":{"status.interval":30}}"#
      let document = change.document(
        on: VehicleDocuments(
          desired: try JSONValue(parsing: Array(desired.utf8)),
          reported: try JSONValue(parsing: Array(report.utf8))),
        version: "3")
      #expect(document.leftBehind.map(\.key) == (isKept ? [] : ["status.interval"]), "version \(version)")
      let settings = document.json["settings"]
      #expect(settings?["status.interval"] == (isKept ? .integer(30) : nil), "version \(version)")
      #expect(settings?["location.distance_filter"] == .integer(50))
    }
  }

  /// A broker without persistence has lost the desired documents: no setting or region in effect is withdrawn.
  @Test func lostDocumentsWithdrawNothing() throws {
    let report = #"{"version":"1","state":"applied","settings":{"status.interval":30}}"#
    let documents = VehicleDocuments(desired: nil, reported: try JSONValue(parsing: Array(report.utf8)))
    let document = try settings("location.distance_filter=50").document(on: documents, version: "2")
    #expect(document.json["settings"]?["status.interval"] == .integer(30))
    #expect(document.json["settings"]?["location.distance_filter"] == .integer(50))

    let accepted = try JSONValue(parsing: Array(#"{"accepted":["depot"],"state":"applied"}"#.utf8))
    let key = VehicleKey(fleet: "f", vehicle: "v")
    let error = try #require(throws: FleetError.self) {
      try VehicleDocuments(desired: nil, reported: accepted).checkWantedRegions(of: key)
    }
    #expect(error.description.contains("(depot); push all regions"), "\(error)")
    try VehicleDocuments(desired: nil, reported: nil).checkWantedRegions(of: key)
    try VehicleDocuments(desired: accepted, reported: accepted).checkWantedRegions(of: key)
  }
}
