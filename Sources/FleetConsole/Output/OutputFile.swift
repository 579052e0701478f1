package import Fleet
internal import Glibc
internal import Platform

/// Where a command writes what `--output` asks for: standard output, a device or pipe as it is, or a file that is there only
/// when it is whole.
///
/// A file is written under another name in the same folder and takes its own name, and the mode of the one that was there
/// before, at the end; that one stays as it is until then, and when anything fails. Links are followed: what they lead to is
/// replaced, not the link.
@safe package struct OutputFile: ~Copyable {
  private let descriptor: Int32
  /// nil for standard output.
  private let path: String?
  /// The file that is written and the name that it gets; nil for what is written as it is.
  private let draft: (path: String, target: String)?
  private let replaces: Bool
  private var isFinished = false

  /// - Parameters:
  ///   - path: nil or `-` is standard output.
  ///   - replaces: whether a file that is there already may be replaced.
  ///   - inputs: files that the command reads, which are never replaced.
  ///   - goesOn: asked while a pipe that nobody reads is waited for.
  /// - Throws: `FleetError` for what cannot, or is not to, be written.
  package init(
    path: String?, replaces: Bool, inputs: [String] = [], goesOn: () -> Bool = { true }
  ) throws(FleetError) {
    self.path = path == "-" ? nil : path
    self.replaces = replaces
    (descriptor, draft) = try Self.destination(path ?? "-", replaces, inputs, goesOn)
  }

  /// Whether a path is written as it is, as standard output, pipes and devices are.
  package static func isStream(_ path: String?) -> Bool {
    guard let path, path != "-" else { return true }
    return FileState(path).map { !$0.isRegular && !$0.isFolder } ?? false
  }

  private static func destination(
    _ path: String, _ replaces: Bool, _ inputs: [String], _ goesOn: () -> Bool
  ) throws(FleetError) -> (descriptor: Int32, draft: (path: String, target: String)?) {
    if path == "-" { return (STDOUT_FILENO, nil) }
    let found = FileState(path)
    if let found {
      if inputs.contains(where: { FileState($0)?.isSameFile(as: found) == true }) {
        throw .usage("write", path, "it is what is read; name another file")
      }
      if found.isFolder { throw .usage("write", path, "it is a folder; name a file in it") }
      guard found.isRegular else { return (try open(path, goesOn), nil) }
      guard replaces else { throw .usage("write", path, "it is there already; --force replaces it") }
    }
    let draft = try draft(of: path, target: target(of: path))
    return (try create(draft.path, for: path, mode: found?.mode), draft)
  }

  deinit {
    if path != nil, !isFinished { close(descriptor) }
    if let draft, !isFinished { unsafe unlink(draft.path) }
  }

  /// Whether nothing of a command that ends early is left: the file is whole or it is not there.
  package var leavesNothing: Bool { draft != nil }

  /// Returns false when whoever reads the output has left, or `goesOn` says no.
  package func write(_ bytes: [UInt8], goesOn: () -> Bool = { true }) throws(FleetError) -> Bool {
    let problem =
      draft == nil
      ? OutputStream.write(bytes, to: descriptor, goesOn: goesOn) : OutputStream.write(bytes, to: descriptor)
    guard let problem else { return true }
    if draft == nil, [EPIPE, ECANCELED].contains(problem.rawValue) { return false }
    throw Self.failure("write", path, problem.rawValue)
  }

  /// Gives the file its name.
  /// - Throws: `FleetError` also when another program has made that file meanwhile and it is not to be replaced.
  package mutating func finish() throws(FleetError) {
    guard let draft else { return }
    guard fsync(descriptor) == 0 else { throw Self.failure("write", path, errno) }
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
        cause: "another program made it meanwhile; name another file, or --force replaces it",
        exit: .outputFailed)
    }
    close(descriptor)
    isFinished = true
  }

  /// What a path leads to when all links are followed; a link that leads nowhere leads to what would be made.
  static func target(of path: String) throws(FleetError) -> String {
    var path = path
    // As many as the kernel follows.
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

  private static func create(_ draft: String, for path: String, mode: mode_t?) throws(FleetError) -> Int32 {
    let descriptor = unsafe Glibc.open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    if descriptor >= 0, mode.map({ fchmod(descriptor, $0) == 0 }) ?? true { return descriptor }
    let error = FleetError(
      operation: "create", object: path,
      cause: "\(SystemError.message(for: errno)); check the folder and its permissions", exit: .outputFailed)
    if descriptor >= 0 {
      close(descriptor)
      unsafe unlink(draft)
    }
    throw error
  }

  /// Opens what is no regular file. A pipe is waited for until somebody reads it.
  private static func open(_ path: String, _ goesOn: () -> Bool) throws(FleetError) -> Int32 {
    while true {
      let descriptor = unsafe Glibc.open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
      if descriptor >= 0 { return descriptor }
      guard errno == ENXIO, FileState(path)?.isPipe == true else { throw failure("open", path, errno) }
      usleep(20_000)
      guard goesOn() else { throw failure("open", path, ECANCELED) }
    }
  }

  static func failure(_ operation: String, _ path: String?, _ code: Int32) -> FleetError {
    FleetError(
      operation: operation, object: path ?? "the output", cause: SystemError.message(for: code),
      exit: .outputFailed)
  }
}

/// What a path leads to.
struct FileState {
  private let status: stat

  /// nil when there is nothing.
  init?(_ path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    self.status = status
  }

  /// Of a link itself, not what it leads to; nil when there is nothing.
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
