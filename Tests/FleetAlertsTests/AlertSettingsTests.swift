import Fleet
import FleetAlerts
import FleetProgram
import Spatial
import TestSupport
import Testing

/// Parsing of the alert settings, and errors with their positions.
struct AlertSettingsTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try directory.write("secret", "a secret of some length\n")
    try directory.write("short", "short\n")
    try directory.write("password", "pass word\n")
  }

  private func read(_ text: String) throws(FleetError) -> AlertSettings? {
    try AlertSettings(try SettingsFile(text: text, path: directory.file("serve.toml")))
  }

  @Test func everyKeyIsRead() throws {
    let settings = try #require(
      try read(
        """
        [alerts]
        store = "alerts.sqlite"
        time_zone = "+01:00"
        group = "20s"
        give_up_after = "1d"
        keep = "7d"
        [rules.low]
        when = "battery"
        below = 0.2
        until = 0.4
        for = "5m"
        hold = "1m"
        fleets = ["delivery"]
        vehicles = ["demo/van-1"]
        states = ["online", "asleep"]
        severity = "critical"
        quiet = "22:00-06:00"
        group = "none"
        receivers = ["ops"]
        [rules.away]
        when = "offline"
        [webhooks.ops]
        url = "https://alerts.example/hook"
        secret_file = "secret"
        timeout = "5s"
        connections = 8
        [mail.desk]
        server = "smtp://mail.example:587"
        from = "odograph@example.org"
        to = ["ann@example.org", "bob@example.org"]
        user = "odograph"
        password_file = "password"
        """))
    #expect(settings.store == directory.file("alerts.sqlite") && settings.zone == .offset(3600))
    #expect(settings.giveUpAfter == 86_400 && settings.keep == 7 * 86_400)
    let low = try #require(settings.rules.first { $0.name == "low" })
    #expect(low.condition == .battery(below: 0.2, until: 0.4) && low.severity == .critical && low.group == 0)
    #expect(low.covers(VehicleKey(fleet: "delivery", vehicle: "x")))
    #expect(low.covers(VehicleKey(fleet: "demo", vehicle: "van-1")))
    #expect(!low.covers(VehicleKey(fleet: "demo", vehicle: "van-2")))
    #expect(settings.receivers(of: low).map(\.name) == ["ops"])
    let away = try #require(settings.rules.first { $0.name == "away" })
    #expect(away.group == 20 && settings.receivers(of: away).count == 2)
    #expect(settings.receivers.map(\.connections) == [8, 1])
    #expect(try read("") == nil && read("[server]\nlisten = \"x\"\n") == nil)
  }

  /// A number without a unit is in m/s.
  @Test(arguments: [
    ("above = 25", "above 90 km/h, ends at 81 km/h"),
    ("above = \"90 km/h\"", "above 90 km/h, ends at 81 km/h"),
    ("above = \"25 m/s\"\nuntil = \"80.5km/h\"", "above 90 km/h, ends at 80.5 km/h"),
    ("above = \"50 mph\"\nuntil = 20", "above 80.5 km/h, ends at 72 km/h"),
  ])
  func speedsHaveUnits(keys: String, limits: String) throws {
    let settings = try read("[rules.fast]\nwhen = \"speed\"\n\(keys)\n")
    #expect(settings?.rules.first?.condition.limits == limits)
  }

  @Test func limitsAreShown() {
    #expect(AlertRule.Condition.offline.limits == nil && AlertRule.Condition.silent.limits == nil)
    #expect(AlertRule.Condition.battery(below: 0.2, until: 0.25).limits == "below 20 %, ends at 25 %")
    #expect(AlertRule.Condition.queue(above: 1000, until: 500).limits == "above 1000 messages, ends at 500")
    #expect(AlertRule.Condition.accuracy(above: 100, until: 80).limits == "above 100 m, ends at 80 m")
    #expect(AlertRule.Condition.entered(["yard", "depot"]).limits == "yard, depot")
    #expect(AlertRule.Condition.left([]).limits == "any region")
    #expect(AlertRule.Condition.event([]).limits == "any event")
    #expect(AlertRule.Condition.trace(["impact"]).limits == "impact")
  }

  static let mistakes: [(text: String, place: String, cause: String)] = [
    ("[rules.a]\nwhen = \"ofline\"\n", "2:8", "\"ofline\" is unknown; did you mean \"offline\"?"),
    ("[rules.a]\nwhen = \"temperature\"\n", "2:8", "is unknown; available: offline, silent, battery,"),
    ("[rules.a]\nfor = \"5m\"\n", "1:1", "when = one of"),
    ("[rules.a]\nwhen = \"battery\"\n", "1:1", "below = 0.2 is 20 %"),
    ("[rules.a]\nwhen = \"battery\"\nbelow = 20\n", "3:9", "a number from 0.0 to 1.0"),
    (
      "[rules.a]\nwhen = \"battery\"\nbelow = 0.2\nuntil = 0.1\n", "4:9",
      "must not be less than the value of below"
    ),
    ("[rules.a]\nwhen = \"speed\"\nabove = 30\nuntil = 31\n", "4:9", "must not exceed the value of above"),
    (
      "[rules.a]\nwhen = \"speed\"\nabove = 30\nuntil = \"109 km/h\"\n", "4:9",
      "must not exceed the value of above"
    ),
    ("[rules.a]\nwhen = \"speed\"\nabove = \"30\"\n", "3:9", "a speed with a unit, as in \"60 km/h\""),
    ("[rules.a]\nwhen = \"speed\"\nabove = \"4000 km/h\"\n", "3:9", "from 0.0 to 1000.0 in m/s"),
    ("[rules.a]\nwhen = \"speed\"\n", "1:1", "above = \"130 km/h\""),
    ("[rules.a]\nwhen = \"speed\"\nabove = 30\nbelow = 31\n", "4:9", "has no such key"),
    ("[rules.a]\nwhen = \"event\"\nevents = [\"harshBreaking\"]\n", "3:10", "did you mean \"harshBraking\"?"),
    ("[rules.a]\nwhen = \"offline\"\nquiet = \"22-6\"\n", "3:9", "22:00-06:00"),
    ("[rules.a]\nwhen = \"offline\"\nvehicles = \"van\"\n", "3:12", "FLEET/VEHICLE"),
    ("[rules.a]\nwhen = \"offline\"\nstates = [\"online\"]\n", "3:10", "leave it out"),
    ("[rules.a]\nwhen = \"silent\"\n", "1:1", "for = \"1d\" is a day without a message"),
    ("[rules.a]\nwhen = \"silent\"\nfor = \"0s\"\n", "3:7", "must be a time as in"),
    ("[rules.a]\nwhen = \"silent\"\nfor = \"6h\"\nhold = \"1m\"\n", "4:8", "it has for"),
    ("[rules.a]\nwhen = \"silent\"\nfor = \"6h\"\nstates = [\"online\"]\n", "4:10", "leave it out"),
    ("[rules.a]\nwhen = \"offline\"\nfor = 5\n", "3:7", "text in quotes"),
    ("[rules.a]\nwhen = \"offline\"\ngroup = \"2h\"\n", "3:9", "at most an hour"),
    ("[rules.a]\nwhen = \"offline\"\nreceivers = [\"ops\"]\n", "3:13", "add [webhooks.NAME]"),
    ("[rules.a]\nwhen = \"offline\"\nfoo = 1\n", "3:1", "unknown key foo"),
    ("[rules.\"a b\"]\nwhen = \"offline\"\n", "1:1", "letters, digits"),
    ("[alerts]\nstore = \"x\"\ntime_zone = \"Mars/Base\"\n", "3:13", "Europe/Berlin"),
    ("[webhooks.a]\nsecret_file = \"secret\"\n", "1:1", "url = \"https://HOST/PATH\""),
    ("[webhooks.a]\nurl = \"http://alerts.example/\"\n", "2:7", "use https"),
    ("[webhooks.a]\nurl = \"https://u:p@alerts.example/\"\n", "2:7", "no place in it"),
    ("[webhooks.a]\nurl = \"https://alerts.example/\"\n", "1:1", "write a secret of at least 16"),
    (
      "[webhooks.a]\nurl = \"https://alerts.example/\"\nsecret_file = \"short\"\n", "3:15", "has 5 characters"
    ),
    ("[webhooks.a]\nurl = \"https://alerts.example/\"\nsecret_file = \"none\"\n", "3:15", "No such file"),
    ("[webhooks.a]\nurl = \"ftp://alerts.example/\"\n", "2:7", "https://HOST/PATH"),
    ("[mail.a]\nserver = \"smtp://m\"\nfrom = \"a@b\"\n", "1:1", "write one address"),
    (
      "[mail.a]\nserver = \"smtp://m\"\nfrom = \"a@b\"\nto = \"a@b\\nBcc: x@y\"\n", "4:6",
      "not a mail address"
    ),
    ("[mail.a]\nserver = \"http://m\"\nfrom = \"a@b\"\nto = \"a@b\"\n", "2:10", "smtp://HOST:587"),
    (
      "[mail.a]\nserver = \"smtp://m\"\nfrom = \"a@b\"\nto = \"a@b\"\nuser = \"x\"\n", "1:1",
      "user and password_file go together"
    ),
    (
      "[mail.a]\nserver = \"smtp://m\"\nfrom = \"a@b\"\nto = \"a@b\"\nuser = \"x\"\npassword_file = \"password\"\nstarttls = false\n",
      "7:12", "would be sent unencrypted"
    ),
  ]

  @Test(arguments: mistakes.indices) func eachMistakeIsReportedWithItsPosition(index: Int) throws {
    let mistake = Self.mistakes[index]
    do throws(FleetError) {
      _ = try read(mistake.text)
      Issue.record("no error for \(mistake.text)")
    } catch {
      #expect(error.object.contains(":\(mistake.place)") || mistake.place.isEmpty, "\(error)")
      #expect(error.cause.contains(mistake.cause), "\(error)")
    }
  }
}
