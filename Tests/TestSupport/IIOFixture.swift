internal import CLinux
internal import Glibc
public import Platform

/// Hand-made IIO hardware for the real libiio and iiod: a sysfs of ordinary files and a FIFO for each device's buffer,
/// seen only by one thread and what it starts, in a mount namespace of their own.
///
/// libiio's local backend reads a FIFO as it reads a character device. What files cannot do is behave: a frequency
/// that is written is read back as written, and `buffer/enable` says what libiio wrote last.
public struct IIOFixture: Sendable {
  /// One captured channel: its name in sysfs, as in "accel_x", and its scan type, as in "le:s16/16>>0".
  public struct Channel: Sendable {
    var name: String
    var type: String

    public init(_ name: String, _ type: String) { (self.name, self.type) = (name, type) }
  }

  private static let root = "/sys/bus/iio/devices"

  /// Runs `body` on a thread that sees the fixture, and gives back what it returns.
  ///
  /// A mount namespace takes privileges: `.needs(.mounting)`.
  public static func run<Value: Sendable>(
    _ body: @escaping @Sendable (IIOFixture) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      do {
        _ = try DedicatedThread.start(name: "iio-fixture") {
          // A thread that the runtime starts when the test continues inherits the namespace of the thread that resumes it.
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

  /// Whether this machine lets a process have a mount namespace, and mount file systems in it.
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

  /// Adds a device with `channels` to capture, in the order of their scan index, and `files` of its own.
  ///
  /// - Parameters:
  ///   - files: paths below the device's folder, and their text.
  ///   - hasTrigger: whether its buffer needs a trigger; it then brings its own, `NAME-devN`.
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

  /// Takes the device away, as if it had been unplugged.
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

  /// Takes away the node of a device's buffer, so that only its attributes are left.
  public func removeNode(_ number: Int) { unlink("/dev/iio:device\(number)") }

  /// Adds the node of a device's buffer.
  public func addNode(_ number: Int) throws(SystemError) {
    guard mkfifo("/dev/iio:device\(number)", 0o666) == 0 else {
      throw SystemError(operation: "make FIFO", object: "/dev/iio:device\(number)", code: errno)
    }
  }

  /// Makes the driver refuse each write to a file.
  public func makeReadOnly(_ path: String, of number: Int) throws(SystemError) {
    let full = "\(Self.root)/iio:device\(number)/\(path)"
    let (readOnly, remount): (UInt, UInt) = (1, 32)
    guard unsafe mount(full, full, nil, odograph_ms_bind, nil) == 0,
      unsafe mount(full, full, nil, odograph_ms_bind | readOnly | remount, nil) == 0
    else { throw SystemError(operation: "mount", object: full, code: errno) }
  }

  /// Makes each read of a file fail with an I/O error, as a chip does that does not answer on its bus.
  public func makeUnreadable(_ path: String, of number: Int) throws(SystemError) {
    let full = "\(Self.root)/iio:device\(number)/\(path)"
    unlink(full)
    guard symlink("/proc/self/mem", full) == 0 else {
      throw SystemError(operation: "link", object: full, code: errno)
    }
  }

  /// Sets a file of a device. A reader sees the previous text or the new one.
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

  /// The text of a file of a device; empty where there is none.
  public func read(_ path: String, of number: Int) -> String {
    let descriptor = open("\(Self.root)/iio:device\(number)/\(path)", O_RDONLY)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)).prefix { $0 > 13 }, as: UTF8.self)
  }

  /// Waits until a file of a device says `text`; false after ten seconds.
  public func wait(for path: String, of number: Int, toBe text: String) -> Bool {
    waitUntil { read(path, of: number) == text }
  }

  /// Observes the writes to files of a device from now on.
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

  /// The hardware's side of a device's buffer. Keep it for as long as samples are to come.
  public func openPipe(of number: Int) throws(SystemError) -> IIOPipe {
    let path = "/dev/iio:device\(number)"
    let descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(operation: "open", object: path, code: errno) }
    return IIOPipe(descriptor: descriptor)
  }
}

/// Feeds scans into a device's buffer.
public struct IIOPipe: ~Copyable {
  fileprivate let descriptor: Int32

  deinit { close(descriptor) }

  /// Puts whole scans into the buffer; false when it is full.
  public func push(_ scans: [UInt8]) -> Bool {
    unsafe scans.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) == $0.count }
  }
}

/// The writes to files of a device.
public struct IIOWrites: ~Copyable {
  fileprivate let descriptor: Int32
  fileprivate let names: [Int32: String]

  deinit { close(descriptor) }

  /// The files that were written since the last call, in this order.
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
