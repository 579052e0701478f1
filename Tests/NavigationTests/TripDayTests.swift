import Navigation
import Simulation
import Spatial
import TestSupport
import Testing

/// Simulated days with tunnels, ferries, queues, restarts and dead batteries: every trip is detected, and the sum of their distances
/// matches the odometer.
@Suite struct TripDayTests {
  private struct Tally {
    var (trips, found, watched, missed) = (0, 0, 0, [String]())
    /// Largest difference in m between the sum of trips and the odometer at the end of the last trip, and largest distance in m since then.
    var (greatestGap, greatestRest) = (0.0, 0.0)
  }

  /// Simulated days per seed.
  private static let days = 50

  @Test(arguments: [11, 12, 13]) func everyTripIsDetected(seed: UInt64) { check(seed: seed) }

  /// Each run uses a new random seed.
  @Test func everyTripIsDetectedForAnySeed() {
    var random = SeededGenerator.announced()
    // Of about 260 trips, at most three are missed on average; seven are within random variation.
    check(seed: random.next(), least: 0.97)
  }

  private func check(seed: UInt64, least: Double = 0.99) {
    var tally = Tally()
    for day in 0..<Self.days {
      var random = SeededGenerator(seed: seed &+ 1000 &* UInt64(day))
      let equipment = SimulatedAgent.Equipment(
        hasIgnition: random.nextUniform() < 0.5, hasAccelerometer: random.nextUniform() < 0.5)
      let day = SimulatedDay(random)
      var agent = SimulatedAgent(random, equipment)
      for second in day.seconds { agent.process(second) }
      judge(day, agent, &tally)
    }
    print(
      "seed \(seed): \(tally.found) of \(tally.trips) trips found,",
      "sum and odometer differ by \(tally.greatestGap) m, at most \(tally.greatestRest) m since; missed:",
      tally.missed.joined(separator: "; "))
    #expect(Double(tally.found) >= least * Double(tally.trips), "seed \(seed)")
    #expect(tally.greatestGap < 0.001 && tally.greatestRest < 10, "seed \(seed)")
  }

  private func judge(_ day: SimulatedDay, _ agent: SimulatedAgent, _ tally: inout Tally) {
    var newest: [Int: TripRecord] = [:]
    for record in agent.told where newest[record.number].map({ $0.revision <= record.revision }) ?? true {
      newest[record.number] = record
    }
    let trips = newest.values.sorted { $0.number < $1.number }
    #expect(trips.map(\.number) == (0..<trips.count).map { $0 + 1 })
    for trip in trips {
      #expect(trip.phase == .ended)
      if let start = trip.start.time, let end = trip.end.time { #expect(start <= end) }
      #expect(trip.estimated <= trip.distance && trip.moving >= 0 && trip.standing >= 0)
    }
    for (first, second) in zip(trips, trips.dropFirst()) {
      #expect(first.end.distance == second.start.distance)
    }
    // Metres since the last trip count towards the next one.
    let sum = trips.reduce(0) { $0 + $1.distance }
    let last = trips.last?.end.distance ?? 0
    tally.greatestGap = max(tally.greatestGap, abs(sum - last))
    tally.greatestRest = max(tally.greatestRest, agent.distance - last)
    for truth in day.trips {
      tally.trips += 1
      let start = agent.equipment.hasIgnition && truth.kind == .driven ? truth.ignitionOn : truth.start
      let end = agent.equipment.hasIgnition && truth.kind == .driven ? truth.ignitionOff : truth.end
      let match = trips.first { trip in
        let (first, last) = (second(trip.start.time), second(trip.end.time))
        return (abs(first - start) <= 5 || !truth.isStartWatched && first <= end)
          && (abs(last - end) <= 5 || !truth.isEndWatched && last >= start)
      }
      if match != nil, match?.kind == truth.kind || truth.kind == .carried && !agent.equipment.hasIgnition {
        tally.found += 1
      } else {
        let near = trips.min {
          abs(second($0.start.time) - start) < abs(second($1.start.time) - start)
        }
        tally.missed.append(
          "\(agent.equipment.hasIgnition ? "ignition " : "")\(agent.equipment.hasAccelerometer ? "accelerometer " : "")\(truth.kind) \(start)...\(end): "
            + (near.map { "\($0.kind) \(second($0.start.time))...\(second($0.end.time))" } ?? "none"))
      }
    }
  }

  private func second(_ time: UTCTime?) -> Int {
    time.map { Int($0.nanoseconds / 1_000_000_000 - SimulatedAgent.epoch) } ?? -1
  }
}
