internal import ArgumentParser
internal import FleetConsole

struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Shows the vehicles of a fleet as they move.",
    discussion: """
      On a terminal, a live table: q quits, the arrow keys choose a vehicle, the page keys scroll, Enter shows \
      its details and m a map of all, or around the chosen one (+ and - zoom, 0 shows all); on a small terminal they \
      take the table's place. s sorts by the next column, 1 to 9 by the one that stands there, r reverses (▲: values rise from row to row, ▼: they fall); / filters \
      while you type, n shows who was not heard for a while, c chooses columns; Esc goes one step back; ? shows all keys \
      and what signs and columns mean. A position with ~ is the last known \
      one of a vehicle that is not heard live; one that is reported with a bound is predicted. In a pipe, one \
      line for each vehicle that changed within the interval. Messages that cannot be read are counted at the foot \
      (unreadable), in a vehicle's details and in --json. NO_COLOR turns colours off.

      Battery, backlog, temperature, energy and version are what a vehicle's last status says; – stands for what it does not \
      say, as the battery of a vehicle whose computer knows of none.

      --recording begins with what odograph record has stored, at a broker that keeps nothing or does not hand it out for \
      wildcards (RabbitMQ): the last position of each vehicle, and status, altitude, signals and regions as they came. What \
      is heard takes its place.

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

      Exit codes: 0 done; 64 usage, or a recording that cannot be read; 69 broker unavailable, or with --once it does not say that what it keeps is all \
      sent; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: WatchOptions

  func run() throws { try performBeginning(WatchCommand.run, options) }
}

struct Tail: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tail",
    abstract: "Prints messages as JSON lines.",
    discussion: """
      Each line is an object of topic, qos, retain and payload. A payload that is JSON stands there as it came, \
      other text as a string, and anything else as {"base64":"..."}; characters that a terminal acts upon are escaped. retain is true for what the broker had kept \
      from before, which may be of any age. With --share it takes all that the broker has for it before it leaves, so \
      that nothing is lost to the group; that may be more than --count.

      Examples:
        odograph tail --vehicle van-1 --kind location | jq .payload.speed
        odograph tail --kind status --retained --timeout 2      # who is there
        odograph tail --vehicle van-1 --no-retained --count 1 --timeout 60
        odograph tail --topic 'sensors/+/temperature' --qos 0
        odograph tail --share readers             # one of many, with its part

      Exit codes: 0 done: the count was reached, the time was over where no count was asked for, or the reader \
      left; 64 usage; 69 broker unavailable, or refuses; 74 the output cannot be written; 75 the time was over \
      before the count was reached; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: TailOptions

  func run() throws { try perform(TailCommand.run, options) }
}

struct Stats: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats",
    abstract: "Counts what a fleet says: rates, delays, what is missing, bytes.",
    discussion: """
      On a terminal, a live table: q quits, s sorts by the next column, r reverses, the arrow and page keys \
      scroll. In a pipe, with --once or --json, the counts are printed at the end. Rates are averages since the \
      start. MISSING are numbers of the vehicle's sequence that have not come, LATE those that came after later \
      ones, TWICE repetitions. A missing number is no proof of a loss: a vehicle that was away leaves out states that newer \
      ones replaced, and messages in other formats (OwnTracks, Home Assistant) have numbers that they do not say. \
      DELAY is the mean from the vehicle's clock to this one. What the broker had kept from before is counted apart, but for UNREADABLE: payloads that are no JSON, or whose time is none.

      Examples:
        odograph stats --fleet delivery
        odograph stats --once --seconds 60
        odograph stats --count 100000 --seconds 600
        odograph stats --json --seconds 10 | jq '.vehicles[] | .missing'

      Exit codes: 0 done: the count was reached, or the time was over where no count was asked for; 64 usage; 69 broker \
      unavailable, or refuses; 74 output gone; 75 the time was over before the count was reached; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: StatsOptions

  func run() throws { try perform(StatsCommand.run, options) }
}
