internal import ArgumentParser
internal import FleetStore

struct Replay: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Plays a recording back onto a broker.",
    discussion: """
      Reads what odograph record has written into a file or a postgres:// URL, and publishes it in the order and at the pace in which it was received, \
      or faster: a backend can be tested with yesterday. Topics, quality of service and retain flags are the recorded \
      ones (retain is set on what the recording's broker had kept from before).

      --times shift, which is the default, moves the times in messages as if it all happened now, also those of tracks, \
      and gives the vehicles' sequences epochs of their own, so that nobody takes them for repetitions. With --speed max \
      the recording ends now. --times keep publishes every payload as it was; who records that again gets the same rows.

      Mind where it goes: on a broker that real consumers listen to, --to-fleet keeps the replay apart. What was said to \
      vehicles (commands, and the settings and regions that were wanted) is left out, and its number said: live \
      vehicles would obey old orders. --orders plays it too.

      Examples:
        odograph replay fleet.sqlite --to-fleet rehearsal --speed 10
        odograph replay fleet.sqlite --to-fleet rehearsal --from 2026-11-21
        odograph replay fleet.sqlite --to-fleet test --speed max --times keep
        odograph replay fleet.sqlite --to-fleet test --longest-pause 5

      Exit codes: 0 all is acknowledged; 64 usage, or the recording cannot be read; 69 broker unavailable, or it \
      refused some; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ReplayOptions

  func run() throws { try perform(ReplayCommand.run, options) }
}
