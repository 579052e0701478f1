import StoreAndForward
import TestSupport

@testable import MQTT

/// A broker that is unreachable for hours, as with an expired certificate, temporarily refuses topics, and
/// answers with invalid bytes. Its output passes the packet guard, as with the real library.
struct AttackedBroker {
  var isReachable = true
  /// Last levels of the topics that are currently refused.
  var refused: Set<String> = []
  private(set) var violations = 0
  private(set) var refusals = 0
  private var packets = PacketGuard(version311: false, limit: 1 << 16)
  private var isNew = true

  /// Accepts some records and answers.
  mutating func serve(_ store: AttackedStore, isHostile: Bool, using random: inout SplitMix) {
    guard isReachable else { return }
    let records = store.outbox.next(limit: Int.random(in: 1...60, using: &random))
    var answers: [UInt8] = isNew ? [0x20, 3, 0, 0, 0] : []
    isNew = false
    for (index, record) in records.enumerated() {
      if let name = record.topic.split(separator: "/").last, refused.contains(String(name)) {
        refusals += 1
        store.outbox.refuse(record.seq, reason: "not authorized (0x87)", isLasting: false)
        continue
      }
      store.arrived(record)
      answers += [0x40, 2, 0, UInt8(index + 1)]
    }
    if isHostile, Int.random(in: 0..<4, using: &random) == 0 { Self.damage(&answers, using: &random) }
    let taken = read(answers)
    for number in Self.acknowledged(taken) where number <= records.count {
      store.outbox.remove([records[number - 1].seq])
    }
    if packets.violation != nil {
      violations += 1
      disconnect(store)
    } else if Int.random(in: 0..<50, using: &random) == 0 {
      disconnect(store)
    }
  }

  /// Closes the connection. The next one starts without records in flight.
  mutating func disconnect(_ store: AttackedStore) {
    packets = PacketGuard(version311: false, limit: 1 << 16)
    isNew = true
    store.outbox.offerAgain()
  }

  /// Returns the bytes that pass the guard.
  private func read(_ bytes: [UInt8]) -> [UInt8] {
    var rest = bytes[...]
    var taken: [UInt8] = []
    while true {
      var buffer = [UInt8](repeating: 0, count: 64)
      let count = buffer.withUnsafeMutableBytes { output in
        packets.read(into: output) { target in
          let part = rest.prefix(target.count)
          target.copyBytes(from: part)
          rest = rest.dropFirst(part.count)
          return part.count
        }
      }
      guard count > 0 else { return taken }
      taken += buffer.prefix(count)
    }
  }

  /// Returns the packet identifiers of PUBACKs. The guard has validated the length of each packet.
  private static func acknowledged(_ bytes: [UInt8]) -> [Int] {
    var numbers: [Int] = []
    var index = 0
    while index + 4 <= bytes.count {
      if bytes[index] == 0x40 { numbers.append(Int(bytes[index + 2]) << 8 | Int(bytes[index + 3])) }
      index += 2 + Int(bytes[index + 1])
    }
    return numbers.filter { $0 > 0 }
  }

  private static func damage(_ bytes: inout [UInt8], using random: inout SplitMix) {
    guard !bytes.isEmpty else { return }
    let place = Int.random(in: 0..<bytes.count, using: &random)
    switch Int.random(in: 0..<5, using: &random) {
    case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
    case 2: bytes.remove(at: place)
    // An unknown property, on which libmosquitto aborts with an assertion.
    case 3: bytes += [0xE0, 4, 0x8B, 2, 0x7F, 0]
    default: bytes += (0..<40).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
  }
}
