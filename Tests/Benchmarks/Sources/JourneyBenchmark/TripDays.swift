import Foundation
import Navigation
import Simulation
import Spatial

/// Trips of simulated days, compared with those that a server finds in positions alone.
enum TripDays {
  /// A detected trip, times in seconds of the day.
  private struct Found {
    var start, end: Double
    var distance: Double
  }

  /// Counts for one method of detecting trips.
  private struct Tally {
    var (trips, told, single, whole) = (0, 0, 0, 0)
    var (starts, ends) = ([Double](), [Double]())
    var (sum, way) = (0.0, 0.0)
    /// Largest difference in m on one day between the sum of trips and the odometer; nil without an odometer.
    var greatestGap: Double?

    /// Returns true if both overlap by more than 5 s, the tolerance of their ends.
    private static func meet(_ found: Found, _ trip: SimulatedDay.Trip) -> Bool {
      found.start + 5 < Double(trip.end) && found.end - 5 > Double(trip.start)
    }

    mutating func add(
      _ found: [Found], _ truth: [SimulatedDay.Trip], start: (SimulatedDay.Trip) -> Int,
      end: (SimulatedDay.Trip) -> Int
    ) {
      told += found.count
      sum += found.reduce(0) { $0 + $1.distance }
      for trip in truth {
        trips += 1
        let matches = found.filter { Self.meet($0, trip) }
        guard let match = matches.first, matches.count == 1,
          truth.count(where: { Self.meet(match, $0) }) == 1
        else { continue }
        single += 1
        let errors = (abs(match.start - Double(start(trip))), abs(match.end - Double(end(trip))))
        // Without power or position, the exact time is unknown.
        if trip.isStartWatched { starts.append(errors.0) }
        if trip.isEndWatched { ends.append(errors.1) }
        if (errors.0 <= 60 || !trip.isStartWatched) && (errors.1 <= 60 || !trip.isEndWatched) { whole += 1 }
      }
    }

    func row(_ source: String) -> String {
      func part(_ errors: [Double], _ share: Double) -> Double {
        let sorted = errors.sorted()
        return sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]
      }
      return "\(source),\(trips),\(told),\(single),\(whole),"
        + String(
          format: "%.0f,%.0f,%.0f,%.0f,%+.2f,", part(starts, 0.5), part(starts, 0.95), part(ends, 0.5),
          part(ends, 0.95), 100 * (sum / way - 1)) + (greatestGap.map { String(format: "%.4f", $0) } ?? "")
    }
  }

  /// The rule of servers without an ignition signal, for positions every 30 s: a trip starts with the first one faster than 5 km/h and ends
  /// with the last such one before five minutes without any. The distance between positions is the straight line.
  private struct Server {
    static let (interval, speed, stop) = (30, 5 / 3.6, 300.0)
    private(set) var found: [Found] = []
    private var trip: Found?
    private var pending = 0.0
    private var last: (second: Double, place: SIMD2<Double>)?

    mutating func process(_ second: Double, _ place: SIMD2<Double>, speed: Double) {
      let step = last.map { length(place - $0.place) } ?? 0
      last = (second, place)
      if let open = trip, second - open.end >= Self.stop,
        speed <= Self.speed || second - open.end >= 2 * Self.stop
      {
        found.append(open)
        trip = nil
      }
      if speed > Self.speed {
        if var open = trip {
          open.end = second
          open.distance += pending + step
          trip = open
        } else {
          trip = Found(start: second, end: second, distance: step)
        }
        pending = 0
      } else {
        pending += step
      }
    }

    mutating func finish() {
      if let trip { found.append(trip) }
      trip = nil
    }

    private func length(_ vector: SIMD2<Double>) -> Double { (vector * vector).sum().squareRoot() }
  }

  /// Prints CSV rows for each kind of vehicle.
  static func print(days: Int) {
    Swift.print(
      "vehicle,trips_by,true,told,one_for_one,both_ends_within_60_s,start_median_s,start_95_s,end_median_s,end_95_s,way_error_percent,sum_less_odometer_m"
    )
    for hasIgnition in [true, false] {
      for hasAccelerometer in [true, false] {
        var (own, server) = (Tally(), Tally())
        own.greatestGap = 0
        for day in 0..<days {
          // Fifty days per seed.
          var random = SeededGenerator(seed: UInt64(11 + day / 50) &+ 1000 &* UInt64(day % 50))
          // Draws the same random numbers as `TripDayTests`.
          _ = (random.nextUniform(), random.nextUniform())
          let day = SimulatedDay(random)
          play(
            day, random, .init(hasIgnition: hasIgnition, hasAccelerometer: hasAccelerometer), &own, &server)
        }
        let vehicle =
          (hasIgnition ? "ignition" : "no ignition") + (hasAccelerometer ? " and accelerometer" : "")
        Swift.print(own.row("\(vehicle),odographd"))
        if !hasIgnition, !hasAccelerometer { Swift.print(server.row("any,positions each 30 s")) }
      }
    }
  }

  private static func play(
    _ day: SimulatedDay, _ random: SeededGenerator, _ equipment: SimulatedAgent.Equipment, _ own: inout Tally,
    _ server: inout Tally
  ) {
    var agent = SimulatedAgent(random, equipment)
    var peer = Server()
    var (place, noise) = (SIMD2(0.0, 0), SIMD2(0.0, 0))
    var (way, since) = (0.0, 0)
    var errors = SeededGenerator(seed: 7)
    for (index, second) in day.seconds.enumerated() {
      agent.process(second)
      let angle = second.course * .pi / 180
      place += second.speed * SIMD2(sin(angle), cos(angle))
      way += second.speed
      // A receiver like the agent's: an error that drifts by metres, and a few seconds to the first fix after power-on.
      noise = 0.98 * noise + 0.5 * SIMD2(errors.nextNormal(), errors.nextNormal())
      since = second.hasPower ? since + 1 : 0
      guard index % Server.interval == 0, second.hasPower, second.hasSky, since > 10 else { continue }
      peer.process(Double(index + 1), place + noise, speed: max(0, second.speed + 0.05 * errors.nextNormal()))
    }
    peer.finish()
    var newest: [Int: TripRecord] = [:]
    for record in agent.told where newest[record.number].map({ $0.revision <= record.revision }) ?? true {
      newest[record.number] = record
    }
    let trips = newest.values.sorted { $0.number < $1.number }
    func seconds(_ point: TripPoint) -> Double {
      point.time.map { Double($0.nanoseconds) / 1e9 - Double(SimulatedAgent.epoch) } ?? -1
    }
    let told = trips.map { Found(start: seconds($0.start), end: seconds($0.end), distance: $0.distance) }
    own.way += way
    server.way += way
    let counts: (SimulatedDay.Trip) -> Bool = { equipment.hasIgnition && $0.kind == .driven }
    own.add(told, day.trips) {
      counts($0) ? $0.ignitionOn : $0.start
    } end: {
      counts($0) ? $0.ignitionOff : $0.end
    }
    server.add(peer.found, day.trips) {
      $0.start
    } end: {
      $0.end
    }
    let sum = trips.reduce(0) { $0 + $1.distance }
    own.greatestGap = max(own.greatestGap ?? 0, abs(sum - (trips.last?.end.distance ?? 0)))
  }
}
