internal import Bytes
internal import Glibc
internal import Settings
internal import Telemetry

/// Questions of `odographd init` on a terminal for missing options.
package struct SetupQuestions: ~Copyable {
  private let ask: (String) -> String?
  private let show: (String) -> Void

  /// - Parameters:
  ///   - ask: shows a prompt and returns the answer; nil at the end of the input.
  ///   - report: shows a line.
  package init(ask: @escaping (String) -> String?, show: @escaping (String) -> Void) {
    (self.ask, self.show) = (ask, show)
  }

  /// Creates questions on standard input; nil if it is not a terminal.
  package static func onTerminal() -> SetupQuestions? {
    guard isatty(STDIN_FILENO) == 1 else { return nil }
    return SetupQuestions(
      ask: { prompt in
        print(prompt, terminator: "")
        fflush(nil)
        return readLine()
      }, show: { print($0) })
  }

  /// - Returns: the name; nil without an answer.
  package func vehicle() -> String? {
    answer("Vehicle's id, its name in topics: ", usual: nil) { NewConfiguration.problem(vehicle: $0) }
  }

  /// - Returns: the address; nil without an answer.
  package func broker() -> String? {
    let usual = NewConfiguration.usualBroker
    return answer("Broker, mqtt[s]://HOST[:PORT] [\(usual)]: ", usual: usual) {
      NewConfiguration.problem(broker: $0)
    }
  }

  /// Asks for a preset by name or number.
  ///
  /// - Returns: the name; nil without an answer.
  package func preset() -> String? {
    show("Kind of vehicle:")
    for (number, preset) in zip(1..., Preset.allCases) {
      let padding = String(repeating: " ", count: max(1, 15 - preset.rawValue.count))
      show("  \(number)  \(preset.rawValue)\(padding)\(preset.purpose)")
    }
    func name(_ answer: String) -> String {
      Int(answer).flatMap {
        Preset.allCases.indices.contains($0 - 1) ? Preset.allCases[$0 - 1].rawValue : nil
      }
        ?? answer
    }
    return answer("Its number or name [\(Preset.usual.rawValue)]: ", usual: Preset.usual.rawValue) {
      NewConfiguration.problem(preset: name($0))
    }.map(name)
  }

  /// Asks until the answer is valid.
  private func answer(_ prompt: String, usual: String?, problem: (String) -> String?) -> String? {
    while let line = ask(prompt) {
      let text = String(line.trimmingSpaces())
      let answer = text.isEmpty ? usual ?? "" : text
      guard let problem = answer.isEmpty ? "a value is required: there is no default" : problem(answer) else {
        return answer
      }
      show("  \(problem)")
    }
    return nil
  }
}
