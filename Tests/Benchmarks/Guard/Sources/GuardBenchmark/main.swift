internal import CMosquitto
internal import Glibc

// Prints CSV to stdout: processor time per message, including the kernel's, of a minimal client of libmosquitto without and with the guard,
// measured alternately; and the ratio of each pair of runs as median and quartiles.
//
//   guard-benchmark [ROUNDS [PART OF A LOAD'S NAME]]

mosquitto_lib_init()
guard PacketGuard.isInForce else {
  print("the reads of libmosquitto cannot be redirected on this system")
  exit(1)
}
let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 15
/// Properties: a content type, an expiry and two user properties.
let list: [UInt8] = {
  func text(_ text: String) -> [UInt8] { [0, UInt8(text.utf8.count)] + Array(text.utf8) }
  let list =
    [3] + text("application/json") + [2, 0, 0, 14, 16, 0x26] + text("trace")
    + text("4bf92f3577b34da6a3ce929d0e0e4736")
    + [0x26] + text("source") + text("telematics")
  return [UInt8(list.count)] + list
}()
let loads = [
  Load(name: "send QoS 1, 200 bytes", count: 30_000, quality: 1, isReceiving: false),
  Load(name: "receive QoS 0, 200 bytes", count: 100_000),
  Load(name: "receive QoS 1, 200 bytes", count: 50_000, quality: 1),
  Load(name: "receive QoS 0, 200 bytes, properties", count: 100_000, properties: list),
  Load(name: "receive QoS 0, 64 KiB", count: 3000, size: 65_536),
  Load(name: "receive QoS 0, 200 bytes, TLS records of 16 KiB", count: 200_000, record: 16_384),
  Load(name: "receive QoS 0, 200 bytes, TLS records of 512 bytes", count: 200_000, record: 512),
  Load(name: "receive QoS 0, 64 KiB, TLS", count: 3000, size: 65_536, record: 16_384),
]

func quantile(_ values: [Double], _ share: Double) -> Double {
  let sorted = values.sorted()
  return sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
}

func digits(_ value: Double, _ count: Int) -> String {
  var scale = 1.0
  for _ in 0..<count { scale *= 10 }
  let whole = Int((value * scale).rounded())
  let fraction = String(whole % Int(scale))
  return "\(whole / Int(scale))." + String(repeating: "0", count: count - fraction.utf8.count) + fraction
}

let part = CommandLine.arguments.dropFirst(2).first ?? ""

print("load,without_us,with_us,ratio,lower_quartile,upper_quartile")
for load in loads where part.isEmpty || load.name.contains(part) {
  var plain: [Double] = []
  var guarded: [Double] = []
  for round in 0..<rounds {
    // The order alternates, since the first run changes the caches for the second one.
    for isGuarded in round % 2 == 0 ? [false, true] : [true, false] {
      guard let seconds = BareClient.run(load, isGuarded: isGuarded) else {
        print("\(load.name): the connection failed")
        exit(1)
      }
      if isGuarded { guarded.append(seconds) } else { plain.append(seconds) }
    }
  }
  let ratios = zip(guarded, plain).map { $0 / $1 }
  print(
    "\"\(load.name)\",\(digits(quantile(plain, 0.5) * 1e6, 2)),\(digits(quantile(guarded, 0.5) * 1e6, 2)),"
      + "\(digits(quantile(ratios, 0.5), 3)),\(digits(quantile(ratios, 0.25), 3)),\(digits(quantile(ratios, 0.75), 3))"
  )
  fflush(nil)
}
