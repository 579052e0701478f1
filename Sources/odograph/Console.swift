internal import ArgumentParser
internal import FleetTerminal

struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Shows the vehicles of a fleet in a live table.",
    discussion: """
      On a terminal, a live table. Keys: q quits, the arrow keys select a vehicle, the page keys scroll, Enter shows \
      its details, m shows a map of all vehicles or around the selected one (+ and - zoom, 0 shows all). On a small \
      terminal, details and map replace the table. s sorts by the next column, 1 to 9 by a column's position, r \
      reverses (▲ ascending, ▼ descending), / filters as you type, n shows silent vehicles, c selects columns, Esc \
      goes back, ? shows all keys, signs and columns.

      A position with ~ is the last known one of an offline vehicle. A position with an error bound is predicted. In \
      a pipe, watch prints one line for each vehicle that changed within the interval. Messages that cannot be \
      decoded are counted in the footer (unreadable), in a vehicle's details and in --json. NO_COLOR turns colours \
      off.

      Battery, backlog, temperature, energy and version are from the vehicle's last status; – means that the status \
      does not contain the value.

      --recording starts from what odograph record has stored, for brokers that do not deliver retained messages to \
      wildcard subscriptions (RabbitMQ): last positions, status, altitude, signals and regions. Newer messages from \
      the broker replace them.

      Examples:
        odograph watch --fleet demo
        odograph watch --broker mqtt://10.0.0.5 --vehicle van-1
        odograph watch --once | grep offline           # the table, for a script
        odograph watch --once --json | jq '.[].speed'
        odograph watch --filter offline --sort age
        odograph watch --columns state,battery,backlog,version --sort battery
        odograph watch --once --silent 10m             # not heard for so long
        odograph watch --message-profile owntracks     # phones, OwnTracks
        odograph watch --interval 10 >> fleet.log      # lines, every 10 s
        odograph watch --once --recording fleet.sqlite # and what was recorded

      Exit codes: 0 done; 64 usage, or a recording that cannot be read; 69 broker unavailable, or with --once it \
      does not confirm that all retained messages were sent; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: WatchOptions

  func run() throws { try performBeginning(WatchCommand.run, options) }
}

struct Tail: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tail",
    abstract: "Prints messages as JSON lines.",
    discussion: """
      Each line is an object with topic, qos, retain and payload. A JSON payload is printed unchanged, other text as \
      a string, anything else as {"base64":"..."}. Control characters are escaped. retain is true for messages that \
      the broker had retained, which may be of any age. With --share, tail drains its session before it exits, so \
      that the group loses nothing; that may be more than --count messages.

      Examples:
        odograph tail --vehicle van-1 --kind location | jq .payload.speed
        odograph tail --kind status --retained --timeout 2      # who is there
        odograph tail --vehicle van-1 --no-retained --count 1 --timeout 60
        odograph tail --topic 'sensors/+/temperature' --qos 0
        odograph tail --share readers             # one of many, with its part

      Exit codes: 0 done: the count or, without --count, the time limit was reached, or the pipe was closed; 64 \
      usage; 69 broker unavailable or access refused; 74 output not writable; 75 timed out before the count was \
      reached; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: TailOptions

  func run() throws { try perform(TailCommand.run, options) }
}

struct Stats: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats",
    abstract: "Counts messages, delays, gaps and bytes by vehicle.",
    discussion: """
      On a terminal, a live table: q quits, s sorts by the next column, r reverses, the arrow and page keys scroll. \
      In a pipe, with --once or --json, the counts are printed at the end. Rates are averages since the start.

      MISSING counts sequence numbers that did not arrive, LATE those that arrived out of order, TWICE duplicates. \
      A missing number does not prove a loss: after an outage a vehicle skips states that newer ones replaced, and \
      messages in other formats (OwnTracks, Home Assistant) have no sequence numbers. DELAY is the mean time \
      between a message's time by the vehicle's clock and its reception by this machine's clock. Retained messages \
      are counted separately, except in UNREADABLE: payloads that are not JSON or have an invalid time.

      Examples:
        odograph stats --fleet delivery
        odograph stats --once --seconds 60
        odograph stats --count 100000 --seconds 600
        odograph stats --json --seconds 10 | jq '.vehicles[] | .missing'

      Exit codes: 0 done: the count was reached, or the time limit without --count; 64 usage; 69 broker \
      unavailable or access refused; 74 output not writable; 75 timed out before the count was reached; 130 \
      Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: StatsOptions

  func run() throws { try perform(StatsCommand.run, options) }
}
