internal import ArgumentParser
internal import FleetControl

struct History: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Fetches what a vehicle's accelerometer recorder has of a time.",
    discussion: """
      The vehicle records at 50 Hz with recorder.enabled = true, into a ring of bounded size, and answers a piece of 80 s at a \
      time. The output is a sensor recording in CSV (t in seconds, ax, ay, az in m/s², device frame), which odographd plays with \
      replay.sensors. With --output, the same command goes on where one before has ended or was interrupted.

      Examples:
        odograph history --fleet delivery --vehicle van-1 --from 2026-11-21T08:00:00Z

      Exit codes: 0 all that there is has come; 64 usage, or the file is another's; 69 broker unavailable, the vehicle records \
      nothing, or has nothing of the time; 74 the output cannot be written; 75 no answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: HistoryOptions

  func run() throws { try perform(HistoryCommand.run, options) }
}

struct Samples: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "samples",
    abstract: "Has a vehicle tell raw samples of its sensors for a while.",
    discussion: """
      A sensor recording in CSV: t in seconds, ax, ay, az in m/s², gx, gy, gz in rad/s, mx, my, mz in µT, pressure in Pa, in the \
      device frame, as odographd plays it with replay.sensors. Rows come while the vehicle tells them, two seconds late. It bounds \
      duration and rate (remote.samples_seconds, remote.samples_rate); its sensors run at the rate meanwhile.

      Examples:
        odograph samples --fleet delivery --vehicle van-1 --seconds 5 -o bumps.csv
        odograph samples --fleet delivery --vehicle van-1 --rate 100 --seconds 2

      Exit codes: 0 all has come; 64 usage; 69 broker unavailable, or the vehicle refused or has no such sensor; 74 the output \
      cannot be written; 75 nothing came in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: SamplesOptions

  func run() throws { try perform(SamplesCommand.run, options) }
}
