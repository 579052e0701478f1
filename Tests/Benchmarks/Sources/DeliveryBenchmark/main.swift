import CPeers
import Glibc
import MQTT
import StoreAndForward
import Support

// Prints CSV to stdout: the rates at which the agent's client and a minimal C publisher publish, in the same run and to the same broker;
// then the rate at which the client receives.
//
//   delivery-benchmark [RECORDS] [WINDOW ...]

let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let count = arguments.first ?? 100_000
let windows = arguments.count > 1 ? Array(arguments.dropFirst()) : [20, 100, 200]
let directory = temporaryDirectory()
defer { remove(directory) }
let broker = Broker(in: directory)
defer { broker.end() }
let size = 200

printLine("publisher,window,messages_per_second")
for window in windows {
  // A warm-up, then alternate runs, so that other load on the machine affects all alike.
  _ = publish_minimal("127.0.0.1", Int32(broker.port), 1, Int32(window), Int32(count / 10), Int32(size))
  for _ in 0..<3 {
    let seconds = publish_minimal(
      "127.0.0.1", Int32(broker.port), 1, Int32(window), Int32(count), Int32(size))
    printLine("minimal-c,\(window),\(Int(Double(count) / seconds))")
    printLine("session,\(window),\(Int(Double(count) / publishFromMemory(broker.port, window, count, size)))")
    printLine("agent,\(window),\(Int(Double(count) / drainOutbox(broker.port, window, count, size)))")
  }
}
printLine("subscriber,qos,messages_per_second")
for qos in [QoS.atMostOnce, .atLeastOnce] {
  printLine("session,\(qos.rawValue),\(Int(Double(count) / receive(broker.port, qos, count, size)))")
}
