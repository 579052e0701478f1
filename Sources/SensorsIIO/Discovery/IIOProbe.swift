internal import Platform

/// Looks once at what IIO hardware there is, for `odographd check` and `odographd sensors`.
public enum IIOProbe {
  /// Opens a context, lists its sensors and closes it. Nothing is powered up.
  ///
  /// - Parameters:
  ///   - limit: seconds to wait for a machine that does not answer.
  /// - Returns: what was found; its `devices` are empty on a machine that has IIO but no sensor of the kinds.
  /// - Throws: `IIOError` that names the URI and what helps.
  public static func inventory(
    _ configuration: IIOConfiguration, limit: Double = 10
  ) throws(IIOError) -> IIOInventory {
    let uri = configuration.uri
    let answer = BoundedQueue<Result<IIOInventory, IIOError>>(capacity: 1)
    // libiio cannot be told to stop connecting, so the wait is left to a thread that can be left behind.
    do {
      _ = try DedicatedThread.start(name: "iio-probe") { answer.push(open(configuration)) }
    } catch {
      throw IIOError(
        operation: .open, object: uri, code: SystemErrno(rawValue: error.code), reason: "\(error)")
    }
    guard case .element(let result) = answer.pop(until: SystemClock.monotonic + Int64(limit * 1e9)) else {
      throw IIOError(
        operation: .open, object: uri,
        reason:
          "no answer within \(SamplingFrequencies.text(limit)) s; check that the host is up and reachable")
    }
    return try result.get()
  }

  private static func open(_ configuration: IIOConfiguration) -> Result<IIOInventory, IIOError> {
    BrokenPipe.block()
    do throws(IIOError) {
      let context = try Context(uri: configuration.uri)
      return .success(try IIOInventory(context, configuration: configuration))
    } catch {
      return .failure(error)
    }
  }
}
