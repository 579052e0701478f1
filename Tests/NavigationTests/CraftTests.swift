import Navigation
import Simulation
import TestSupport
import Testing

/// Outages of vehicles other than cars, whose axis or plane differs from that of their motion.
@Suite struct CraftTests {
  /// Mean error in m and share of errors inside the 95 % radius, 30 and 60 s into an outage.
  private func outages(_ kind: SimulatedCraft.Kind, seeds: ClosedRange<UInt64>) throws
    -> (error: Double, inside: Double, aligned: Int)
  {
    var (sum, inside, count, aligned) = (0.0, 0, 0, 0)
    for seed in seeds {
      var generator = SeededGenerator(seed: seed)
      let samples = SimulatedCraft(kind).samples(length: 380, &generator)
      var filter = NavigationFilter(.init(kind == .boat ? .boat : kind == .truck ? .truck : .wheeled))
      filter.play(samples.prefix { $0.truth.time < 315 })
      aligned += filter.state == .aligned ? 1 : 0
      for end in [345.0, 375] {
        filter.play(
          samples.drop { $0.truth.time < end - 30 }.prefix { $0.truth.time < end }, isSeen: { _ in false })
        count += 1
        guard let estimate = filter.estimate, let error = filter.error(samples[Int(end * 50) - 1].truth)
        else { continue }
        sum += error
        inside += error <= estimate.radius95 ? 1 : 0
      }
    }
    return (sum / Double(count), Double(inside) / Double(count), aligned)
  }

  /// The error in an outage is small for vehicles that lean, slip or overhang their axles, and larger for boats; the 95 % radius covers it.
  @Test(arguments: [
    (SimulatedCraft.Kind.car, 3.0, 0.95), (.motorcycle, 3, 0.95), (.eScooter, 3, 0.95), (.tram, 5, 0.95),
    (.truck, 4, 0.95), (.boat, 30, 0.95),
  ])
  func outageIsBridged(_ kind: SimulatedCraft.Kind, error: Double, inside: Double) throws {
    let result = try outages(kind, seeds: 1...10)
    print("\(kind): \(result)")
    #expect(result.aligned == 10)
    #expect(result.error < error)
    #expect(result.inside >= inside)
  }
}
