import Foundation
import TestSupport
import Testing

/// Users other than root have configuration, state and control socket in their own folders.
@Suite struct OrdinaryUserTests {
  private static let simulation = ["--set", "vehicle.id=v", "--set", "input.mode=simulation"]

  @Test(.timeLimit(.minutes(3))) func stateAndSocketBelongToTheUser() throws {
    let user = try OrdinaryUser()
    let broker = try BrokerFixture()
    let environment = ["HOME": user.home.path, "XDG_RUNTIME_DIR": user.home.path]
    let agent = try user.start(
      ["run", "--set", "mqtt.broker=127.0.0.1:\(broker.port)", "--set", "remote.enabled=true"]
        + Self.simulation,
      environment: environment)
    var status = (status: Int32(1), text: "")
    waitUntil(atMost: 60) {
      status = (try? user.run(["status"], environment: environment)) ?? status
      return status.status == 0 && status.text.contains(" connected")
    }
    #expect(
      status.text.hasPrefix("agent         default/v, preset car, version"), "\(status) \(agent.output)")
    #expect(user.mode(".local/state") == 0o700 && user.mode(".local/state/odograph") == 0o750)
    #expect(user.mode(".local/state/odograph/outbox.sqlite") != nil)
    #expect(user.mode(".local/state/odograph/remote") != nil)
    #expect(user.mode("odographd.socket") == 0o660)
    #expect(agent.terminate() == 0, "\(agent.output)")
    // The store is found again.
    let letters = try user.run(["dead-letters"] + Self.simulation, environment: environment)
    #expect(letters.status == 0, "\(letters)")
  }

  @Test(.timeLimit(.minutes(3))) func configuredFoldersAreUsed() throws {
    let user = try OrdinaryUser()
    let environment = [
      "HOME": user.home.path, "XDG_STATE_HOME": user.home.file("state"),
      "XDG_CONFIG_HOME": user.home.file("config"),
    ]
    let written = try user.run(
      ["init", "--preset", "test-bench", "--vehicle", "v", "--broker", "mqtt://127.0.0.1:1"],
      environment: environment)
    let file = user.home.file("config/odograph/odograph.toml")
    #expect(written.status == 0 && written.text.hasPrefix("written: \(file)\n"), "\(written)")
    #expect(written.text.contains("ok       store: \(user.home.file("state/odograph/outbox.sqlite"))"))
    #expect(user.mode("config/odograph") == 0o700)
    // The file is found without `--config`.
    let check = try user.run(["check"], environment: environment)
    #expect(check.text.contains("vehicle default/v, preset test-bench"), "\(check)")
    let print = try user.run(
      ["run", "--print", "--set", "input.speed=0", "--set", "simulation.duration=5"], environment: environment
    )
    #expect(print.status == 0 && print.text.contains("odograph/v1/default/v/attitude"), "\(print)")
  }

  @Test(.timeLimit(.minutes(3))) func missingFoldersAreReportedWithARemedy() throws {
    let user = try OrdinaryUser()
    let run = try user.run(["run"] + Self.simulation, environment: [:])
    #expect(run.status == 1, "\(run)")
    #expect(run.text.contains("set state.path, or HOME or XDG_STATE_HOME to a folder of yours"), "\(run)")
    let check = try user.run(["check"] + Self.simulation, environment: [:])
    #expect(check.status == 2 && check.text.contains("problem  store: /var/lib/odographd"), "\(check)")
    #expect(check.text.contains("or HOME or XDG_STATE_HOME"), "\(check)")
    let status = try user.run(["status"], environment: [:])
    #expect(status.status == 1 && status.text.contains("XDG_RUNTIME_DIR"), "\(status)")
    let written = try user.run(
      ["init", "--preset", "car", "--vehicle", "v", "--broker", "mqtt://h"], environment: [:])
    #expect(written.status == 64 && written.text.contains("set HOME or XDG_CONFIG_HOME"), "\(written)")
    let missing = try user.run(["check"], environment: ["HOME": user.home.path])
    #expect(missing.status == 78, "\(missing)")
    #expect(
      missing.text.contains(
        "key vehicle.id is missing; set it to a string, or let odographd init write a configuration"))
    // `run --print` stores nothing and needs no folder.
    let print = try user.run(
      ["run", "--print", "--set", "input.speed=0", "--set", "simulation.duration=5"] + Self.simulation,
      environment: [:])
    #expect(print.status == 0, "\(print)")
  }

  /// A configured folder that cannot be used is an error; the agent does not use another one instead.
  @Test(.timeLimit(.minutes(3))) func unusableFolderIsReported() throws {
    let user = try OrdinaryUser()
    let run = try user.run(
      ["run"] + Self.simulation, environment: ["HOME": user.home.path, "XDG_STATE_HOME": "/proc/none"])
    #expect(run.status == 1 && run.text.contains("/proc/none/odograph (set state.path, or"), "\(run)")
    let written = try user.run(
      ["init", "--preset", "test-bench", "--vehicle", "v", "--broker", "mqtt://h"],
      environment: ["HOME": user.home.path, "XDG_CONFIG_HOME": "/proc/none"])
    #expect(written.status == 1 && written.text.contains("/proc/none/odograph/odograph.toml"), "\(written)")
    #expect(written.text.contains("name another file with --config"))
  }

  /// Root uses the system folders, even if the environment of another user's shell names others.
  @Test(.enabled(if: geteuid() == 0, "needs root"), .timeLimit(.minutes(3))) func rootUsesTheSystemFolders()
    throws
  {
    let child = try ChildProcess(
      BuiltProduct.path("odographd"), ["check"] + Self.simulation,
      environment: ["XDG_STATE_HOME": "/tmp", "HOME": "/tmp", "STATE_DIRECTORY": "", "RUNTIME_DIRECTORY": ""])
    child.waitForExit()
    #expect(child.output.contains("store: /var/lib/odographd"), "\(child.output)")
  }
}
