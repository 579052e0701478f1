internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetTerminal

struct Watch: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Shows the vehicles of a fleet in a live table.",
    discussion: """
      On a terminal, a live table. Keys: q quits, the arrow keys select a vehicle, the page keys scroll, Enter shows \
      its details, m shows a map of all vehicles or around the selected one (+ and - zoom, 0 shows all). On a small \
      terminal, details and map replace the table. s sorts by the next column, 1 to 9 by a column's position, r \
      reverses (▲ ascending, ▼ descending), / filters as you type, n shows silent vehicles, c selects columns, Esc \
      goes back, ? shows all keys, signs and columns.

      A position with ~ is coarse or the last known one; one with ? is suspect, and its speed is not shown. For a \
      last known position, WITHIN shows its age. A position with an error bound is predicted: WITHIN is the bound plus \
      the accuracy, – if the accuracy is unknown; ~ in WITHIN means that the bound has ended. In a pipe, watch prints \
      one line for each vehicle that changed within the interval. Messages that cannot be \
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

  @OptionGroup var vehicles: VehicleArguments

  @Option(
    help: ArgumentHelp(
      "Join a shared subscription: each member shows a part, without retained messages.",
      valueName: "group"))
  var share: String?

  @Flag(help: "Print the table when the retained messages have arrived, and exit.")
  var once = false

  @OptionGroup var beginning: BeginningArguments

  @OptionGroup var time: TimeLimitArguments

  @Option(
    name: .customLong("most"), parsing: .unconditional,
    help: ArgumentHelp(
      "Vehicles in memory, 1 to 1000000.", valueName: "vehicles"))
  var capacity = Roster.usualCapacity

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Minimum time between redraws (default: 0.08; in a pipe: 1).", valueName: "seconds"))
  var interval: Double?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Sort by a column, or by missing messages; -key sorts descending, +key ascending: \(VehicleOrder.names.joined(separator: ", ")).",
      valueName: "key"),
    completion: .list(VehicleOrder.names))
  var sort: String?

  @Option(
    help: ArgumentHelp(
      "Show these columns, separated by commas: \(WatchColumn.names.joined(separator: ", ")).",
      valueName: "columns"),
    completion: .custom { Watch.completions(ofColumns: $2) })
  var columns: String?

  @Option(
    help: ArgumentHelp("Show only vehicles with these words in name or state.", valueName: "words"))
  var filter = ""

  @Option(
    help: ArgumentHelp(
      "Show only vehicles without messages for this time, as in 90s, 10m, 2h or 3d.", valueName: "time"))
  var silent: String?

  @Flag(name: .customLong("details"), help: "Start with the details of a vehicle.")
  var showsDetail = false

  @Flag(name: .customLong("map"), help: "Start with the map.")
  var showsMap = false

  @Flag(help: "With --once: print a JSON array. In a pipe: a JSON line for each vehicle that changed.")
  var json = false

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @OptionGroup(title: "Broker") var words: MessageProfileArguments

  func run() throws {
    try perform({ command throws(FleetError) in try command.request().run() }, self)
  }

  /// Returns the request; reads the recording.
  ///
  /// - Throws: `FleetError` for invalid options and an unreadable recording.
  func request() throws(FleetError) -> WatchRequest {
    if let interval, !(0.02...3600).contains(interval) {
      throw .usage("draw", "every \(interval) s", "--interval must be 0.02 to 3600 seconds")
    }
    guard (1...1_000_000).contains(capacity) else {
      throw .usage("use", "--most \(capacity)", "must be 1 to 1000000")
    }
    var request = WatchRequest(
      broker: try broker.configuration(), selection: try vehicles.selection(broker, words))
    request.selectsVehicles = !vehicles.fleet.isEmpty || !vehicles.vehicle.isEmpty
    request.timeout = try time.limit()
    if let sort { request.order = try VehicleOrder(parsing: sort) }
    if let columns { request.columns = try WatchColumn.columns(parsing: columns) }
    request.filter.text = filter
    if let silent { request.filter.silence = try DurationText.seconds(parsing: silent, of: "--silent") }
    guard silent == nil || once || LiveScreen.isPossible else {
      throw .usage(
        "use", "--silent", "lines are printed only for vehicles with messages; add --once, or use a terminal")
    }
    (request.share, request.isOnce, request.isJSON) = (share, once, json)
    (request.capacity, request.interval) = (capacity, interval)
    (request.showsDetail, request.showsMap) = (showsDetail, showsMap)
    // The recording is read before the subscription, so that it never replaces newer messages, and before
    // signals are blocked, so that Ctrl-C ends the reading.
    request.beginning = try beginning.recorded(BeginningQuery(request.selection)).messages
    return request
  }

  /// Returns completions for a list of columns: the names that are not in it yet.
  static func completions(ofColumns typed: String) -> [String] {
    let known = typed.split(separator: ",", omittingEmptySubsequences: false).dropLast()
    let before = known.map { $0 + "," }.joined()
    return WatchColumn.names.filter { name in !known.contains { $0 == name } }.map { before + $0 }
  }
}
