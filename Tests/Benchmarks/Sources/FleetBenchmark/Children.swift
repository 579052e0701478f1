import CPeers
import FleetCore
import Glibc
import MQTT
import Support

/// What the benchmark does in a process of its own: the same code as the command's, without its parser.
func runChild(_ arguments: [String]) -> Int32 {
  guard arguments.count >= 3, let port = Int(arguments[1]) else { return 64 }
  var broker = BrokerOptions(address: BrokerAddress(host: "127.0.0.1", port: port))
  broker.usesVersion311 = false
  do throws(FleetError) {
    switch arguments[0] {
    case "acknowledge":
      return acknowledge_fleet("127.0.0.1", Int32(port), arguments[2], 4000, Int32(arguments[3]) ?? 0)
    case "record":
      var options = RecordOptions(filters: ["odograph/v1/#"], store: arguments[4])
      options.broker = broker
      options.clientID = arguments[2]
      options.count = Int(arguments[3])
      options.isQuiet = true
      return try RecordCommand.run(options).rawValue
    case "tail":
      var options = TailOptions(filters: ["odograph/v1/#"])
      options.broker = broker
      options.qos = .atMostOnce
      options.count = Int(arguments[2])
      return try TailCommand.run(options).rawValue
    case "stats":
      var options = StatsOptions(filters: ["odograph/v1/#"])
      options.broker = broker
      options.qos = .atMostOnce
      options.count = Int(arguments[2])
      options.json = true
      return try StatsCommand.run(options).rawValue
    default: return 64
    }
  } catch {
    complain(error.description)
    return error.exit.rawValue
  }
}
