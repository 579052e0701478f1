internal import Fleet
package import Platform

/// A thread that checks passwords one after another: a check needs tens of milliseconds and tens of
/// megabytes.
package final class PasswordChecker: Sendable {
  private struct Question: Sendable {
    var password: String
    var hash: PasswordHash
    var answer: CheckedContinuation<Bool?, Never>
  }

  private struct State {
    var waiting: [Question] = []
    var isStopped = false
  }

  /// The maximum number of waiting checks; at 45 ms each, the last one is answered after three seconds.
  package static let capacity = 64

  private let state = Monitor(State())
  private let thread: DedicatedThread

  /// Starts the thread.
  ///
  /// - Throws: `SystemError` if the kernel cannot create a thread.
  package init() throws(SystemError) {
    let state = state
    thread = try .start(name: "passwords") {
      while true {
        let question: Question?? = state.wait(until: nil) { state in
          if !state.waiting.isEmpty { return .some(state.waiting.removeFirst()) }
          return state.isStopped ? .some(nil) : nil
        }
        guard case .some(.some(let question)) = question else { return }
        question.answer.resume(returning: question.hash.matches(question.password))
      }
    }
  }

  /// Completes the waiting checks, then stops the thread. Call it once.
  package func stop() {
    state.update { $0.isStopped = true }
    thread.join()
  }

  /// Returns whether a password matches a hash; nil if too many checks are waiting.
  package func check(_ password: String, against hash: PasswordHash) async -> Bool? {
    await withCheckedContinuation { answer in
      state.update { state in
        guard !state.isStopped, state.waiting.count < Self.capacity else {
          return answer.resume(returning: nil)
        }
        state.waiting.append(Question(password: password, hash: hash, answer: answer))
      }
    }
  }
}
