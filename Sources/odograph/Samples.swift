internal import ArgumentParser

struct History: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Fetches recorded accelerometer samples of a period.",
    discussion: """
      With recorder.enabled = true the vehicle records at 50 Hz into a ring buffer of limited size. It sends the \
      samples in pieces of 80 s. The output is a sensor recording in CSV (t in seconds, ax, ay, az in m/s², device \
      frame), which odographd plays with replay.sensors. With --output, the same command resumes after the last \
      row of an existing file.

      Examples:
        odograph history --fleet delivery --vehicle van-1 --from 2026-11-21T08:00:00Z

      Exit codes: 0 all stored samples have arrived; 64 usage, or the file has another source; 69 broker \
      unavailable, or the vehicle does not record or has no samples of the period; 74 output not writable; 75 no \
      answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: HistoryOptions

  func run() throws { try perform(HistoryCommand.run, options) }
}

struct Samples: ParsableCommand {
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

  @OptionGroup var options: SamplesOptions

  func run() throws { try perform(SamplesCommand.run, options) }
}
