internal import CLinux
internal import Glibc

/// An operating-system thread of its own for work that blocks: reading a device, talking to gpsd or a
/// broker. Blocking calls never run on Swift's cooperative pool.
public struct DedicatedThread: Sendable {
  private let handle: pthread_t

  /// Starts a thread.
  /// - Parameters:
  ///   - name: shown by `top -H` and in core dumps; the kernel keeps the first 15 bytes.
  ///   - stackSize: bytes; the pages are taken only when touched.
  ///   - body: runs once; the thread ends when it returns.
  /// - Throws: `SystemError` when the kernel has no room for another thread.
  public static func start(
    name: String, stackSize: Int = 512 * 1024, _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) -> DedicatedThread {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    defer { unsafe pthread_attr_destroy(&attributes) }
    unsafe pthread_attr_setstacksize(&attributes, stackSize)
    let box = unsafe Unmanaged.passRetained(ThreadBody(name: name, run: body))
    var handle = pthread_t()
    let code = unsafe pthread_create(
      &handle, &attributes,
      { context in
        guard let context = unsafe context else { return nil }
        let body = unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue()
        _ = unsafe body.name.withCString { unsafe pthread_setname_np(pthread_self(), $0) }
        body.run()
        return nil
      }, box.toOpaque())
    guard code == 0 else {
      unsafe box.release()
      throw SystemError(operation: "start thread", object: name, code: code)
    }
    return DedicatedThread(handle: handle)
  }

  /// Waits until the thread has ended. Call it once, from another thread.
  public func join() { pthread_join(handle, nil) }

  /// Nobody will wait for its end: what the thread holds is given back then. Call either this or `join`.
  public func detach() { pthread_detach(handle) }
}

private final class ThreadBody: Sendable {
  let name: String
  let run: @Sendable () -> Void

  init(name: String, run: @escaping @Sendable () -> Void) {
    self.name = String(name.prefix(15))
    self.run = run
  }
}
