import AgentCore
import Foundation
import Logging
import Platform
import Telemetry
import TestSupport
import Testing

/// State folder of a vehicle: its files, and exclusive access.
@Suite struct StateClaimTests {
  private let directory: TemporaryDirectory
  private static let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  init() throws { directory = try TemporaryDirectory() }

  private var folders: AgentFolders {
    AgentFolders(environment: ["STATE_DIRECTORY": directory.file("default")], isRoot: false) { _ in false }
  }

  private func configuration(
    _ settings: String..., vehicle: String = "van-1"
  ) throws -> AgentConfiguration {
    try AgentConfiguration(
      layers: [
        ConfigurationLayer(
          assignments: [
            "vehicle.id=\(vehicle)", "remote.enabled=true", "recorder.enabled=true", "trace.enabled=true",
          ] + settings)
      ], file: nil, folders: folders)
  }

  private func claim(_ configuration: AgentConfiguration) throws -> StateClaims {
    try StateClaims(configuration, folders: folders, log: Self.log)
  }

  private func refusal(_ configuration: AgentConfiguration) -> String? {
    do {
      _ = try claim(configuration)
      return nil
    } catch { return "\(error)" }
  }

  private static func files(_ configuration: AgentConfiguration) -> [String] {
    [
      configuration.store.path, configuration.state.odometer, configuration.state.trips,
      configuration.traces?.path ?? "", configuration.calibrationPath ?? "", configuration.beacons.path,
      configuration.regions.statePath, configuration.remote.path, configuration.recorder?.path ?? "",
    ]
  }

  private static let names = [
    "outbox.sqlite", "outbox.sqlite.odometer", "outbox.sqlite.trips", "outbox.sqlite.traces", "calibration",
    "beacons.sqlite", "regions.state", "remote", "accelerometer.history",
  ]

  @Test(arguments: [
    ([], "DEFAULT"), (["state.path=/data/a"], "/data/a"), (["store.path=/data/b/outbox.sqlite"], "/data/b"),
  ])
  func allFilesAreInTheStateFolder(settings: [String], folder: String) throws {
    let configuration = try AgentConfiguration(
      layers: [
        ConfigurationLayer(
          assignments: ["vehicle.id=v", "recorder.enabled=true", "trace.enabled=true"] + settings)
      ],
      file: nil, folders: folders)
    let folder = folder == "DEFAULT" ? folders.state : folder
    #expect(configuration.state.folder == folder)
    #expect(Self.files(configuration) == Self.names.map { "\(folder)/\($0)" })
  }

