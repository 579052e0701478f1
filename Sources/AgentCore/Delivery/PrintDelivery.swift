internal import Glibc
internal import Platform
internal import Telemetry

/// Writes each message as one JSON line `{"topic","qos","retain","payload"}` to standard output.
///
/// There is no store, so the epoch is all zeros and `seq` counts from 1: the same input gives the same output.
final class PrintDelivery: MessageDelivery {
  private struct State {
    var formats: MessageFormats
    var seq: UInt64 = 0
    var printed = 0
  }

  private let descriptor: Int32
  private let state: Locked<State>

  init(formats: MessageFormats, descriptor: Int32 = STDOUT_FILENO) {
    state = Locked(State(formats: formats))
    self.descriptor = descriptor
  }

  func accept(_ messages: [VehicleMessage]) throws {
    var lines: [UInt8] = []
    state.withLock { state in
      for publication in messages.flatMap({ state.formats.encode($0) }) {
        var identity: MessageIdentity?
        if publication.lane != nil {
          state.seq += 1
          identity = MessageIdentity(epoch: "0000000000000000", seq: state.seq)
        }
        lines += publication.line(identity: identity)
        lines.append(UInt8(ascii: "\n"))
        state.printed += 1
      }
    }
    try write(lines)
  }

  var counters: [String: Int] { ["messages.printed": state.withLock { $0.printed }] }

  func stop(farewell: VehicleMessage) throws { try accept([farewell]) }

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
