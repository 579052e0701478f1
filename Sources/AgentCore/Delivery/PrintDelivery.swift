internal import Glibc
internal import Platform
internal import Telemetry

/// Writes each message as one JSON line `{"topic","qos","retain","payload"}` to standard output.
///
/// There is no store, so the epoch is all zeros and `seq` counts from 1: the same input gives the same output.
final class PrintDelivery: MessageDelivery {
  private struct State {
    var seq: UInt64 = 0
    var printed = 0
  }

  private let topics: TopicScheme
  private let descriptor: Int32
  private let state = Locked(State())

  init(topics: TopicScheme, descriptor: Int32 = STDOUT_FILENO) {
    self.topics = topics
    self.descriptor = descriptor
  }

  func accept(_ drafts: [MessageDraft]) throws {
    var lines: [UInt8] = []
    state.withLock { state in
      for draft in drafts {
        var identity: MessageIdentity?
        if draft.lane != .live {
          state.seq += 1
          identity = MessageIdentity(epoch: "0000000000000000", seq: state.seq)
        }
        let message = WireMessage(
          topic: draft.topic(in: topics), payload: draft.encode(identity), qos: draft.qos,
          retain: draft.retain)
        lines += message.line
        lines.append(UInt8(ascii: "\n"))
        state.printed += 1
      }
    }
    try write(lines)
  }

  var counters: [String: Int] { ["messages.printed": state.withLock { $0.printed }] }

  func stop(farewell: MessageDraft) throws { try accept([farewell]) }

  private func write(_ bytes: [UInt8]) throws(SystemError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw SystemError(operation: "write to", object: "standard output", code: errno)
      }
    }
  }
}
