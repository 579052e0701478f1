import Fleet
import FleetAlerts
import Spatial
import TestSupport
import Testing

/// Delivery is complete, and in order for each vehicle, whatever fails.
struct DeliveryQueueTests {
  private func vehicle(_ number: Int) -> VehicleKey { VehicleKey(fleet: "demo", vehicle: "v\(number)") }

  @Test func everythingIsDeliveredInOrderPerVehicle() {
    var random = SplitMix.announced()
    for _ in 0..<40 {
      var queue = DeliveryQueue()
      var now = Timestamp(seconds: 0)
      var left: [Int64: [VehicleKey]] = [:]
      var next: Int64 = 1
      var taken: [VehicleKey: Int64] = [:]
      var underWay: [Int64] = []
      let share = random.uniform(0...0.7)
      for _ in 0..<200_000 {
        if next <= 400, Int.random(in: 0..<4, using: &random) == 0 {
          let count = Int.random(in: 0..<10, using: &random) == 0 ? 8 : 1
          let vehicles = (0..<count).map { _ in vehicle(Int.random(in: 0..<20, using: &random)) }
          queue.add(.init(number: next, vehicles: vehicles), at: now)
          left[next] = vehicles
          next += 1
        }
        while underWay.count < 6, let number = queue.next(at: now) {
          for key in left[number] ?? [] {
            #expect(!underWay.contains { left[$0]?.contains(key) == true }, "two of a vehicle at a time")
            #expect(!left.contains { $0.key < number && $0.value.contains(key) }, "an earlier one waits")
          }
          underWay.append(number)
        }
        if let place = underWay.indices.randomElement(using: &random) {
          let number = underWay.remove(at: place)
          switch Int.random(in: 0..<20, using: &random) {
          case 0: queue.giveBack(number, at: now)
          case _ where random.uniform(0...1) < share:
            queue.fail(number, after: nil, at: now, using: &random)
          default:
            queue.remove(number, wasTaken: true, at: now)
            for key in left.removeValue(forKey: number) ?? [] {
              #expect(taken[key] ?? 0 <= number)
              taken[key] = number
            }
          }
        } else if let due = queue.deadline {
          now = max(now, due)
        } else if next > 400 {
          break
        }
        now = now.advanced(bySeconds: 0.01)
      }
      #expect(left.isEmpty && queue.count == 0, "\(left.count) are left")
    }
  }

  @Test func anAbandonedMessageDoesNotBlock() {
    var queue = DeliveryQueue()
    let now = Timestamp(seconds: 0)
    queue.add(.init(number: 1, vehicles: [vehicle(1)]), at: now)
    queue.add(.init(number: 2, vehicles: [vehicle(1), vehicle(2)]), at: now)
    queue.add(.init(number: 3, vehicles: [vehicle(2)]), at: now)
    queue.remove(2, wasTaken: false, at: now)
    #expect(queue.next(at: now) == 1 && queue.next(at: now) == 3 && queue.next(at: now) == nil)
    queue.remove(1, wasTaken: true, at: now)
    queue.remove(3, wasTaken: true, at: now)
    #expect(queue.count == 0 && queue.deadline == nil)
  }

  @Test func anUnreachableReceiverGetsFewAttempts() {
    var queue = DeliveryQueue()
    var random = SplitMix.announced()
    let now = Timestamp(seconds: 0)
    for number in 1...100 { queue.add(.init(number: Int64(number), vehicles: [vehicle(number)]), at: now) }
    var attempts = 0
    while let number = queue.next(at: now) {
      attempts += 1
      queue.fail(number, after: nil, at: now, using: &random)
    }
    #expect(attempts == 8)
    // After the delay one message is tried; when it is accepted, all others follow.
    let later = queue.deadline.map { max($0, Timestamp(seconds: 1)) } ?? now
    let probe = queue.next(at: later)
    #expect(probe != nil && queue.next(at: later) == nil)
    if let probe { queue.remove(probe, wasTaken: true, at: later) }
    #expect(queue.next(at: later) != nil && queue.next(at: later) != nil)
  }
}
