internal import ArgumentParser
internal import FleetConsole

struct Tail: ParsableCommand {
  static let configuration = CommandConfiguration(
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
