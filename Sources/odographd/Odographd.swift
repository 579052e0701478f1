import AgentCore
import ArgumentParser
import CommandHelp
import Glibc
internal import Settings
import Telemetry

@main
struct Odographd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "odographd",
    abstract:
      "Reads a vehicle's sensors, fuses them, and publishes location, heading and attitude over MQTT.",
    discussion: """
      Examples:
        odographd init --preset car --vehicle van-1 \\
          --broker mqtt://broker.example --config van-1.toml
        odographd run --config /etc/odographd/odograph.toml
        odographd run --print --set vehicle.id=test --set input.mode=simulation
        odographd check --config /etc/odographd/odograph.toml
        odographd status
        odographd support --config /etc/odographd/odograph.toml --output -
        odographd sensors
        odographd dead-letters --config /etc/odographd/odograph.toml

      Exit codes: 0 done, or stopped by SIGTERM or SIGINT; 1 failed, see standard error; 2 the check found a problem \
      that prevents the agent from working; 64 wrong arguments; 78 wrong configuration.
      """,
    version: AgentVersion.description,
    subcommands: [Init.self, Run.self, Check.self, Status.self, Sensors.self, DeadLetters.self, Support.self])

  static func main() { CommandProgram.main(Self.self) }
}

/// Options of every command that reads the configuration.
struct ConfigurationOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A TOML file; Config/odograph.toml, packaged as /usr/share/odographd/odograph.toml.reference, documents every key. Without it, odograph/odograph.toml in the user's configuration folder ($XDG_CONFIG_HOME, ~/.config), which root ignores, or /etc/odographd/odograph.toml, if it exists.",
      valueName: "file"),
    completion: .file(extensions: ["toml"]))
  var config: String?

  @Option(
    name: .customLong("set"),
    help: ArgumentHelp(
      "Overrides a key, as in gpsd.port=2948 or 'motion.events=[\"impact\"]'. May be repeated. Environment variables such as ODOGRAPH_GPSD_PORT do the same.",
      valueName: "key=value"), completion: .list(ConfigurationKey.all.map { $0.path + "=" }))
  var assignments: [String] = []

  /// Returns the effective configuration; an error exits the program with status 78, as in sysexits(3).
  /// - Parameter vehicle: name for a command that needs no configured one.
  func load(naming vehicle: String? = nil) throws -> AgentConfiguration {
    let layers = try layers()
    do throws(ConfigurationError) {
      guard let vehicle else { return try layers.configuration() }
      return try layers.configuration(naming: vehicle)
    } catch {
      throw Failure(error.description, status: 78)
    }
  }

  /// Returns the origins of the configuration.
  func layers() throws -> ConfigurationLayers {
    do { return try unreportedLayers() } catch { throw Failure(error.description, status: 78) }
  }

  /// The configuration at a default path; nil if there is no valid one. Errors are not printed.
  var found: AgentConfiguration? { try? unreportedLayers().configuration() }

  private func unreportedLayers() throws(ConfigurationError) -> ConfigurationLayers {
    let environment = ProcessEnvironment.variables
    return try ConfigurationLayers(
      file: config ?? AgentFolders(environment: environment).configuration, environment: environment,
      assignments: assignments)
  }
}

/// An error that ends the program with one line on standard error and an exit status.
struct Failure: Error {
  let status: Int32

  init(_ message: String, status: Int32 = 1) {
    AgentErrorOutput.write("odographd: \(message)\n")
    self.status = status
  }
}

extension Odographd {
  struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "run",
      abstract: "Runs the agent until SIGTERM or SIGINT, or until a recording ends.",
      discussion: """
        Examples:
          odographd run --config /etc/odographd/odograph.toml
          odographd run --print --set vehicle.id=test \\
            --set input.mode=simulation --set simulation.duration=60

        Exit codes: 0 done, or stopped by SIGTERM or SIGINT; 1 failed, see standard error; 64 wrong \
        arguments; 78 wrong configuration.
        """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Write each message as a JSON line to standard output; no broker is needed.")
    var print = false

