internal import ArgumentParser
internal import Fleet
internal import FleetCommand

struct Samples: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "samples",
    abstract: "Streams raw sensor samples of a vehicle for some seconds.",
    discussion: """
      The output is a sensor recording in CSV: t in seconds, ax, ay, az in m/s², gx, gy, gz in rad/s, mx, my, mz \
      in µT, pressure in Pa, device frame. odographd plays it with replay.sensors. Rows arrive while the vehicle \
      samples, two seconds late. The vehicle limits duration and rate (remote.samples_seconds, \
      remote.samples_rate); its sensors run at the requested rate meanwhile.

      Examples:
        odograph samples --fleet delivery --vehicle van-1 --seconds 5 -o bumps.csv
        odograph samples --fleet delivery --vehicle van-1 --rate 100 --seconds 2

      Exit codes: 0 all samples have arrived; 64 usage; 69 broker unavailable, or the vehicle refused or has no \
      such sensor; 74 output not writable; 75 no samples arrived in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Vehicle") var vehicles: VehicleArguments

  @Option(help: ArgumentHelp("Duration; the vehicle limits it.", valueName: "seconds"))
  var seconds = 10.0

  @Option(help: ArgumentHelp("Rate of each sensor in Hz; the vehicle limits it.", valueName: "hertz"))
  var rate = 50.0

  @Option(
    help: ArgumentHelp(
      "accelerometer, gyroscope, magnetometer or barometer; repeat for several (default: all available).",
      valueName: "kind"),
    completion: .list(["accelerometer", "gyroscope", "magnetometer", "barometer"]))
  var sensor: [String] = []

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("The file to write (default: standard output).", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(help: "Replace an existing file.")
  var force = false

  @Option(
    help: ArgumentHelp("Time limit for the first samples, and between samples.", valueName: "seconds"))
  var timeout = 30.0

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  func run() throws { try perform(SamplesCommand.run, self) }
}
