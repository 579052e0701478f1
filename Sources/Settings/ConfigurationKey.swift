internal import Bytes
package import JSON
internal import Telemetry

/// A configuration key with type, accepted values and meaning. The list of all keys is the single source for
/// the loader, the error messages, the fleet's command line and the test of `Config/odograph.toml`.
package struct ConfigurationKey: Sendable {
  package enum Kind: Sendable {
    case text
    case oneOf([String])
    case texts
    case integer(ClosedRange<Int>)
    case number(ClosedRange<Double>)
    /// A speed in km/h as a number, or a text with a unit.
    case speed(ClosedRange<Double>)
    case flag
    /// Latitude and longitude in degrees.
    case coordinate
  }

  /// Dotted path, for example `mqtt.broker`.
  package let path: String
  package let kind: Kind
  /// Default value; nil if the key is unset by default.
  package let defaultValue: Value?
  /// The texts that an array of the key may contain; nil if the agent checks them by another rule.
  package let elements: [String]?

  package enum Value: Sendable, Hashable {
    case text(String)
    case texts([String])
    case integer(Int)
    case number(Double)
    case flag(Bool)
    case numbers([Double])
  }

  package init(_ path: String, _ kind: Kind, default value: Value? = nil, elements: [String]? = nil) {
    self.path = path
    self.kind = kind
    defaultValue = value
    self.elements = elements
  }

  /// Name of the environment variable that overrides the key, for example `ODOGRAPH_MQTT_BROKER` for
  /// `mqtt.broker`.
  package var environmentName: String {
    Self.environmentPrefix + path.uppercased().split(separator: ".").joined(separator: "_")
  }

  package static let environmentPrefix = "ODOGRAPH_"

  /// Description of the accepted values for error messages, for example "one of a, b" or "an integer from 1
  /// to 65535".
  package var accepted: String {
    switch kind {
    case .text: "a string"
    case .oneOf(let choices): "one of " + choices.map { "\"\($0)\"" }.joined(separator: ", ")
    case .texts: "an array of strings, or one string"
    case .integer(let range): "an integer from \(range.lowerBound) to \(range.upperBound)"
    case .number(let range):
      "a number from \(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound))"
    case .speed(let range):
      "a number from \(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound)) in km/h, or \(SpeedText.example)"
    case .flag: "true or false"
    case .coordinate: "[latitude, longitude] in degrees"
    }
  }

  /// Returns a suggestion for an invalid text, for example `; did you mean "car"?`; empty if no choice is
  /// similar enough.
  package func hint(for text: String) -> String {
    guard case .oneOf(let choices) = kind else { return "" }
    return Spelling.nearest(to: text, among: choices).map { "; did you mean \"\($0)\"?" } ?? ""
  }

  /// Returns why an element of an array is not accepted; nil if all are.
  package func problem(of value: Value) -> String? {
    guard let elements, case .texts(let texts) = value,
      let wrong = texts.first(where: { !elements.contains($0) })
    else { return nil }
    let hint = Spelling.nearest(to: wrong, among: elements).map { "; did you mean \"\($0)\"?" } ?? ""
    return "\"\(wrong.prefix(40))\" is not one of " + elements.map { "\"\($0)\"" }.joined(separator: ", ")
      + hint
  }

  private static func plain(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15 ? String(Int(number)) : String(number)
  }

  /// Converts a value to the key's type; nil if the key does not accept the value. An integer is accepted as
  /// a number.
  package func accept(_ value: Value) -> Value? {
    switch (kind, value) {
    case (.text, .text), (.texts, .texts), (.flag, .flag): value
    case (.texts, .text(let text)): .texts([text])
    case (.oneOf(let choices), .text(let text)): choices.contains(text) ? value : nil
    case (.integer(let range), .integer(let number)): range.contains(number) ? value : nil
    case (.number(let range), .number(let number)): range.contains(number) ? value : nil
    case (.number(let range), .integer(let number)), (.speed(let range), .integer(let number)):
      range.contains(Double(number)) ? .number(Double(number)) : nil
    case (.speed(let range), .number(let number)): range.contains(number) ? value : nil
    case (.speed, .text(let text)):
      // Rounding removes the last digits of the conversion, so that 60 km/h remains 60.
      SpeedText.metresPerSecond(text).flatMap { accept(.number(($0 * 3.6 * 1e6).rounded() / 1e6)) }
    case (.coordinate, .numbers(let numbers)):
      numbers.count == 2 && abs(numbers[0]) <= 90 && abs(numbers[1]) <= 180 ? value : nil
    default: nil
    }
  }

  /// Parses a value from an environment variable or an option; elements of arrays are separated by commas.
  package func parse(_ text: String) -> Value? {
    switch kind {
    case .text, .oneOf: accept(.text(text))
    case .texts:
      .texts(text.isEmpty ? [] : text.split(separator: ",").map { String($0.trimmingSpaces()) })
    case .integer: Int(text).flatMap { accept(.integer($0)) }
    case .number: Double(text).flatMap { accept(.number($0)) }
    case .speed: Double(text).map { accept(.number($0)) } ?? accept(.text(text))
    case .flag: text == "true" ? .flag(true) : text == "false" ? .flag(false) : nil
    case .coordinate:
      accept(
        .numbers(
          text.trimmingSpaces().drop { $0 == "[" }.prefix { $0 != "]" }
            .split(separator: ",", omittingEmptySubsequences: false)
            .map { Double($0.trimmingSpaces()) ?? .nan }))
    }
  }
}

extension ConfigurationKey {
  /// Converts JSON to the key's type; nil for another type or a value out of range.
  package func accept(json: JSONValue) -> Value? {
    switch json {
    case .string(let text): return accept(.text(text))
    case .bool(let flag): return accept(.flag(flag))
    case .integer(let number): return accept(.integer(Int(number)))
    case .number(let number): return accept(.number(number))
    case .array(let elements):
      if case .coordinate = kind {
        let numbers = elements.compactMap(\.double)
        return numbers.count == elements.count ? accept(.numbers(numbers)) : nil
      }
      let texts = elements.compactMap(\.string)
      return texts.count == elements.count ? accept(.texts(texts)) : nil
    case .null, .object: return nil
    }
  }
}

extension ConfigurationKey.Value {
  package var json: JSONValue {
    switch self {
    case .text(let text): .string(text)
    case .texts(let texts): .array(texts.map(JSONValue.string))
    case .integer(let number): .integer(Int64(number))
    case .number(let number): .number(number)
    case .flag(let flag): .bool(flag)
    case .numbers(let numbers): .array(numbers.map(JSONValue.number))
    }
  }
}
