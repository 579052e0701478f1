internal import Glibc
internal import Telemetry

/// What `odographd init` asks on a terminal for what its options leave open.
package struct SetupQuestions: ~Copyable {
  private let ask: (String) -> String?
  private let say: (String) -> Void

  /// - Parameters:
  ///   - ask: shows a prompt and returns the line that was answered; nil when there will be none.
  ///   - say: shows a line.
  package init(ask: @escaping (String) -> String?, say: @escaping (String) -> Void) {
    (self.ask, self.say) = (ask, say)
  }

  /// The terminal that standard input is; nil when it is none, and nobody can be asked.
  package static func onTerminal() -> SetupQuestions? {
    guard isatty(STDIN_FILENO) == 1 else { return nil }
    return SetupQuestions(
      ask: { prompt in
        print(prompt, terminator: "")
        fflush(nil)
        return readLine()
      }, say: { print($0) })
  }

  /// - Returns: nil when there was no answer.
  package func vehicle() -> String? {
    answer("Vehicle's id, its name in topics: ", usual: nil) { NewConfiguration.problem(vehicle: $0) }
  }

  /// - Returns: nil when there was no answer.
  package func broker() -> String? {
    let usual = NewConfiguration.usualBroker
    return answer("Broker, mqtt[s]://HOST[:PORT] [\(usual)]: ", usual: usual) {
      NewConfiguration.problem(broker: $0)
    }
  }

  /// A name or a number of the list.
  ///
  /// - Returns: nil when there was no answer.
  package func preset() -> String? {
    say("Kind of vehicle:")
    for (number, preset) in zip(1..., Preset.allCases) {
      let padding = String(repeating: " ", count: max(1, 15 - preset.rawValue.count))
      say("  \(number)  \(preset.rawValue)\(padding)\(preset.purpose)")
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

  /// Asks until the answer is right.
  private func answer(_ prompt: String, usual: String?, problem: (String) -> String?) -> String? {
    while let line = ask(prompt) {
      let text = String(line.trimmingSpaces())
      let answer = text.isEmpty ? usual ?? "" : text
      guard let problem = answer.isEmpty ? "needed: it has no default" : problem(answer) else {
        return answer
      }
      say("  \(problem)")
    }
    return nil
  }
}
