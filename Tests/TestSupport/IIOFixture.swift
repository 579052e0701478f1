internal import CLinux
internal import Glibc
public import Platform

/// Simulated IIO hardware for libiio and iiod: a sysfs of ordinary files, and a FIFO for each device's buffer. It is visible only to one
/// thread and its child processes, in a private mount namespace.
///
/// libiio's local backend reads a FIFO like a character device. Files have no driver behaviour: a frequency is read back as it was written,
/// and `buffer/enable` contains the last value written by libiio.
public struct IIOFixture: Sendable {
  /// A captured channel: its name in sysfs, such as "accel_x", and its scan type, such as "le:s16/16>>0".
  public struct Channel: Sendable {
    var name: String
    var type: String

    public init(_ name: String, _ type: String) { (self.name, self.type) = (name, type) }
  }

  private static let root = "/sys/bus/iio/devices"

  /// Runs `body` on a thread that sees the fixture, and returns its result.
  ///
  /// Creating a mount namespace requires privileges: `.needs(.mounting)`.
  public static func run<Value: Sendable>(
    _ body: @escaping @Sendable (IIOFixture) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      do {
        _ = try DedicatedThread.start(name: "iio-fixture") {
          // The test is resumed from a thread outside the namespace: threads started then by the runtime inherit the namespace of the
          // resuming thread.
          let result = Locked<Result<Value, any Error>?>(nil)
          do {
            try DedicatedThread.start(name: "iio-fixture-in", stackSize: 4 << 20) {
              let inside = Result {
                guard enterNamespace() else {
                  throw SystemError(operation: "enter", object: "mount namespace", code: errno)
                }
                return try body(IIOFixture())
              }
              result.withLock { $0 = inside }
            }.join()
          } catch { result.withLock { $0 = .failure(error) } }
          if let result = result.withLock({ $0 }) { continuation.resume(with: result) }
        }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// Returns true if this process may create a mount namespace and mount file systems in it.
  static func isAllowed() throws -> Bool {
    let isAllowed = Locked(false)
    try DedicatedThread.start(name: "iio-fixture") {
      let hasEntered = enterNamespace()
      isAllowed.withLock { $0 = hasEntered }
    }.join()
    return isAllowed.withLock { $0 }
  }

  private static func enterNamespace() -> Bool {
    guard unshare(odograph_clone_newns) == 0,
      unsafe mount("none", "/", nil, odograph_ms_private, nil) == 0,
      unsafe mount("tmpfs", "/sys/bus", "tmpfs", 0, nil) == 0
    else { return false }
    var template = Array("/tmp/odograph-dev-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { return false }
    let staging = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard unsafe mount("tmpfs", staging, "tmpfs", 0, nil) == 0 else { return false }
    for node in ["null", "zero", "random", "urandom"] {
      close(creat("\(staging)/\(node)", 0o666))
      guard unsafe mount("/dev/\(node)", "\(staging)/\(node)", nil, odograph_ms_bind, nil) == 0 else {
        return false
      }
    }
    guard unsafe mount(staging, "/dev", nil, odograph_ms_bind, nil) == 0 else { return false }
    umount2(staging, Int32(MNT_DETACH))
    rmdir(staging)
    mkdir("/sys/bus/iio", 0o755)
    return mkdir(root, 0o755) == 0
  }

  /// Adds a device with `channels` to capture, in the order of their scan index, and its attribute `files`.
  ///
  /// - Parameters:
  ///   - files: content of attribute files by path below the device's folder.
  ///   - hasTrigger: true if its buffer requires a trigger; the device then also provides one, `NAME-devN`.
  public func addDevice(
    _ number: Int, name: String, channels: [Channel] = [], files: [String: String], hasTrigger: Bool = false
  ) throws(SystemError) {
    let folder = "\(Self.root)/iio:device\(number)"
    mkdir(folder, 0o755)
    var all = files
    all["name"] = name
    if !channels.isEmpty {
      for part in ["buffer", "scan_elements"] { mkdir("\(folder)/\(part)", 0o755) }
      all.merge(["buffer/enable": "0", "buffer/length": "2", "buffer/watermark": "1"]) { own, _ in own }
      for (index, channel) in channels.enumerated() {
        all["scan_elements/in_\(channel.name)_type"] = channel.type
        all["scan_elements/in_\(channel.name)_index"] = "\(index)"
        all["scan_elements/in_\(channel.name)_en"] = "0"
      }
      try addNode(number)
    }
    if hasTrigger {
      mkdir("\(folder)/trigger", 0o755)
      all["trigger/current_trigger"] = ""
      mkdir("\(Self.root)/trigger\(number)", 0o755)
      try write("../trigger\(number)/name", of: number, "\(name)-dev\(number)")
    }
    for (path, text) in all { try write(path, of: number, text) }
  }

  /// Removes the device, as when it is unplugged.
  public func removeDevice(_ number: Int) {
    for folder in ["iio:device\(number)", "trigger\(number)"] {
      for part in ["buffer", "scan_elements", "trigger", "."] {
        let path = "\(Self.root)/\(folder)/\(part)"
        guard let directory = unsafe opendir(path) else { continue }
        while let entry = unsafe readdir(directory) {
          let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
          }
          unlink("\(path)/\(name)")
        }
        unsafe closedir(directory)
        if part != "." { rmdir(path) }
      }
      rmdir("\(Self.root)/\(folder)")
    }
    unlink("/dev/iio:device\(number)")
  }

  /// Removes the character device of a buffer, so that only the device's attributes remain.
  public func removeNode(_ number: Int) { unlink("/dev/iio:device\(number)") }

  /// Adds the character device (a FIFO) of a buffer.
  public func addNode(_ number: Int) throws(SystemError) {
    guard mkfifo("/dev/iio:device\(number)", 0o666) == 0 else {
      throw SystemError(operation: "make FIFO", object: "/dev/iio:device\(number)", code: errno)
    }
  }

  /// Makes every write to a file fail, as if the driver rejected it.
  public func makeReadOnly(_ path: String, of number: Int) throws(SystemError) {
    let full = "\(Self.root)/iio:device\(number)/\(path)"
    let (readOnly, remount): (UInt, UInt) = (1, 32)
    guard unsafe mount(full, full, nil, odograph_ms_bind, nil) == 0,
      unsafe mount(full, full, nil, odograph_ms_bind | readOnly | remount, nil) == 0
    else { throw SystemError(operation: "mount", object: full, code: errno) }
  }

  /// Makes every read of a file fail with an I/O error, like a chip that does not respond on its bus.
  public func makeUnreadable(_ path: String, of number: Int) throws(SystemError) {
    let full = "\(Self.root)/iio:device\(number)/\(path)"
    unlink(full)
    guard symlink("/proc/self/mem", full) == 0 else {
      throw SystemError(operation: "link", object: full, code: errno)
    }
  }

  /// Replaces the content of a device's file atomically.
  public func write(_ path: String, of number: Int, _ text: String) throws(SystemError) {
    let full = "\(Self.root)/iio:device\(number)/\(path)"
    let temporary = "\(Self.root)/new"
    let descriptor = creat(temporary, 0o644)
    guard descriptor >= 0 else { throw SystemError(operation: "create", object: full, code: errno) }
    defer { close(descriptor) }
    let line = text + "\n"
    guard unsafe Glibc.write(descriptor, line, line.utf8.count) == line.utf8.count,
      rename(temporary, full) == 0
    else {
      throw SystemError(operation: "write", object: full, code: errno)
    }
  }

  /// Returns the text of a device's file; empty if it does not exist.
  public func read(_ path: String, of number: Int) -> String {
    let descriptor = open("\(Self.root)/iio:device\(number)/\(path)", O_RDONLY)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)).prefix { $0 > 13 }, as: UTF8.self)
  }

  /// Waits until a device's file contains `text`; false after the default time limit of `waitUntil`.
  public func wait(for path: String, of number: Int, toBe text: String) -> Bool {
    waitUntil { read(path, of: number) == text }
  }

  /// Observes future writes to files of a device.
  public func observeWrites(to paths: [String], of number: Int) throws(SystemError) -> IIOWrites {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0 else { throw SystemError(operation: "create", object: "inotify", code: errno) }
    var names: [Int32: String] = [:]
    for path in paths {
      let full = "\(Self.root)/iio:device\(number)/\(path)"
      let watch = inotify_add_watch(descriptor, full, UInt32(IN_CLOSE_WRITE))
      guard watch >= 0 else { throw SystemError(operation: "watch", object: full, code: errno) }
      names[watch] = path
    }
    return IIOWrites(descriptor: descriptor, names: names)
  }

  /// Opens the hardware's side of a device's buffer. Retain the pipe while samples are to be sent.
  public func openPipe(of number: Int) throws(SystemError) -> IIOPipe {
    let path = "/dev/iio:device\(number)"
    let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(operation: "open", object: path, code: errno) }
    return IIOPipe(descriptor: descriptor)
  }
}

/// Sends scans to a device's buffer.
public struct IIOPipe: ~Copyable {
  fileprivate let descriptor: Int32

  deinit { close(descriptor) }

  /// Writes complete scans to the buffer; false if it is full.
  public func push(_ scans: [UInt8]) -> Bool {
    unsafe scans.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) == $0.count }
  }
}

/// Observer of the writes to files of a device.
public struct IIOWrites: ~Copyable {
  fileprivate let descriptor: Int32
  fileprivate let names: [Int32: String]

  deinit { close(descriptor) }

  /// Returns the files written since the last call, in the order of the writes.
  public func next() -> [String] {
    var written: [String] = []
    var bytes = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
      guard count > 0 else { return written }
      var start = 0
      let size = MemoryLayout<inotify_event>.size
      while start + size <= count {
        let event = unsafe bytes.withUnsafeBytes {
          unsafe $0.loadUnaligned(fromByteOffset: start, as: inotify_event.self)
        }
        if let name = names[event.wd] { written.append(name) }
        start += size + Int(event.len)
      }
    }
  }
}
