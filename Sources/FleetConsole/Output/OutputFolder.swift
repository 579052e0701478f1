package import Fleet
internal import Glibc
internal import Platform

/// Where a command writes files in folders of one folder, as partitions are: it is there only when all of it is whole.
///
/// Everything is written under another name beside it, and takes its own name, and the mode of the folder that was there
/// before, at the end. What is replaced is exchanged at once, and then removed. Links are followed.
@safe package struct OutputFolder: ~Copyable {
  private let plan: Plan
  private var isFinished = false

  /// What is to be done at the end.
  private struct Plan {
    /// As it was given.
    var path: String
    /// The folder that is written and the name that it gets.
    var draft: String
    var target: String
    /// The folder that is there before; nil when there is none.
    var found: FileState?
    /// Its files, which are replaced: folder and name.
    var replaced: [(folder: String, name: String)]
  }

  /// - Parameters:
  ///   - path: of the folder; an empty one may be there already.
  ///   - replaces: whether one with files may be there.
  ///   - inputs: files that the command reads, which are never replaced.
  ///   - isOurs: whether "folder/name" is a file that this folder is for. Nothing else is ever removed.
  /// - Throws: `FleetError` for what cannot, or is not to, be written.
  package init(
    path: String, replaces: Bool, inputs: [String], isOurs: (String) -> Bool
  ) throws(FleetError) {
    plan = try Self.begin(path, replaces, inputs, isOurs)
  }

  /// Makes the draft, once nothing speaks against it.
  private static func begin(
    _ path: String, _ replaces: Bool, _ inputs: [String], _ isOurs: (String) -> Bool
  ) throws(FleetError) -> Plan {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
    let target = try OutputFile.target(of: String(trimmed))
    guard let name = target.split(separator: "/").last, name != ".", name != ".." else {
      throw .usage("write", path, "it names no folder that could be made; name one")
    }
    let found = FileState(target)
    let replaced = try found == nil ? [] : files(of: target, path, replaces, inputs, isOurs)
    let above = target.lastIndex(of: "/").map { String(target[...$0]) } ?? ""
    let draft = "\(above).\(name.utf8.count > 200 ? "odograph" : name).\(getpid()).part"
    guard unsafe mkdir(draft, 0o777) == 0 else {
      throw FleetError(
        operation: "create", object: path,
        cause: "\(SystemError.message(for: errno)); check the folder that it is in and its permissions",
        exit: .outputFailed)
    }
    return Plan(path: path, draft: draft, target: target, found: found, replaced: replaced)
  }

  deinit {
    if !isFinished { Self.removeTree(plan.draft) }
  }

  /// Where to write a file, in a folder that is made.
  package func file(_ name: String, in folder: String) throws(FleetError) -> String {
    let folder = "\(plan.draft)/\(folder)"
    guard unsafe mkdir(folder, 0o777) == 0 || errno == EEXIST else {
      throw OutputFile.failure("create", folder, errno)
    }
    return "\(folder)/\(name)"
  }

  /// Gives the folder its name.
  package mutating func finish() throws(FleetError) {
    let (path, draft, replaced) = (plan.path, plan.draft, plan.replaced)
    if let found = plan.found, unsafe chmod(draft, found.mode) != 0 {
      throw OutputFile.failure("write", path, errno)
    }
    do throws(SystemError) {
      if replaced.isEmpty {
        // An empty folder gives way.
        try AtomicFile.move(draft, to: plan.target)
      } else {
        try AtomicFile.exchange(draft, with: plan.target)
      }
    } catch {
      let cause =
        error.code == EINVAL && !replaced.isEmpty
        ? "its file system cannot exchange folders; remove it first, or name another"
        : SystemError.message(for: error.code)
      throw FleetError(operation: "write", object: path, cause: cause, exit: .outputFailed)
    }
    isFinished = true
    guard !replaced.isEmpty else { return }
    for file in replaced { unsafe unlink("\(draft)/\(file.folder)/\(file.name)") }
    for folder in Set(replaced.map(\.folder)) { unsafe rmdir("\(draft)/\(folder)") }
    guard unsafe rmdir(draft) == 0 else {
      throw FleetError(
        operation: "remove", object: draft,
        cause:
          "\(SystemError.message(for: errno)); \(path) is new and whole, this holds what was there before",
        exit: .outputFailed)
    }
  }

  /// The files of a folder that is to be replaced.
  /// - Throws: `FleetError` unless it holds nothing else than what may be.
  private static func files(
    of folder: String, _ path: String, _ replaces: Bool, _ inputs: [String], _ isOurs: (String) -> Bool
  ) throws(FleetError) -> [(folder: String, name: String)] {
    guard FileState(folder)?.isFolder == true else {
      throw .usage("write", path, "it is no folder, and a folder is what is written; name another")
    }
    var files: [(folder: String, name: String)] = []
    for part in try names(in: folder) {
      let place = "\(folder)/\(part)"
      // A link in it leads elsewhere, where nothing may be removed.
      let inner = FileState(link: place)?.isFolder == true ? try names(in: place) : []
      guard !inner.isEmpty, inner.allSatisfy({ isOurs("\(part)/\($0)") }) else {
        throw .usage("write", path, "it holds \(part), which is none of an export's; name another folder")
      }
      for name in inner {
        let file = FileState("\(place)/\(name)")
        guard file?.isFolder == false,
          !inputs.contains(where: { FileState($0).map { file?.isSameFile(as: $0) == true } == true })
        else { throw .usage("write", path, "\(part)/\(name) is what is read, or a folder; name another") }
        files.append((part, name))
      }
    }
    guard files.isEmpty || replaces else {
      throw .usage("write", path, "it is there already; --force replaces it")
    }
    return files
  }

  private static func names(in folder: String) throws(FleetError) -> [String] {
    guard let directory = unsafe opendir(folder) else { throw OutputFile.failure("read", folder, errno) }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// A folder of this type's own making, of which no link is followed.
  private static func removeTree(_ folder: String) {
    for name in (try? names(in: folder)) ?? [] {
      let place = "\(folder)/\(name)"
      if FileState(link: place)?.isFolder == true { removeTree(place) } else { unsafe unlink(place) }
    }
    unsafe rmdir(folder)
  }
}
