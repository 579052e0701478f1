internal import Fleet
internal import FleetConsole
internal import Glibc
internal import Platform

/// Where an export goes: standard output, or a file that is there only when it is whole.
///
/// A file is written under another name in the same folder and takes its own name at the end; one that was there before
/// stays as it is until then, and when anything fails.
@safe struct OutputFile: ~Copyable {
  private let descriptor: Int32
  private let path: String?
  private let draft: String?
  private var isFinished = false

  /// - Parameter path: nil or `-` is standard output.
  init(path: String?) throws(FleetError) {
    guard let path, path != "-" else {
      (descriptor, self.path, draft) = (STDOUT_FILENO, nil, nil)
      return
    }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    let name = path.split(separator: "/").last ?? ""
    let draft = "\(folder).\(name).\(getpid()).part"
    let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0, !name.isEmpty else {
      throw FleetError(
        operation: "create", object: path,
        cause: "\(SystemError.message(for: errno)); check the folder and its permissions", exit: .outputFailed
      )
    }
    (self.descriptor, self.path, self.draft) = (descriptor, path, draft)
  }

  deinit {
    guard let draft, !isFinished else { return }
    close(descriptor)
    unsafe unlink(draft)
  }

  /// Returns false when whoever reads the output has left.
  func write(_ bytes: [UInt8]) throws(FleetError) -> Bool {
    guard let problem = OutputStream.write(bytes, to: descriptor) else { return true }
    if path == nil, problem.rawValue == EPIPE { return false }
    throw failure(problem.rawValue)
  }

  /// Gives the file its name.
  mutating func finish() throws(FleetError) {
    guard let path, let draft else { return }
    guard fsync(descriptor) == 0 else { throw failure(errno) }
    do throws(SystemError) { try AtomicFile.move(draft, to: path) } catch { throw failure(error.code) }
    close(descriptor)
    isFinished = true
  }

  private func failure(_ code: Int32) -> FleetError {
    FleetError(
      operation: "write", object: path ?? "the output", cause: SystemError.message(for: code),
      exit: .outputFailed)
  }
}
