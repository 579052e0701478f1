internal import JSON
package import Sensors

/// The requirements of a Swift client, as the request `?ODOGRAPH={…};` in the protocol of gpsd. Each request replaces
/// the previous one, and one without members ends all demand.
package struct AgentRequest: Hashable, Sendable {
  /// Interval between positions in s; nil for none.
  package var interval: Double?
  /// Demands on inertial sensors and barometer. Kinds that are missing are off.
  package var samples: [SensorKind: SensorDemand]

  /// Name of the request, and class of the agent's answer.
  static let name = "ODOGRAPH"
  private static let rates = 0.01...1000.0
  private static let latencies = 0.05...10.0

  package init(interval: Double? = nil, samples: [SensorKind: SensorDemand] = [:]) {
    (self.interval, self.samples) = (interval, samples)
  }

  /// A member with an invalid value.
  struct InvalidMember: Error, Hashable {
    let name: String
  }

  /// - Throws: `InvalidMember` unless rates and latency are positive numbers.
  init(_ members: [String: JSONValue]) throws(InvalidMember) {
    func number(_ name: String, _ range: ClosedRange<Double>) throws(InvalidMember) -> Double? {
      guard let member = members[name] else { return nil }
      guard let value = member.double, value > 0 else { throw InvalidMember(name: name) }
      return min(max(value, range.lowerBound), range.upperBound)
    }
    interval = try number("positioning", Self.rates).map { 1 / $0 }
    let latency = try number("latency", Self.latencies) ?? 1
    samples = [:]
    for kind in AgentOffer.sampleKinds {
      guard let rate = try number(kind.rawValue, Self.rates) else { continue }
      samples[kind] = .rate(hertz: rate, latency: .seconds(latency))
    }
  }

  /// The request for the agent: rates in Hz, and the shortest latency in s.
  package var bytes: [UInt8] {
    var latency: Double?
    let object = JSONWriter.object { json in
      json.field("positioning", interval.map { 1 / $0 }, decimals: 3)
      for (kind, demand) in samples.sorted(by: { $0.key < $1.key }) {
        guard case .rate(let hertz, let allowed) = demand else { continue }
        json.key(kind.rawValue)
        json.value(max(hertz, Self.rates.lowerBound), decimals: 3)
        latency = min(latency ?? .infinity, allowed / .seconds(1))
      }
      json.field("latency", latency.map { max($0, Self.latencies.lowerBound) }, decimals: 3)
    }
    return Array("?\(Self.name)=".utf8) + object + Array(";\n".utf8)
  }
}
