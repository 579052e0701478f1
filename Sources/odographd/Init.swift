import AgentCore
import ArgumentParser
import Glibc

/// Writes a configuration, checks it and prints the next steps.
struct Init: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Writes a short configuration for this vehicle, and checks it against the connected sensors.",
    discussion: """
      On a terminal, init asks for missing options; otherwise a missing option is an error. The file contains the name of a \
      preset (car, truck, asset-tracker, person, test-bench) and the settings that depend on the vehicle.

      Without --config the file is /etc/odographd/odograph.toml for root, else odograph/odograph.toml in the user's configuration \
      folder ($XDG_CONFIG_HOME, ~/.config). An existing file is replaced only with --force, or if its vehicle has no name yet, as in \
      the file of the package.

      The package's service passes /etc/odographd/credentials/NAME, which only root may read, as \
      /run/credentials/odographd.service/mqtt_NAME: write this path for --password-file and --key.

      Examples:
        odographd init --preset car --vehicle van-1 \\
          --broker mqtt://broker.example --config van-1.toml
        odographd init --preset truck --vehicle truck-7 --fleet delivery \\
          --broker mqtts://broker.example --config truck-7.toml --force
        odographd init --preset car --vehicle van-1 \\
          --broker mqtts://van-1@broker.example --password-file password \\
          --ca ca.crt --config van-1.toml --force

      Exit codes: 0 written, whatever the check found; 1 not writable, or the file exists; 64 wrong or missing \
      arguments.
      """)

  @Option(help: ArgumentHelp("Kind of vehicle.", valueName: "name"))
  var preset: String?

  @Option(help: ArgumentHelp("The vehicle's name in topics.", valueName: "id"))
  var vehicle: String?

  @Option(help: ArgumentHelp("The fleet's name in topics.", valueName: "name"))
  var fleet = NewConfiguration.usualFleet

  @Option(
    help: ArgumentHelp("The broker, as in mqtts://broker.example.", valueName: "mqtt[s]://[user@]host[:port]")
  )
  var broker: String?

  @Option(help: ArgumentHelp("User name at the broker.", valueName: "user"))
  var user: String?

  @Option(help: ArgumentHelp("A file with the password in its first line.", valueName: "file"))
  var passwordFile: String?

  @Option(help: ArgumentHelp("PEM file of trusted authorities (default: the system's).", valueName: "file"))
  var ca: String?

  @Option(help: ArgumentHelp("PEM file of the vehicle's certificate.", valueName: "file"))
  var cert: String?

  @Option(help: ArgumentHelp("PEM file of the certificate's private key.", valueName: "file"))
  var key: String?

  @Option(help: ArgumentHelp("Output file.", valueName: "file"))
  var config: String?

  @Flag(help: "Replace an existing file.")
  var force = false

  func run() throws {
    try ending {
      let environment = ProcessEnvironment.variables
      let file: ConfigurationFile
      do throws(ConfigurationError) {
        file = try ConfigurationFile(config, environment: environment)
      } catch {
        throw Failure(error.description, status: 64)
      }
      // Checked before any question is asked.
      if !force, file.isInUse {
        throw Failure("\(file.path) already exists; --force replaces it, --config names another")
      }
      let new = try configuration(environment)
      var check = EnvironmentCheck(new.configuration)
      let sources = check.sources()
      do { try file.write(new.text(findings: new.configuration.input == .hardware ? sources : [])) } catch {
        throw Failure("\(error); name another file with --config")
      }
      print("written: \(file.path)")
      var findings = check.run(sources: sources)
      if file.isUsual, geteuid() == 0 { findings += new.serviceFindings }
      for finding in findings { print(finding.line) }
      for line in next(file, new, hasProblems: findings.contains { $0.severity == .problem }) { print(line) }
    }
  }

  private func configuration(_ environment: [String: String]) throws -> NewConfiguration {
    let questions = SetupQuestions.onTerminal()
    func missing(_ option: String) -> Failure {
      Failure(
        "\(option) is missing, and there is no terminal to ask for it; see odographd init --help", status: 64)
    }
    guard let vehicle = vehicle ?? questions?.vehicle() else { throw missing("--vehicle") }
    guard let broker = broker ?? questions?.broker() else { throw missing("--broker") }
    guard let preset = preset ?? questions?.preset() else { throw missing("--preset") }
    // The agent may run in another folder. An empty path is an error.
    let files = [
      ("--password-file", "password_file", passwordFile), ("--ca", "ca_file", ca),
      ("--cert", "certificate_file", cert), ("--key", "key_file", key),
    ].compactMap { option, key, path in path.map { NewConfiguration.Access(option, key, absolute($0)) } }
    let access = (user.map { [NewConfiguration.Access("--user", "user", $0)] } ?? []) + files
    do throws(ConfigurationError) {
      return try NewConfiguration(
        preset: preset, vehicle: vehicle, fleet: fleet, broker: broker, access: access,
        environment: environment)
    } catch { throw Failure(error.description, status: 64) }
  }

  private func absolute(_ path: String) -> String {
    guard !path.isEmpty, !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }

  private func next(_ file: ConfigurationFile, _ new: NewConfiguration, hasProblems: Bool) -> [String] {
    let named = file.isUsual ? "" : " --config \(file.path)"
    let isService = file.isUsual && geteuid() == 0 && access("/run/systemd/system", F_OK) == 0
    return [
      "next:" + (hasProblems ? " fix the problems above, then run odographd check\(named)" : ""),
      "  odographd run --print\(named)   # prints the messages, without a broker",
      isService ? "  systemctl enable --now odographd" : "  odographd run\(named)",
      "  odograph watch --broker \(new.broker)\(new.accessOptions) --fleet \(new.fleet)   # the other end"
        + (new.accessOptions.isEmpty ? "" : ", as a user who may subscribe"),
    ]
  }
}
