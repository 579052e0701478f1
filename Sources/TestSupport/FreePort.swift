internal import Glibc

/// Finds TCP ports on the loopback interface that nobody listens on.
public enum FreePort {
  /// A port that was free a moment ago; whoever wants it should take it soon.
  public static func next<Port: FixedWidthInteger>() throws -> Port {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    return try Port(clamping: LoopbackSocket.listen(descriptor))
  }

  /// Whether something accepts connections on a loopback port.
  public static func isAccepting(_ port: some FixedWidthInteger) -> Bool {
    let descriptor = LoopbackSocket.connect(Int(clamping: port))
    if descriptor >= 0 { close(descriptor) }
    return descriptor >= 0
  }
}