  @Test func explicitPathsApply() throws {
    let configuration = try configuration(
      "state.path=/data/a", "store.path=/flash/queue", "regions.state=/r", "remote.path=/m",
      "calibration.path=/c", "recorder.path=/h")
    #expect(
      Self.files(configuration) == [
        "/flash/queue", "/data/a/queue.odometer", "/data/a/queue.trips", "/data/a/queue.traces", "/c",
        "/data/a/beacons.sqlite", "/r", "/m", "/h",
      ])
  }

  @Test func otherVehicleIsRejectedWithoutLoss() throws {
    let folder = directory.file("state")
    do {
      let claims = try claim(configuration("state.path=\(folder)"))
      withExtendedLifetime(claims) {}
    }
    try Data("settings".utf8).write(to: URL(filePath: folder + "/remote/settings.json"))
    let before = try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
    let other = try configuration("state.path=\(folder)", vehicle: "van-2")
    #expect(
      refusal(other)
        == "\(folder): holds the state of vehicle default/van-1; set state.path to another folder for "
        + "default/van-2, or delete \(folder)/odographd.owner if the vehicle was renamed")
    #expect(try FileManager.default.subpathsOfDirectory(atPath: folder).sorted() == before)
    var check = EnvironmentCheck(other)
    #expect(
      check.run(sources: []).contains {
        $0.severity == .problem && $0.subject == "state" && $0.message.contains("vehicle default/van-1")
      })
    #expect(try refusal(configuration("state.path=\(folder)")) == nil)
    // Another folder that refers to the other vehicle's remote settings is rejected, too.
    let borrowed = try configuration(
      "state.path=\(directory.file("own"))", "remote.path=\(folder)/remote", vehicle: "van-2")
    #expect(refusal(borrowed)?.contains("set remote.path to another folder") == true)
    let queue = try configuration("state.path=\(folder)", "store.path=\(directory.path)/queue")
    #expect(refusal(queue) == nil)
    #expect(
      try refusal(
        configuration(
          "state.path=\(directory.file("own"))", "store.path=\(directory.path)/queue", vehicle: "van-2"))?
        .contains("set store.path to another folder") == true)
    // The vehicle was renamed and the owner files were removed.
    for file in ["odographd.owner", "remote/odographd.owner"] { try AtomicFile.remove("\(folder)/\(file)") }
    #expect(refusal(other) == nil)
  }

  @Test func secondAgentIsRejectedWhileTheFirstRuns() throws {
    let settings = "state.path=\(directory.file("state"))"
    let first = try claim(configuration(settings))
    #expect(
      try refusal(configuration(settings))
        == "\(directory.file("state")): in use by another agent; stop that agent, or set state.path to another folder"
    )
    // An agent with its own store in the same folder is rejected, too.
    let beside = try configuration("store.path=\(directory.file("state"))/b.sqlite")
    #expect(refusal(beside)?.contains("in use by another agent") == true)
    withExtendedLifetime(first) {}
    _ = consume first
    #expect(try refusal(configuration(settings)) == nil)
  }

  /// An agent with its own store adopts the remote settings that earlier versions stored in the default folder.
  /// A new agent does not adopt those of another.
  @Test(arguments: [true, false]) func remoteSettingsOfEarlierVersionsAreAdoptedOnce(hasStore: Bool) throws {
    try FileManager.default.createDirectory(
      atPath: directory.file("default/remote"), withIntermediateDirectories: true)
    try directory.write("default/remote/settings.json", "former")
    try FileManager.default.createDirectory(atPath: directory.file("a"), withIntermediateDirectories: true)
    if hasStore { try directory.write("a/outbox.sqlite", "") }
    let own = try configuration("store.path=\(directory.file("a/outbox.sqlite"))")
    for _ in 0..<2 {
      #expect(refusal(own) == nil)
      let settings = try AtomicFile.read(own.remote.path + "/settings.json")
      #expect(settings.map { String(decoding: $0, as: UTF8.self) } == (hasStore ? "former" : nil))
    }
    // The second agent starts without these settings.
    try FileManager.default.createDirectory(atPath: directory.file("b"), withIntermediateDirectories: true)
    try directory.write("b/outbox.sqlite", "")
    let next = try configuration("store.path=\(directory.file("b/outbox.sqlite"))", vehicle: "van-2")
    #expect(refusal(next) == nil)
    if hasStore { #expect(try AtomicFile.read(next.remote.path + "/settings.json") == nil) }
  }

  /// Root would create files in the folder of the service's user that the service cannot open.
  @Test(.enabled(if: geteuid() == 0, "needs root")) func rootInAnotherUsersFolderIsRefused() throws {
    let store = directory.file("state/outbox.sqlite")
    #expect(mkdir(directory.file("state"), 0o755) == 0)
    #expect(refusal(try configuration("store.path=\(store)")) == nil)
    #expect(StateFolder.unusableFile(beside: store) == nil)
    try FileManager.default.removeItem(atPath: directory.file("state/remote"))
    #expect(chown(directory.file("state"), 65_534, 65_534) == 0)
    let problem = try #require(refusal(try configuration("store.path=\(store)")))
    #expect(problem.contains("belongs to the user") && problem.contains("setpriv --reuid="), "\(problem)")
    #expect(!FileManager.default.fileExists(atPath: directory.file("state/remote")))
    // The owner file of the first claim exists.
    let found = try #require(StateFolder.unusableFile(beside: store))
    #expect(found.path == directory.file("state/\(StateClaim.fileName)"))
  }
}
