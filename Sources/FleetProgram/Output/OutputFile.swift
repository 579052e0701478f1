package import Fleet
internal import Glibc
internal import Platform

/// The output of `--output`: standard output, a device or pipe, or a file that appears only when it is
/// complete.
///
/// A file is written without a name (`O_TMPFILE`), so that a killed command leaves nothing. Where the file
/// system does not support that, it is written under a temporary name in the same folder. At the end the new
/// file gets the requested name, and the mode of an existing file with this name. The existing file is
/// unchanged until then, and after a failure. Links are followed: the target of a link is replaced.
@safe package struct OutputFile: ~Copyable {
  private let descriptor: Int32
  /// The path; nil for standard output.
  private let path: String?
  /// The temporary file and its final name; nil for a stream.
  private let draft: (path: String, target: String)?
  private let replaces: Bool
  private var isFinished = false
  /// True while the file has no name.
  private var isUnnamed: Bool

  /// Opens the output.
  ///
  /// - Parameters:
  ///   - path: nil or `-` for standard output.
  ///   - replaces: true if an existing file may be replaced.
  ///   - inputs: input files of the command, which are never replaced.
  ///   - shouldContinue: called while waiting for a reader of a pipe; false aborts.
  /// - Throws: `FleetError` for an output that cannot or must not be written.
  package init(
    path: String?, replaces: Bool, inputs: [String] = [], shouldContinue: () -> Bool = { true }
  ) throws(FleetError) {
    self.path = path == "-" ? nil : path
    self.replaces = replaces
    (descriptor, draft, isUnnamed) = try Self.destination(path ?? "-", replaces, inputs, shouldContinue)
  }

  /// Returns whether a path is a stream: standard output, a pipe or a device.
  package static func isStream(_ path: String?) -> Bool {
    guard let path, path != "-" else { return true }
    return FileState(path).map { !$0.isRegular && !$0.isFolder } ?? false
  }

  private static func destination(
    _ path: String, _ replaces: Bool, _ inputs: [String], _ shouldContinue: () -> Bool
  ) throws(FleetError) -> (descriptor: Int32, draft: (path: String, target: String)?, isUnnamed: Bool) {
    if path == "-" { return (STDOUT_FILENO, nil, false) }
    let found = FileState(path)
    if let found {
      if inputs.contains(where: { FileState($0)?.isSameFile(as: found) == true }) {
        throw .usage("write", path, "the command reads this file; name another one")
      }
      if found.isFolder { throw .usage("write", path, "it is a folder; name a file in it") }
      guard found.isRegular else { return (try open(path, shouldContinue), nil, false) }
      guard replaces else { throw .usage("write", path, "already exists; --force replaces it") }
    }
    let draft = try draft(of: path, target: target(of: path))
    let made = try create(draft.path, for: path, mode: found?.mode)
    return (made.descriptor, draft, made.isUnnamed)
  }

  deinit {
    if path != nil, !isFinished { close(descriptor) }
    if let draft, !isFinished, !isUnnamed { unsafe unlink(draft.path) }
  }

  /// True if a failed command leaves no partial output.
  package var leavesNothing: Bool { draft != nil }

  /// Writes bytes. Returns false if the reader has closed the output or `shouldContinue` returned false.
  package func write(_ bytes: [UInt8], shouldContinue: () -> Bool = { true }) throws(FleetError) -> Bool {
    let problem =
      draft == nil
      ? OutputStream.write(bytes, to: descriptor, shouldContinue: shouldContinue)
      : OutputStream.write(bytes, to: descriptor)
    guard let problem else { return true }
    if draft == nil, [EPIPE, ECANCELED].contains(problem.rawValue) { return false }
    throw Self.failure("write", path, problem.rawValue)
  }

  /// Renames the file to its final name.
  /// - Throws: `FleetError`, also if another program has created the file in the meantime and it must not be
  ///   replaced.
  package mutating func finish() throws(FleetError) {
    guard let draft else { return }
    guard fsync(descriptor) == 0 else { throw Self.failure("write", path, errno) }
    if isUnnamed {
      guard
        unsafe linkat(AT_FDCWD, Self.descriptorPath(descriptor), AT_FDCWD, draft.path, AT_SYMLINK_FOLLOW) == 0
      else {
        throw Self.failure("write", path, errno)
      }
      isUnnamed = false
    }
    do throws(SystemError) {
      if replaces {
        try AtomicFile.move(draft.path, to: draft.target)
      } else {
        try AtomicFile.moveToNewName(draft.path, to: draft.target)
      }
    } catch {
      guard error.code == EEXIST else { throw Self.failure("write", path, error.code) }
      throw FleetError(
        operation: "write", object: path ?? draft.target,
        cause: "another program has created it; name another file, or replace it with --force",
        kind: .outputFailed)
    }
    close(descriptor)
    isFinished = true
  }

  /// Returns the target of a path after following all links; a broken link leads to the file that would be
  /// created.
  static func target(of path: String) throws(FleetError) -> String {
    var path = path
    // The kernel's limit of links.
    for _ in 0..<40 {
      var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = unsafe readlink(path, &buffer, buffer.count)
      guard count > 0, count < buffer.count else { return path }
      let next = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      path = next.hasPrefix("/") ? next : (path.lastIndex(of: "/").map { String(path[...$0]) } ?? "") + next
    }
    throw failure("write", path, ELOOP)
  }

  private static func draft(of path: String, target: String) throws(FleetError) -> (
    path: String, target: String
  ) {
    let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? ""
    guard let name = target.split(separator: "/").last, !target.hasSuffix("/") else {
      throw .usage("write", path, "it names no file; name one")
    }
    return ("\(folder).\(name.utf8.count > 200 ? "odograph" : name).\(getpid()).part", target)
  }

  /// The name of a descriptor's file for linkat(2), without the privilege that an empty path requires.
  private static func descriptorPath(_ descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

  /// Opens a file without a name; nil where that is not supported.
  private static func unnamed(in folder: String, mode: mode_t?) -> Int32? {
    // O_TMPFILE of fcntl.h, which is defined by other macros.
    let kind: Int32 = 0o20_000_000 | O_DIRECTORY
    let descriptor = unsafe Glibc.open(folder, kind | O_WRONLY | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { return nil }
    if unsafe access(descriptorPath(descriptor), F_OK) == 0, mode.map({ fchmod(descriptor, $0) == 0 }) ?? true
    {
      return descriptor
    }
    close(descriptor)
    return nil
  }

  private static func create(
    _ draft: String, for path: String, mode: mode_t?
  ) throws(FleetError) -> (descriptor: Int32, isUnnamed: Bool) {
    let folder = draft.lastIndex(of: "/").map { String(draft[...$0]) } ?? "."
    if let descriptor = unnamed(in: folder, mode: mode) { return (descriptor, true) }
    let descriptor = unsafe Glibc.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    if descriptor >= 0, mode.map({ fchmod(descriptor, $0) == 0 }) ?? true { return (descriptor, false) }
    let error = FleetError(
      operation: "create", object: path,
      cause: "\(SystemError.message(for: errno)); check the folder and its permissions", kind: .outputFailed)
    if descriptor >= 0 {
      close(descriptor)
      unsafe unlink(draft)
    }
    throw error
  }

  /// Opens a stream, and waits until a pipe has a reader.
  private static func open(_ path: String, _ shouldContinue: () -> Bool) throws(FleetError) -> Int32 {
    while true {
      let descriptor = unsafe Glibc.open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
      if descriptor >= 0 { return descriptor }
      guard errno == ENXIO, FileState(path)?.isPipe == true else { throw failure("open", path, errno) }
      // The kernel reports no event when a reader opens a pipe.
      usleep(20_000)
      guard shouldContinue() else { throw failure("open", path, ECANCELED) }
    }
  }

  static func failure(_ operation: String, _ path: String?, _ code: Int32) -> FleetError {
    FleetError(
      operation: operation, object: path ?? "the output", cause: SystemError.message(for: code),
      kind: .outputFailed)
  }
}

/// The status of a path's target.
struct FileState {
  private let status: stat

  /// Reads the status; nil if there is no file.
  init?(_ path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    self.status = status
  }

  /// Reads the status of a link itself; nil if there is no file.
  init?(link path: String) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return nil }
    self.status = status
  }

  private var type: mode_t { status.st_mode & S_IFMT }
  var isRegular: Bool { type == S_IFREG }
  var isFolder: Bool { type == S_IFDIR }
  var isPipe: Bool { type == S_IFIFO }
  var mode: mode_t { status.st_mode & 0o7777 }

  func isSameFile(as other: FileState) -> Bool {
    status.st_dev == other.status.st_dev && status.st_ino == other.status.st_ino
  }
}
