import Fleet
import Testing

@Suite struct NaturalOrderTests {
  /// Names in ascending order.
  private static let names = [
    "", "0", "00", "01", "1", "2", "9", "10", "999999999", "1000000000", "99999999999999999999", "a", "a 1",
    "a1", "a1b", "a2", "a10", "a10b2", "a10b10", "sim-2", "sim-010", "sim-10", "sim-11", "sim-x", "van", "ä1",
    "ä2",
    "漢字2", "漢字10",
  ]

  @Test func numbersAreComparedByValue() {
    for (i, a) in Self.names.enumerated() {
      for (j, b) in Self.names.enumerated() {
        #expect(NaturalOrder.precedes(a, b) == (i < j), "\(a) \(b)")
      }
    }
  }

  /// The order of the keys equals that of the comparison, except for names that differ in leading zeros only.
  @Test func theKeyAgrees() {
    var generator = SystemRandomNumberGenerator()
    func name() -> String {
      let letters = Array("019a-~ü")
      return String(
        (0..<Int.random(in: 0...14, using: &generator)).map { _ in
          letters.randomElement(using: &generator) ?? "a"
        })
    }
    for _ in 0..<20_000 {
      let (a, b) = (name(), name())
      let (x, y) = (NaturalOrder.key(a), NaturalOrder.key(b))
      if x != y { #expect((x < y) == NaturalOrder.precedes(a, b), "\(a) \(b)") }
    }
    for (a, b) in zip(Self.names, Self.names.dropFirst()) {
      #expect(NaturalOrder.key(a) <= NaturalOrder.key(b), "\(a) \(b)")
    }
  }

  @Test func vehiclesAreSortedByFleetAndNumber() {
    let keys = [("b", "v1"), ("a2", "v1"), ("a10", "v1"), ("a2", "v10"), ("a2", "v9")].map {
      VehicleKey(fleet: $0, vehicle: $1)
    }
    let names = ["a2/v1", "a2/v9", "a2/v10", "a10/v1", "b/v1"]
    #expect(keys.sorted().map(\.description) == names)
    #expect(keys.sorted { $0.sortKey < $1.sortKey }.map(\.description) == names)
  }
}
