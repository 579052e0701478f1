/// Prometheus' text format (version 0.0.4): base units, counters that end in `_total`.
package struct MetricsText: Sendable {
  package private(set) var text = ""

  package enum Kind: String, Sendable { case gauge, counter }

  /// A value with its labels. A value that is nil or not finite is unknown and is omitted.
  package typealias Sample = (labels: [(String, String)], value: Double?)

  package init() {}

  /// Appends a family of samples. Unknown values are omitted, as is a family in which all values are unknown.
  /// - Parameter name: name of the metric without the prefix `odograph_`.
  package mutating func family(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) {
    let known = samples.filter { $0.value?.isFinite == true }
    guard !known.isEmpty else { return }
    text += "# HELP odograph_\(name) \(help)\n# TYPE odograph_\(name) \(kind.rawValue)\n"
    for (labels, value) in known {
      text += "odograph_\(name)"
      if !labels.isEmpty {
        text += "{" + labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",") + "}"
      }
      let number = value ?? 0
      text += number == number.rounded() && abs(number) < 1e15 ? " \(Int64(number))\n" : " \(number)\n"
    }
  }

  package mutating func gauge(_ name: String, _ help: String, _ value: Double?) {
    family(name, .gauge, help, [([], value)])
  }

  package mutating func counter(_ name: String, _ help: String, _ value: Int?) {
    family(name, .counter, help, [([], value.map(Double.init))])
  }

  /// Appends families that another component has written in the same format.
  package mutating func append(_ families: String) { text += families }

  private static func escaped(_ value: String) -> String {
    var result = ""
    for character in value.unicodeScalars {
      switch character {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }
}