    func run() throws {
      try ending {
        let configuration = try options.load()
        let agent = Agent(
          configuration: configuration, layers: try options.layers(), output: print ? .print : .broker,
          ownsStandardError: true, version: AgentVersion.current,
          log: AgentLog.make(level: configuration.logLevel))
        do {
          try agent.run()
        } catch {
          throw Failure("\(error)")
        }
      }
    }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Checks configuration and environment, and estimates energy and data per day.",
      discussion: """
        Prints a line for each finding with its remedy, then energy, data and error bound of a day, estimated by \
        simulating a day with the agent's own policies. The simulated vehicle has reception, and no region is near \
        it. The permission to publish is tested with an empty message to the topic of status, which is not retained.

        Examples:
          odographd check --config /etc/odographd/odograph.toml
          odographd check --set vehicle.id=van-1 \\
            --set mqtt.broker=mqtt://broker.example
          odographd check --set vehicle.id=van-1 --set 'motion.events=["impact"]'
          odographd check --estimate --driving-hours 9 \\
            --config /etc/odographd/odograph.toml
          odographd check --json --config /etc/odographd/odograph.toml | jq .ok

        With --json, findings have severity (ok, warning, problem), subject, message and remedy; estimate has \
        joules, bytes (without TCP/IP) and messages of a day, in total and by parts; without lists the inertial sensors that were \
        not found. plainConsumers has, for each format, the maximum error of consumers that show the last \
        position: metres, plus the distance driven in a number of seconds.

        Exit codes: 0 the agent can work; 2 a problem prevents it from working; 64 wrong arguments; 78 wrong \
        configuration.
        """)

    @OptionGroup var options: ConfigurationOptions

    @Option(help: ArgumentHelp("Hours of driving per day, for the estimate.", valueName: "hours"))
    var drivingHours = 2.0

    @Flag(help: "Only estimate energy, data and error, without checks.")
    var estimate = false

    @Flag(help: "Print one JSON object: ok, findings, estimate.")
    var json = false

    func validate() throws {
      guard (0...24).contains(drivingHours) else { throw ValidationError("--driving-hours must be 0 to 24") }
    }

    func run() throws {
      try ending {
        var check = EnvironmentCheck(try options.load(), layers: try options.layers())
        let findings = estimate ? [] : check.run()
        if json {
          Swift.print(String(decoding: check.json(findings, drivingHours: drivingHours), as: UTF8.self))
        } else {
          for finding in findings { Swift.print(finding.line) }
          for line in check.estimate(drivingHours: drivingHours) { Swift.print(line) }
        }
        if findings.contains(where: { $0.severity == .problem }) { throw ExitCode(2) }
      }
    }
  }

  struct Sensors: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "sensors",
      abstract: "Lists the available sensors.",
      discussion: """
        Examples:
          odographd sensors
          odographd sensors --set iio.contexts=ip:192.0.2.7
          odographd sensors --json | jq .gpsd

        The command receives on each CAN interface for a second, and sends nothing.

        Exit codes: 0 done, also without sensors; 64 wrong arguments; 78 wrong configuration.
        """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(
      help:
        "Print one JSON object: gpsd with its receivers, iio with devices and sensors, can and wifi with interfaces, modems."
    )
    var json = false

    func run() throws {
      try ending {
        let listing = SensorListing(try options.load(naming: "sensors"))
        if json { return Swift.print(String(decoding: listing.json(), as: UTF8.self)) }
        for line in listing.lines() { Swift.print(line) }
      }
    }
  }
}

extension Odographd {
  struct DeadLetters: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "dead-letters",
      abstract: "Lists messages that the broker has rejected permanently, newest first.",
      discussion: """
        The store contains up to store.dead_letters of these messages with the reason; `status` contains their \
        number as queue.dead. Listing does not affect a running agent; --remove and --retry require that it is \
        stopped.

        Examples:
          odographd dead-letters --config /etc/odographd/odograph.toml
          odographd dead-letters --json \\
            --config /etc/odographd/odograph.toml | jq .reason

        Exit codes: 0 done; 1 the store cannot be read; 64 wrong arguments; 78 wrong configuration.
        """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print each message as a JSON line, with its payload.")
    var json = false

    @Option(help: "Maximum number of messages to list.")
    var limit = 100

    @Flag(help: "Delete all dead letters.")
    var remove = false

    @Flag(help: "Queue all dead letters again for the next run.")
    var retry = false

    func validate() throws {
      if remove, retry { throw ValidationError("--remove and --retry exclude one another") }
      if limit < 1 { throw ValidationError("--limit must be at least 1") }
    }

    func run() throws {
      try ending {
        let listing = DeadLetterListing(try options.load())
        do {
          if remove {
            Swift.print("forgotten: \(try listing.remove())")
          } else if retry {
            Swift.print("put back: \(try listing.retry())")
          } else {
            for line in try listing.lines(limit: limit, asJSON: json) { Swift.print(line) }
          }
        } catch {
          throw Failure("\(error)")
        }
      }
    }
  }
}

/// Runs a command's body; a failure's message is already printed, so only its status is passed on.
func ending(_ body: () throws -> Void) throws {
  do {
    try body()
  } catch let failure as Failure {
    throw ExitCode(failure.status)
  }
}
