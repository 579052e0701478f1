public import Simulation

extension SeededGenerator {
  /// A generator with a new seed, which is printed, so that a failure can be played again.
  public static func announced() -> SeededGenerator {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    return SeededGenerator(seed: seed)
  }
}
