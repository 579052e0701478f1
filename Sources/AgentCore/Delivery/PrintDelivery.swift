internal import Glibc
internal import Pipeline
internal import Platform
internal import Positioning
internal import Spatial
internal import StoreAndForward
internal import Telemetry

/// Writes each message as a JSON line `{"topic","qos","retain","payload"}` to standard output.
///
/// There is no store, so the epoch is zero and `seq` counts from 1: equal input gives equal output. For
/// recordings and simulations, it also counts the traffic of an assumed broker link.
final class PrintDelivery: MessageDelivery {
  private struct State {
    var formats: MessageFormats
    var link: LinkModel?
    var seq: UInt64 = 0
    var printed = 0
  }

  private let descriptor: Int32?
  private let state: Locked<State>

  /// - Parameters:
  ///   - link: model of the broker link; nil counts no traffic.
  ///   - descriptor: descriptor for the lines; nil writes none.
  init(formats: MessageFormats, link: LinkModel? = nil, descriptor: Int32? = STDOUT_FILENO) {
    state = Locked(State(formats: formats, link: link))
    self.descriptor = descriptor
  }

  func accept(_ messages: [VehicleMessage], preserving documents: [PreservedDocument]) throws {
    var lines: [UInt8] = []
    state.withLock { state in
      state.link?.accept(messages)
      guard descriptor != nil else { return }
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

  var radio: EnergyAccount { model?.radio ?? EnergyAccount(bytes: 0) }

  /// The link model with its traffic; nil without one.
  var model: LinkModel? { state.withLock { $0.link } }

  func observe(isAtRest: Bool, at timestamp: Timestamp) {
    state.withLock { $0.link?.advance(to: timestamp, isAtRest: isAtRest) }
  }

  func stop(farewell: () -> VehicleMessage) throws { try accept([farewell()], preserving: []) }

  private func write(_ bytes: [UInt8]) throws(SystemError) {
    guard let descriptor else { return }
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
