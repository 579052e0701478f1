import AgentCore
import MQTT
import Pipeline
import Positioning
import Settings
import Spatial
import Telemetry
import TestSupport
import Testing

/// Processing of desired settings, in exact virtual time.
@Suite struct RemoteManagerTests {
  private static let file = """
    [vehicle]
    id = "v"
    [location]
    reporting = "distance"
    distance_filter = 5
    [mqtt]
    broker = "mqtt://old"
    [remote]
    enabled = true
    rollback_after = 60
    keys = ["location.distance_filter", "heading.enabled", "motion.events", "mqtt.broker", "iio.rate"]
    """

  private func layers(_ file: String = file, flags: [String] = []) throws -> ConfigurationLayers {
    ConfigurationLayers(
      flags: try ConfigurationLayer(assignments: flags), environment: ConfigurationLayer(),
      file: try ConfigurationLayer(toml: file, name: "test.toml"), fileName: "test.toml")
  }

  private func manager(
    memory: RemoteMemory = RemoteMemory(), flags: [String] = [], connected: Bool = true
  ) throws -> RemoteManager {
    var manager = try RemoteManager(
      layers: layers(flags: flags), memory: memory, at: Timestamp(nanoseconds: 0))
    if connected {
      _ = manager.begin()
      _ = manager.connectionChanged(isConnected: true, problem: nil, at: Timestamp(nanoseconds: 0))
    }
    return manager
  }

