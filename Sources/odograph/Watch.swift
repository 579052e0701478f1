internal import ArgumentParser
internal import FleetConsole

struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the vehicles of a fleet as they move.",
    discussion: """
      On a terminal, a live table: q quits, the arrow keys choose a vehicle, the page keys scroll, Enter shows \
      its details and m a map of all, or around the chosen one (+ and - zoom, 0 shows all); on a small terminal they \
      take the table's place. s sorts by the next column, 1 to 9 by the one that stands there, r reverses; / filters \
      while you type; Esc goes one step back; ? shows all keys. A position with ~ is the last known \
      one of a vehicle that is not heard live; one that is reported with a bound is predicted. In a pipe, one \
      line for each vehicle that changed within the interval. Messages that cannot be read are counted at the foot \
      (unreadable), in a vehicle's details and in --json. NO_COLOR turns colours off.

      Examples:
        odograph watch --fleet demo
        odograph watch --broker mqtt://10.0.0.5 --vehicle van-1
        odograph watch --once | grep offline           # the table, for a script
        odograph watch --once --json | jq '.[].speed'
        odograph watch --filter offline --sort age
        odograph watch --message-profile owntracks     # phones, OwnTracks
        odograph watch --interval 10 >> fleet.log      # lines, every 10 s

      Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: WatchOptions

  func run() throws { try perform(WatchCommand.run, options) }
}