  private func at(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

  private func report(_ decisions: [RemoteManager.Decision]) -> RemoteManager.Report? {
    for case .report(let report) in decisions { return report }
    return nil
  }

  private func applied(_ decisions: [RemoteManager.Decision]) -> AgentConfiguration? {
    for case .apply(let configuration) in decisions { return configuration }
    return nil
  }

  private func filter(_ configuration: AgentConfiguration?) -> Double? {
    if case .distance(let metres)? = configuration?.pipeline.location.policy { metres } else { nil }
  }

  private func remembered(_ decisions: [RemoteManager.Decision]) -> RemoteMemory? {
    for case .remember(let memory) in decisions { return memory }
    return nil
  }

  /// Two brokers, each with a retained document that refers to the other.
  @Test func retainedDocumentsOfTwoBrokersAreOrderedByVersion() throws {
    var manager = try manager()
    let first = Array(#"{"version":"5","settings":{"mqtt.broker":"mqtt://other"}}"#.utf8)
    let second = Array(#"{"version":"16","settings":{"location.distance_filter":20}}"#.utf8)
    #expect(applied(manager.desired(first, isRetained: true, at: at(1))) != nil)
    _ = manager.connectionChanged(isConnected: true, problem: nil, at: at(2))
    #expect(applied(manager.desired(second, isRetained: true, at: at(3))) != nil)
    _ = manager.connectionChanged(isConnected: true, problem: nil, at: at(4))
    let again = manager.desired(first, isRetained: true, at: at(5))
    #expect(applied(again) == nil)
    #expect(report(again)?.state == .refused)
    #expect(
      report(again)?.problem
        == "version 5 is older than 16, which this vehicle has accepted; give a newer version")
    // The order survives a restart.
    let memory = try #require(remembered(again))
    #expect(try RemoteMemory(decoding: memory.encoded) == memory)
  }

  private func document(_ version: String, filter: Int) -> [UInt8] {
    Array(#"{"version":"\#(version)","settings":{"location.distance_filter":\#(filter)}}"#.utf8)
  }

  /// A sleeping vehicle receives as retained message what a connected one receives live.
  @Test(arguments: [false, true]) func versionRuleIsEqualForLiveAndRetained(isRetained: Bool) throws {
    var manager = try manager()
    #expect(
      filter(applied(manager.desired(document("16", filter: 20), isRetained: isRetained, at: at(1)))) == 20)
    #expect(
      report(manager.desired(document("9", filter: 30), isRetained: isRetained, at: at(2)))?.state == .refused
    )
    #expect(
      filter(applied(manager.desired(document("17", filter: 40), isRetained: isRetained, at: at(3)))) == 40)
    // A version that is neither a number nor a time is accepted and does not reset the order.
    #expect(
      filter(applied(manager.desired(document("a", filter: 50), isRetained: isRetained, at: at(4)))) == 50)
    #expect(
      report(manager.desired(document("9", filter: 30), isRetained: isRetained, at: at(5)))?.state == .refused
    )
  }

  /// A document with a version in the future does not block later documents.
  @Test(arguments: [false, true]) func futureVersionIsRejected(isRetained: Bool) throws {
    let time = try #require(UTCTime(rfc3339: "2026-11-27T12:00:00Z"))
    func decide(_ manager: inout RemoteManager, _ version: String, _ filter: Int, _ civilTime: UTCTime?)
      -> RemoteManager.Report?
    {
      report(
        manager.desired(
          document(version, filter: filter), isRetained: isRetained, at: at(1), civilTime: civilTime))
    }
    var manager = try manager()
    let future = decide(&manager, "2027-11-27T12:00:00Z", 20, time)
    #expect(future?.state == .refused)
    #expect(future?.problem?.contains("is in the future; it is now 2026-11-27T12:00:00.000Z") == true)
    #expect(decide(&manager, "2026-11-27T13:00:00Z", 30, time)?.state == .applied)
    // Without a valid clock, it is accepted. With a valid clock, its version is ignored for the order.
    #expect(decide(&manager, "2027-11-27T12:00:00Z", 40, nil)?.state == .applied)
    #expect(decide(&manager, "2026-11-27T14:00:00Z", 50, time)?.state == .applied)
  }

  @Test func integerAndTimeVersionsAreOrdered() {
    #expect(RemoteSettings.isOlder("9", than: "10") && !RemoteSettings.isOlder("10", than: "9"))
    #expect(RemoteSettings.isOlder("2026-11-26T10:00:00Z", than: "2026-11-26T10:00:00.001Z"))
    #expect(!RemoteSettings.isOlder("a", than: "b") && !RemoteSettings.isOlder("5", than: "5"))
  }

  @Test func settingsWithoutReconnectionAreAppliedImmediately() throws {
    var manager = try manager()
    let document = Array(
      #"{"version":"a","settings":{"location.distance_filter":20,"heading.enabled":false}}"#.utf8)
    let decisions = manager.desired(document, isRetained: true, at: at(100))
    // The document is stored before it is applied.
    guard case .remember = decisions.first else {
      Issue.record("the document is not stored first")
      return
    }
    #expect(filter(applied(decisions)) == 20 && applied(decisions)?.pipeline.heading.isEnabled == false)
    #expect(report(decisions)?.state == .applied && report(decisions)?.version == "a")
    #expect(report(decisions)?.accepted == ["heading.enabled", "location.distance_filter"])
    #expect(remembered(decisions)?.trial?.settings.values.count == 2)
    #expect(manager.advance(to: at(109)).isEmpty)
    let confirmed = manager.advance(to: at(110))
    #expect(remembered(confirmed)?.trial == nil && remembered(confirmed)?.settings.values.count == 2)
    #expect(manager.nextDeadline == nil)
    // The broker sends the document again at each connection; it is applied only once.
    #expect(manager.desired(document, isRetained: true, at: at(200)).isEmpty)
    // A key that is missing in the next document gets the value of the file again.
    let back = manager.desired(Array(#"{"settings":{}}"#.utf8), isRetained: false, at: at(300))
    #expect(filter(applied(back)) == 5)
    // Deleting the retained message has the same effect.
    _ = manager.desired(document, isRetained: false, at: at(400))
    #expect(filter(applied(manager.desired([], isRetained: false, at: at(500)))) == 5)
  }

  /// A document with unchanged settings is acknowledged immediately, even during a trial.
  @Test func unchangedDocumentIsAppliedDuringATrial() throws {
    var manager = try manager()
    func document(_ version: String) -> [UInt8] {
      Array(#"{"version":"\#(version)","settings":{"heading.enabled":false}}"#.utf8)
    }
    #expect(report(manager.desired(document("a"), isRetained: false, at: at(100)))?.state == .applied)
    let second = manager.desired(document("b"), isRetained: false, at: at(101))
    #expect(report(second)?.state == .applied && report(second)?.version == "b" && applied(second) == nil)
    #expect(remembered(manager.advance(to: at(110)))?.settings.version == "b")
  }

  /// A change during the trial of a broker joins this trial and ends with it.
  @Test func changeDuringABrokerTrialSharesTheTrial() throws {
    var manager = try manager()
    let broker = Array(#"{"settings":{"mqtt.broker":"mqtt://new"}}"#.utf8)
    #expect(report(manager.desired(broker, isRetained: false, at: at(100)))?.state == .trial)
    let both = Array(
      #"{"version":"both","settings":{"mqtt.broker":"mqtt://new","heading.enabled":false}}"#.utf8)
    #expect(report(manager.desired(both, isRetained: false, at: at(101)))?.state == .trial)
    let confirmed = report(manager.connectionChanged(isConnected: true, problem: nil, at: at(105)))
    #expect(confirmed?.state == .applied && confirmed?.version == "both")
  }

  @Test(arguments: [
    ("{", "line 1 column 2: the text ends too early"), ("[1]", "not a JSON object"),
    ("{}", "key \"settings\": missing"),
    (#"{"settings":[]}"#, "key \"settings\": missing or not an object"),
    (#"{"version":7,"settings":{}}"#, "key \"version\": not a text"),
    ("\u{FFFD}", "line 1"), (String(repeating: " ", count: 70_000), "has 70000 bytes; at most 65536"),
  ])
  func invalidDocumentChangesNothing(text: String, problem: String) throws {
    var manager = try manager()
    let before = manager.active
    let decisions = manager.desired(Array(text.utf8), isRetained: true, at: at(1))
    #expect(report(decisions)?.state == .refused)
    #expect(report(decisions)?.problem?.hasPrefix(problem) == true, "\(report(decisions)?.problem ?? "-")")
    #expect(applied(decisions) == nil && manager.active == before && manager.nextDeadline == nil)
  }

  /// Reduced accuracy in the local file cannot be lifted remotely.
  @Test(arguments: [("reduced", false), ("best", true)])
  func reducedAccuracyIsLiftedOnlyLocally(own: String, isApplied: Bool) throws {
    let file = Self.file.replacing("distance_filter = 5", with: "desired_accuracy = \"\(own)\"")
      .split(separator: "\n").filter { !$0.hasPrefix("keys") }.joined(separator: "\n")
    var manager = try RemoteManager(layers: layers(file), memory: RemoteMemory(), at: at(0))
    _ = manager.begin()
    _ = manager.connectionChanged(isConnected: true, problem: nil, at: at(0))
    let text = #"{"settings":{"location.desired_accuracy":"hundredMeters"}}"#
    let answer = try #require(report(manager.desired(Array(text.utf8), isRetained: false, at: at(1))))
    #expect(answer.state == (isApplied ? .applied : .refused))
    #expect(answer.refused.map(\.reason).allSatisfy { $0.contains("changed only there") })
    #expect(answer.refused.isEmpty == isApplied)
  }

  @Test(arguments: [
    ("location.distance_filtre", "20", "unknown key; did you mean location.distance_filter?"),
    ("vehicle.id", #""other""#, "remote.keys does not list it"),
    ("mqtt.password_file", #""/etc/shadow""#, "remote.keys does not list it"),
    ("remote.keys", "[]", "remote.keys does not list it"),
    ("heading.enabled", "1", "the value is not true or false"),
    ("location.distance_filter", "-1", "the value is not a number from 0 to 1000000"),
    ("location.distance_filter", "null", "the value is not a number"),
    ("location.distance_filter", "{}", "the value is not a number"),
    ("motion.events", "[1]", "the value is not an array"),
    ("iio.rate", "50", "--set iio.rate sets it and has precedence"),
  ])
  func oneInvalidKeyRejectsTheDocument(key: String, value: String, reason: String) throws {
    var manager = try manager(flags: ["iio.rate=100"])
    let before = manager.active
    let text = #"{"settings":{"\#(key)":\#(value),"mqtt.broker":"mqtt://new"}}"#
    let decisions = manager.desired(Array(text.utf8), isRetained: false, at: at(1))
    let answer = try #require(report(decisions))
    #expect(answer.state == .refused && answer.accepted == ["mqtt.broker"])
    #expect(answer.refused.map(\.key) == [key])
    #expect(answer.refused.first?.reason.hasPrefix(reason) == true, "\(answer.refused)")
    #expect(applied(decisions) == nil && manager.active == before && manager.inForce.values.isEmpty)
  }

  @Test func valueInvalidInCombinationIsRejected() throws {
    var manager = try manager()
    for (text, key, problem) in [
      (
        #"{"settings":{"motion.events":["jump"],"heading.enabled":false}}"#, "motion.events",
        "\"jump\" is not one of"
      ),
      (#"{"settings":{"mqtt.broker":"http://x"}}"#, "mqtt.broker", "\"http://x\" is not mqtt://HOST"),
    ] {
      let answer = try #require(report(manager.desired(Array(text.utf8), isRetained: false, at: at(1))))
      #expect(
        answer.state == .refused && answer.problem?.hasPrefix("key \(key): \(problem)") == true, "\(answer)")
      // The problem refers to the key, so that the other keys are not blocked.
      #expect(answer.refused.map(\.key) == [key] && answer.refused[0].reason.hasPrefix(problem))
      #expect(!answer.accepted.contains(key))
    }
  }

  @Test func unreachableBrokerIsRolledBack() throws {
    var manager = try manager()
    let document = Array(
      #"{"version":"b","settings":{"mqtt.broker":"mqtt://dead","heading.enabled":false}}"#.utf8)
    let decisions = manager.desired(document, isRetained: true, at: at(100))
    #expect(report(decisions)?.state == .trial)
    #expect(manager.connectionChanged(isConnected: false, problem: "nobody there", at: at(101)).isEmpty)
    #expect(manager.nextDeadline == at(160) && manager.advance(to: at(159.9)).isEmpty)
    let back = manager.advance(to: at(160))
    #expect(
      applied(back)?.mqtt == (try layers().configuration().mqtt)
        && applied(back)?.pipeline.heading.isEnabled == true)
    #expect(report(back)?.state == .rolledBack && report(back)?.settings.isEmpty == true)
    #expect(report(back)?.problem?.contains("nobody there") == true)
    #expect(remembered(back)?.trial == nil && manager.nextDeadline == nil)
    // The broker still retains the document, which is not retried. A new document with the same content is.
    #expect(manager.desired(document, isRetained: true, at: at(200)).isEmpty)
    #expect(report(manager.desired(document, isRetained: false, at: at(300)))?.state == .trial)
  }

  /// A rollback requires the file of private zones. While it cannot be read, the settings on trial stay in effect.
  @Test func rollbackWaitsForTheZoneFile() throws {
    let directory = try TemporaryDirectory()
    let none = #"{"type":"FeatureCollection","features":[]}"#
    let path = try directory.write("private.geojson", none)
    var manager = try manager(flags: ["privacy.path=\(path)"])
    let document = Array(#"{"settings":{"mqtt.broker":"mqtt://dead"}}"#.utf8)
    _ = manager.desired(document, isRetained: true, at: at(100))
    _ = try directory.write("private.geojson", "{")
    #expect(manager.advance(to: at(160)).isEmpty && manager.nextDeadline == at(220))
    _ = try directory.write("private.geojson", none)
    #expect(report(manager.advance(to: at(220)))?.state == .rolledBack)
  }

  @Test func reachedBrokerIsConfirmed() throws {
    var manager = try manager()
    let document = Array(#"{"settings":{"mqtt.broker":"mqtt://new"}}"#.utf8)
    _ = manager.desired(document, isRetained: true, at: at(100))
    let confirmed = manager.connectionChanged(isConnected: true, problem: nil, at: at(105))
    #expect(report(confirmed)?.state == .applied && remembered(confirmed)?.trial == nil)
    #expect(manager.advance(to: at(1000)).isEmpty && manager.inForce.values.count == 1)
  }

  private static let linkFile = file.replacing(
    #""mqtt.broker""#, with: #""mqtt.broker", "mqtt.link", "mqtt.burst_interval""#)

  private static let oneBurstPerDay = Array(
    #"{"version":"d","settings":{"mqtt.link":"bursts","mqtt.burst_interval":86400}}"#.utf8)

  private func linkManager(memory: RemoteMemory = RemoteMemory()) throws -> RemoteManager {
    var manager = try RemoteManager(layers: layers(Self.linkFile), memory: memory, at: at(0))
    _ = manager.begin()
    _ = manager.connectionChanged(isConnected: true, problem: nil, at: at(0))
    return manager
  }

  /// Neither the connection that delivered the document nor the one that it causes confirms the schedule.
  @Test func longBurstIntervalIsRolledBackWithoutAConnection() throws {
    var manager = try linkManager()
    let decisions = manager.desired(Self.oneBurstPerDay, isRetained: true, at: at(100))
    #expect(report(decisions)?.state == .trial)
    #expect(manager.connection.client.linkPolicy == .bursts(linger: 5, interval: 86_400))
    #expect(manager.connectionChanged(isConnected: true, problem: nil, at: at(101)).isEmpty)
    // An urgent message opens the link between bursts.
    #expect(manager.connectionChanged(isConnected: true, problem: nil, at: at(110)).isEmpty)
    #expect(manager.nextDeadline == at(160) && manager.advance(to: at(159)).isEmpty)
    // A repeated document does not confirm it.
    #expect(report(manager.desired(Self.oneBurstPerDay, isRetained: false, at: at(120)))?.state == .trial)
    let back = manager.advance(to: at(160))
    let problem = try #require(report(back)?.problem)
    #expect(report(back)?.state == .rolledBack && problem.contains("no second connection within 60 s"))
    #expect(applied(back)?.mqtt == (try layers(Self.linkFile).configuration().mqtt))
    #expect(manager.connection.client.linkPolicy == .standing && manager.nextDeadline == nil)
  }

  @Test func shortBurstIntervalIsConfirmedByAConnection() throws {
    var manager = try linkManager()
    let document = Array(#"{"settings":{"mqtt.link":"bursts","mqtt.burst_interval":30}}"#.utf8)
    #expect(report(manager.desired(document, isRetained: true, at: at(100)))?.state == .trial)
    #expect(manager.connectionChanged(isConnected: true, problem: nil, at: at(101)).isEmpty)
    let confirmed = manager.connectionChanged(isConnected: true, problem: nil, at: at(131))
    #expect(report(confirmed)?.state == .applied && remembered(confirmed)?.trial == nil)
    #expect(manager.nextDeadline == nil && manager.inForce.values.count == 2)
    // Other settings of the connection do not test the schedule again.
    let both = Array(
      #"{"settings":{"mqtt.link":"bursts","mqtt.burst_interval":30,"mqtt.broker":"mqtt://new"}}"#.utf8)
    #expect(report(manager.desired(both, isRetained: true, at: at(200)))?.state == .trial)
    let second = manager.connectionChanged(isConnected: true, problem: nil, at: at(201))
    #expect(report(second)?.state == .applied)
  }

  /// A moving vehicle tests its link at rest while the settings are on trial.
  @Test func burstsAtRestAreTestedInMotion() throws {
    var manager = try linkManager()
    let document = Array(#"{"settings":{"mqtt.burst_interval":20}}"#.utf8)
    #expect(report(manager.desired(document, isRetained: true, at: at(100)))?.state == .trial)
    let bursts = MQTTLinkPolicy.bursts(linger: 5, interval: 20)
    #expect(
      manager.connection.client.linkPolicy == bursts && manager.active.mqtt.client.linkPolicy == .standing)
    _ = manager.connectionChanged(isConnected: true, problem: nil, at: at(101))
    #expect(
      report(manager.connectionChanged(isConnected: true, problem: nil, at: at(121)))?.state == .applied)
    #expect(manager.connection == manager.active.mqtt)
  }

  /// Withdrawing a schedule during its trial is an ordinary change of the connection.
  @Test func removedScheduleIsConfirmedByOneConnection() throws {
    var manager = try linkManager()
    _ = manager.desired(Self.oneBurstPerDay, isRetained: true, at: at(100))
    _ = manager.connectionChanged(isConnected: true, problem: nil, at: at(101))
    let withdrawn = manager.desired([], isRetained: false, at: at(103))
    #expect(applied(withdrawn)?.mqtt == (try layers(Self.linkFile).configuration().mqtt))
    #expect(
      report(manager.connectionChanged(isConnected: true, problem: nil, at: at(104)))?.state == .applied)
    #expect(manager.nextDeadline == nil && manager.inForce.values.isEmpty)
  }

  /// The connection after a restart does not confirm a schedule either.
  @Test func restartContinuesAScheduleTrial() throws {
    var first = try linkManager()
    let memory = try #require(remembered(first.desired(Self.oneBurstPerDay, isRetained: true, at: at(100))))
    var next = try linkManager(memory: memory)
    #expect(next.inForce.values.count == 2 && next.nextDeadline == at(60))
    #expect(report(next.advance(to: at(60)))?.state == .rolledBack)
  }

  @Test(
    arguments: [
      (nil, "/etc/odographd/remote/secret", "remote settings cannot name files; set remote.files_path"),
      ("/etc/odographd/remote", "/etc/odographd/remote/secret", nil),
      ("/etc/odographd/remote/", "/etc/odographd/remote/secret", nil),
      ("/etc/odographd/remote", "/etc/shadow", "the file is not in /etc/odographd/remote"),
      ("/etc/odographd/remote", "/etc/odographd/remote/../key", "the file is not in"),
      ("/etc/odographd/remote", "/etc/odographd/remote/..", "the file is not in"),
      ("/etc/odographd/remote", "/etc/odographd/remote/a/b", "the file is not in"),
      ("/etc/odographd/remote", "/etc/odographd/remote/", "the file is not in"),
      ("/etc/odographd/remote", "/etc/odographd/remotely", "the file is not in"),
      ("/etc/odographd/remote", "secret", "the file is not in"),
    ] as [(String?, String, String?)])
  func remoteSettingsNameOnlyFilesOfTheConfiguredFolder(
    folder: String?, path: String, reason: String?
  ) throws {
    let keys = RemoteKeys.files.sorted().map { "\"\($0)\"" }.joined(separator: ", ")
    let file =
      Self.file.replacing(#"keys = ["#, with: "keys = [\(keys), ")
      .replacing("mqtt://old\"", with: "mqtts://old\"\nuser = \"v\"")
      + (folder.map { "\nfiles_path = \"\($0)\"" } ?? "")
    for key in RemoteKeys.files {
      var manager = try RemoteManager(layers: layers(file), memory: RemoteMemory(), at: at(0))
      let pair = [
        "mqtt.certificate_file": "mqtt.key_file", "mqtt.key_file": "mqtt.certificate_file",
      ][key]
      // A pre-shared key needs an identity, which is not listed.
      guard key != "mqtt.psk_file" || reason != nil else { continue }
      let settings = [key, pair].compactMap { $0 }.map { "\"\($0)\":\"\(path)\"" }.joined(separator: ",")
      let answer = try #require(
        report(manager.desired(Array("{\"settings\":{\(settings)}}".utf8), isRetained: false, at: at(1))))
      #expect(answer.state == (reason == nil ? .trial : .refused), "\(key): \(answer)")
      if let reason {
        #expect(answer.refused.contains { $0.key == key && $0.reason.hasPrefix(reason) }, "\(answer)")
      }
      // A file that was stored before the folder was configured is not used either.
      var memory = RemoteMemory()
      for name in [key, pair].compactMap({ $0 }) { memory.settings.values[name] = .text(path) }
      let next = try RemoteManager(layers: layers(file), memory: memory, at: at(0))
      let isUsed = next.active.mqtt != (try layers(file).configuration().mqtt)
      #expect(isUsed == (reason == nil), "\(key)")
    }
  }

  /// Each changeable key of `mqtt` that names a file is one of `files`.
  @Test func everyFileOfTheConnectionIsRestricted() {
    let named = ConfigurationKey.all.map(\.path).filter {
      $0.hasPrefix("mqtt.") && ($0.hasSuffix("_file") || $0.hasSuffix("path"))
    }
    #expect(Set(named) == RemoteKeys.files)
    // No other key that can be changed remotely names a file.
    let others = ConfigurationKey.all.map(\.path).filter {
      RemoteKeys.problem(with: $0) == nil && !$0.hasPrefix("mqtt.")
    }
    #expect(!others.contains { $0.hasSuffix("file") || $0.hasSuffix("path") || $0.hasSuffix("tracks") })
  }

  @Test func restartContinuesTheTrialAndManyEndIt() throws {
    var first = try manager()
    var memory = try #require(
      remembered(
        first.desired(Array(#"{"settings":{"heading.enabled":false}}"#.utf8), isRetained: true, at: at(1))))
    for start in 1...RemoteManager.startsOnTrial {
      memory = try RemoteMemory(decoding: memory.encoded)
      var next = try manager(memory: memory, connected: false)
      #expect(next.active.pipeline.heading.isEnabled == false)
      memory = try #require(remembered(next.begin()))
      #expect(memory.trial?.starts == start)
    }
    var last = try manager(memory: memory, connected: false)
    #expect(last.active.pipeline.heading.isEnabled)
    let decisions = last.begin()
    #expect(report(decisions)?.state == .rolledBack && remembered(decisions)?.trial == nil)
  }

  @Test func storedSettingsApplyAfterARestartIfAllowed() throws {
    var memory = RemoteMemory()
    memory.settings.version = "x"
    memory.settings.values = [
      "heading.enabled": .flag(false), "location.distance_filter": .number(30), "vehicle.id": .text("other"),
      "iio.rate": .number(25),
    ]
    memory.desired.last = "1-a"
    let read = try RemoteMemory(decoding: memory.encoded)
    #expect(read == memory)
    let manager = try manager(memory: read, flags: ["location.distance_filter=7"])
    #expect(manager.active.pipeline.heading.isEnabled == false && manager.active.pipeline.inertial.rate == 25)
    #expect(filter(manager.active) == 7 && manager.active.vehicle == "v")
  }

  @Test func reloadAppliesChangesAndNamesOthers() throws {
    var manager = try manager()
    let changed =
      Self.file.replacing("distance_filter = 5", with: "distance_filter = 50")
      .replacing("mqtt://old", with: "mqtt://other") + "\n[status]\ninterval = 7"
    let outcome = try manager.reload(layers(changed))
    #expect(outcome.changed == ["location.distance_filter", "status.interval"])
    #expect(outcome.needsRestart == ["mqtt.broker"] && outcome.overridden.isEmpty)
    #expect(filter(applied(outcome.decisions)) == 50 && manager.active.pipeline.statusInterval == 7)
    #expect(manager.active.mqtt == (try layers().configuration().mqtt))
    #expect(throws: ConfigurationError.self) {
      try manager.reload(layers(Self.file.replacing("mqtt://old", with: "ftp://x")))
    }
    #expect(filter(manager.active) == 50)
  }

  /// A reload lists changed keys of the file that are overridden remotely or on the command line.
  @Test func reloadNamesOverriddenKeys() throws {
    var memory = RemoteMemory()
    memory.settings.values = ["location.distance_filter": .number(9)]
    var manager = try manager(memory: memory, flags: ["status.interval=11"])
    let changed =
      Self.file.replacing("distance_filter = 5", with: "distance_filter = 50") + "\n[status]\ninterval = 7"
    let outcome = try manager.reload(layers(changed, flags: ["status.interval=11"]))
    #expect(outcome.changed.isEmpty && outcome.needsRestart.isEmpty && outcome.decisions.isEmpty)
    #expect(outcome.overridden == ["location.distance_filter", "status.interval"])
    #expect(filter(manager.active) == 9 && manager.active.pipeline.statusInterval == 11)
    let withdrawn = manager.desired(Array(#"{"settings":{}}"#.utf8), isRetained: true, at: at(100))
    #expect(filter(applied(withdrawn)) == 50)
  }

  @Test(arguments: [
    ("remote.keys=vehicle.id", "vehicle.id requires a restart"),
    ("remote.keys=heding.enabled", "did you mean heading"),
    ("remote.keys=remote.keys", "remote.keys requires a restart"),
    ("remote.keys=store.path", "requires a restart"),
  ])
  func localKeysAreRejectedAsRemoteKeys(flag: String, problem: String) throws {
    let layers = try layers(flags: [flag])
    do throws(ConfigurationError) {
      _ = try layers.configuration()
      Issue.record("accepted \(flag)")
    } catch { #expect(error.problem.contains(problem), "\(error)") }
  }

  @Test func defaultRemoteKeysExcludeBrokerAndCredentials() {
    for key in RemoteKeys.usual {
      #expect(!key.hasPrefix("mqtt.") && RemoteKeys.problem(with: key) == nil, "\(key)")
    }
  }

  /// The retained document is not applied again after an OwnTracks command changed a setting.
  @Test func ownTracksSettingsSurviveTheNextConnection() throws {
    var manager = try manager()
    let retained = Array(#"{"settings":{"location.distance_filter":50}}"#.utf8)
    _ = manager.desired(retained, isRetained: true, at: at(1))
    _ = manager.advance(to: at(20))
    let command = Array(#"{"version":"owntracks","settings":{"location.distance_filter":500}}"#.utf8)
    #expect(
      report(manager.desired(command, isRetained: false, isOwnTracks: true, at: at(30)))?.state == .applied)
    #expect(manager.desired(retained, isRetained: true, at: at(40)).isEmpty)
    #expect(manager.inForce.values["location.distance_filter"] == .number(500))
  }

  /// File whose own changes can contradict stored remote settings.
  private static let backoffFile = file.replacing(
    #""mqtt.broker""#, with: #""mqtt.broker", "mqtt.backoff_base", "status.interval""#
  ).replacing("broker = \"mqtt://old\"", with: "broker = \"mqtt://old\"\nbackoff_limit = 600")

  /// A stored setting that the changed file contradicts is refused by name. The others remain in effect.
  @Test func contradictedSettingIsRefusedAfterARestart() throws {
    var first = try RemoteManager(layers: layers(Self.backoffFile), memory: RemoteMemory(), at: at(0))
    let document =
      #"{"version":"7","settings":{"mqtt.backoff_base":300,"location.distance_filter":77,"status.interval":5}}"#
    _ = first.desired(Array(document.utf8), isRetained: true, at: at(1))
    _ = first.connectionChanged(isConnected: true, problem: nil, at: at(2))
    #expect(first.inForce.values.count == 3 && first.memory.trial == nil)

    let changed = Self.backoffFile.replacing("backoff_limit = 600", with: "backoff_limit = 10")
    var next = try RemoteManager(layers: layers(changed), memory: first.memory, at: at(0))
    #expect(filter(next.active) == 77 && next.active.pipeline.statusInterval == 5)
    #expect(next.active.mqtt == (try layers(changed).configuration().mqtt))
    let decisions = next.begin()
    let answer = try #require(report(decisions))
    #expect(answer.state == .applied && answer.version == "7" && answer.problem != nil)
    #expect(answer.accepted == ["location.distance_filter", "status.interval"])
    #expect(answer.settings.keys.sorted() == answer.accepted)
    #expect(answer.refused.map(\.key) == ["mqtt.backoff_base"])
    #expect(answer.refused.first?.reason.contains("below mqtt.backoff_base") == true, "\(answer.refused)")
    #expect(next.inForce.values.count == 2)
    // The document that the broker retains is not decided on again.
    #expect(next.desired(Array(document.utf8), isRetained: true, at: at(3)).isEmpty)

    // The report is published once.
    let memory = try RemoteMemory(decoding: #require(remembered(decisions)).encoded)
    #expect(memory == next.memory)
    var again = try RemoteManager(layers: layers(changed), memory: memory, at: at(0))
    #expect(again.begin().isEmpty && again.refused == next.refused)
    // With the former file, all settings are in effect again, and this is reported.
    var restored = try RemoteManager(layers: layers(Self.backoffFile), memory: memory, at: at(0))
    let back = try #require(report(restored.begin()))
    #expect(back.refused.isEmpty && back.problem == nil && back.settings.count == 3)
    #expect(restored.inForce.values.count == 3)
  }

  @Test func settingRemovedFromTheKeysIsRefusedAfterARestart() throws {
    var memory = RemoteMemory()
    memory.settings.values = ["location.distance_filter": .number(30), "heading.enabled": .flag(false)]
    let changed = Self.file.replacing(#""heading.enabled", "#, with: "")
    var manager = try RemoteManager(layers: layers(changed), memory: memory, at: at(0))
    let answer = try #require(report(manager.begin()))
    #expect(
      answer.refused.map(\.key) == ["heading.enabled"] && answer.accepted == ["location.distance_filter"])
    #expect(answer.refused.first?.reason == "remote.keys does not list it")
    #expect(filter(manager.active) == 30 && manager.active.pipeline.heading.isEnabled)
    // Without any permitted setting, the stored document counts as refused.
    let none = try RemoteManager(
      layers: layers(changed.replacing(#""location.distance_filter", "#, with: "")), memory: memory, at: at(0)
    )
    #expect(none.reportInForce?.state == .refused && none.inForce.values.isEmpty)
  }

  /// A document on trial applies as a whole or not at all.
  @Test func contradictedTrialIsRolledBackAfterARestart() throws {
    var memory = RemoteMemory()
    memory.settings.values = ["location.distance_filter": .number(30)]
    var first = try RemoteManager(layers: layers(Self.backoffFile), memory: memory, at: at(0))
    let document = #"{"version":"8","settings":{"mqtt.backoff_base":300,"location.distance_filter":40}}"#
    let trial = try #require(remembered(first.desired(Array(document.utf8), isRetained: true, at: at(1))))
    let changed = Self.backoffFile.replacing("backoff_limit = 600", with: "backoff_limit = 10")
    var manager = try RemoteManager(layers: layers(changed), memory: trial, at: at(0))
    #expect(filter(manager.active) == 30)
    let decisions = manager.begin()
    #expect(report(decisions)?.state == .rolledBack && report(decisions)?.version == "8")
    #expect(report(decisions)?.problem?.contains("no longer permits mqtt.backoff_base") == true)
    #expect(report(decisions)?.settings == memory.settings.values && remembered(decisions)?.trial == nil)
  }

  /// A reload that forbids a remote setting withdraws this setting and reports it.
  @Test func reloadReportsSettingsThatItForbids() throws {
    let file = Self.file.replacing(#"keys = ["#, with: #"keys = ["location.desired_accuracy", "#)
    var memory = RemoteMemory()
    memory.settings.values = [
      "location.desired_accuracy": .text("hundredMeters"), "heading.enabled": .flag(false),
    ]
    var manager = try RemoteManager(layers: layers(file), memory: memory, at: at(0))
    #expect(manager.begin().isEmpty && manager.active.pipeline.location.desiredAccuracy == .hundredMeters)
    let reduced = file.replacing("distance_filter = 5", with: "desired_accuracy = \"reduced\"")
    let outcome = try manager.reload(layers(reduced))
    #expect(applied(outcome.decisions)?.pipeline.location.desiredAccuracy == .reduced)
    #expect(report(outcome.decisions)?.refused.map(\.key) == ["location.desired_accuracy"])
    #expect(report(outcome.decisions)?.accepted == ["heading.enabled"])
    #expect(remembered(outcome.decisions)?.refused == ["location.desired_accuracy"])
  }

  /// A document that the broker does not retain remains in effect after a restart. The retained one is not decided on again,
  /// also if it was rolled back.
  @Test(arguments: [false, true])
  func retainedDocumentDoesNotReplaceALaterLiveOne(isRolledBack: Bool) throws {
    var manager = try manager()
    let retained =
      isRolledBack
      ? Array(#"{"version":"20","settings":{"mqtt.broker":"mqtt://dead"}}"#.utf8) : document("20", filter: 30)
    _ = manager.desired(retained, isRetained: true, at: at(1))
    #expect(report(manager.advance(to: at(61)))?.state == (isRolledBack ? .rolledBack : nil))
    _ = manager.connectionChanged(isConnected: true, problem: nil, at: at(62))
    let live = Array(#"{"settings":{"location.distance_filter":40}}"#.utf8)
    #expect(report(manager.desired(live, isRetained: false, at: at(100)))?.state == .applied)
    _ = manager.advance(to: at(200))
    let memory = try RemoteMemory(decoding: manager.memory.encoded)
    #expect(memory == manager.memory)
    var next = try self.manager(memory: memory)
    #expect(next.desired(retained, isRetained: true, at: at(1)).isEmpty && filter(next.active) == 40)
    // A new retained document is decided on.
    #expect(filter(applied(next.desired(document("21", filter: 50), isRetained: true, at: at(2)))) == 50)
  }

  /// The broker delivers a document without its retained flag if the vehicle is connected when it is published.
  @Test func retainedDocumentIsRecognizedAfterItsLiveDelivery() throws {
    var manager = try manager()
    _ = manager.desired(document("20", filter: 30), isRetained: false, at: at(1))
    let again = manager.desired(document("20", filter: 30), isRetained: true, at: at(20))
    #expect(report(again) == nil && applied(again) == nil && remembered(again) != nil)
    _ = manager.desired(
      Array(#"{"settings":{"location.distance_filter":40}}"#.utf8), isRetained: false, at: at(30))
    #expect(manager.desired(document("20", filter: 30), isRetained: true, at: at(40)).isEmpty)
  }

  /// A number above 2^53 is refused. One that an earlier version has accepted does not block smaller numbers.
  @Test func tooLargeNumberIsNoVersion() throws {
    var memory = RemoteMemory()
    memory.newestVersion = "18446744073709551615"
    var manager = try manager(memory: memory)
    #expect(
      report(manager.desired(document("9007199254740992", filter: 20), isRetained: false, at: at(1)))?.state
        == .applied)
    for version in ["9007199254740993", "18446744073709551615", String(repeating: "9", count: 40)] {
      let answer = report(manager.desired(document(version, filter: 30), isRetained: false, at: at(2)))
      #expect(answer?.state == .refused && answer?.accepted.isEmpty == true)
      #expect(
        answer?.problem?.hasPrefix("version \(version) is above 9007199254740992") == true, "\(version)")
    }
    #expect(manager.memory.newestVersion == "9007199254740992" && filter(manager.active) == 20)
    memory.newestVersion = "18446744073709551615"
    var next = try self.manager(memory: memory)
    #expect(
      report(next.desired(document("21", filter: 30), isRetained: false, at: at(1)))?.state == .applied)
  }
}
